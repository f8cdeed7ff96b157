// The search, on its page and in the dialog of all others: MiniSearch finds parts of pages in search_index.js; results are
// shown by page, with an excerpt of the prose.
(() => {
  const plain = text => text.normalize('NFKD').replace(/\p{M}/gu, '').replace(/[’']s\b/g, '').toLowerCase();
  const phrase = text => plain(text).replace(/[^\p{L}\p{N}.]+/gu, ' ').trim();
  const stop = new Set('a an and are as at be by can do does for from how i in is it my of on or that the this to into onto our so than what when where which why with you your'.split(' '));
  const stem = word => {
    const text = plain(word);
    if (stop.has(text)) return null;
    return text.length > 3 ? text.replace(/ies$/, 'y').replace(/([^siu])s$/, '$1') : text;
  };

  const documents = Object.entries(bookIndex.pages).flatMap(([page, {title, weight, parts}]) =>
    parts.map(([anchor, heading, text]) => ({page, title, weight, anchor, heading, text})));
  documents.forEach((part, id) => Object.assign(part, {id, top: phrase(part.title), head: phrase(part.heading), words: phrase(part.text)}));
  for (const name of bookIndex.names) name.words = name.names.map(phrase);
  const index = new MiniSearch({fields: ['title', 'heading', 'text'], processTerm: stem});
  index.addAll(documents);

  const asked = Object.entries(bookIndex.asked).map(([words, page]) => [phrase(words), page]);
  const planned = Object.entries(bookIndex.planned).map(([words, topic]) => [phrase(words), topic]);
  const within = (words, query) => ` ${query} `.includes(` ${words} `) || ` ${query} `.includes(` ${words}s `);
  const root = document.documentElement.dataset.content_root.replace(/^\.\//, '');
  const address = (page, anchor) => `${root}${page}.html${anchor && '#' + anchor}`;

  // terms and claims that are called as the query says, or begin so, or are called as a part of it says
  function named(query) {
    if (!query) return {exact: [], shown: []};
    const forms = [query, query.replace(/s$/, '')];
    const having = test => bookIndex.names.filter(({words}) => words.some(test));
    const exact = having(name => forms.includes(name));
    const others = [
      ...query.length > 3 ? having(name => name.startsWith(query)) : [],
      ...having(name => name.length > 3 && ` ${query} `.includes(` ${name} `)),
    ];
    return {exact, shown: [...new Set([...exact, ...exact.length ? [] : others])].slice(0, 3)};
  }

  function pages(query, names) {
    const options = {
      boost: {title: 4, heading: 2}, prefix: term => term.length > 2, fuzzy: term => term.length > 5 ? 0.15 : false,
      boostDocument: id => documents[id].weight,
    };
    let found = index.search(query, {...options, combineWith: 'AND'});
    if (new Set(found.map(({id}) => documents[id].page)).size < 4) {
      // too few parts have all words: those with some of them, the more the better
      const count = new Set(query.split(/[^\p{L}\p{N}]+/u).map(stem).filter(Boolean)).size;
      found = index.search(query, options).map(hit => ({...hit, score: hit.score * (hit.queryTerms.length / count) ** 2}));
    }
    const wanted = phrase(query);
    const home = new Map(names.shown.map(name => [name.links[0][1], names.exact.includes(name) ? 3 : 2]));  // that introduce it
    for (const [words, page] of asked) {  // what was asked is called so in this book, or a part of it is
      if (within(words, wanted)) home.set(page, Math.max(home.get(page) ?? 1, 1 + 5 * words.length / wanted.length));
    }
    const byPage = new Map();
    for (const {id, score, terms} of found) {
      const part = documents[id];
      const [, place] = [[part.top, 3], [part.head, 2], [part.words, 1.5], ['', 1]].find(([text, x]) => x === 1 || text.includes(wanted));
      const worth = score * place * (home.get(part.page) ?? 1);
      const page = byPage.get(part.page) ?? byPage.set(part.page, {worth: 0, parts: []}).get(part.page);
      page.parts.push({...part, worth, terms});
    }
    for (const page of home.keys()) {  // named so, though none of its sentences has these words
      if (!byPage.has(page)) byPage.set(page, {worth: 0, parts: [{...documents.find(part => part.page === page), worth: home.get(page), terms: []}]});
    }
    for (const page of byPage.values()) {
      page.parts.sort((a, b) => b.worth - a.worth);
      page.worth = page.parts.reduce((sum, {worth}, i) => sum + worth / 2 ** i, 0);  // what returns to it is about it
    }
    const sorted = [...byPage.values()].sort((a, b) => b.worth - a.worth);
    const first = asked.filter(([words]) => [words, `${words}s`].includes(wanted)).map(([, page]) => byPage.get(page));
    return [...new Set([...first, ...sorted.filter(({worth}) => worth > sorted[0].worth / 50)])].slice(0, 30);
  }

  // the stretch of a text that holds most of the words that were found, with these marked
  function excerpt({text, terms}) {
    const stems = terms.sort((a, b) => b.length - a.length)
      .map(word => word.replace(/y$/, '').replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    const places = stems.length ? [...text.matchAll(new RegExp(`(?<![\\p{L}\\p{N}])(${stems.join('|')})\\p{L}*`, 'giu'))] : [];
    const near = places.map(({index: from}, i) =>
      new Set(places.slice(i, i + 12).filter(place => place.index < from + 160).map(place => place[1].toLowerCase())).size);
    const best = places[near.indexOf(Math.max(...near))];
    const first = Math.max(0, (best?.index ?? 0) - 60);
    const start = first && text.indexOf(' ', first) + 1;
    const stop = start + 240 < text.length ? text.lastIndexOf(' ', start + 240) : text.length;
    const made = element('p', 'context', start ? '… ' : '');
    let end = start;
    for (const place of places.filter(place => place.index >= start && place.index + place[0].length <= stop)) {
      made.append(text.slice(end, place.index), element('mark', '', place[0]));
      end = place.index + place[0].length;
    }
    made.append(text.slice(end, stop), stop < text.length ? ' …' : '');
    return made;
  }

  function element(name, className, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  function link(text, page, anchor) {
    const made = element('a', '', text);
    made.href = address(page, anchor);
    return made;
  }

  function show(query, box) {
    const names = named(phrase(query));
    const results = query.trim() ? pages(query, names) : [];
    const items = names.shown.map(({names: [name, ...others], text, links}) => {
      const [first, ...rest] = links;
      const more = element('p', 'places', ...rest.flatMap(([label, page, anchor]) => [link(label, page, anchor), ' ']));
      const title = element('p', 'name', element('strong', '', name), others.length ? ` (${others.join(', ')})` : '');
      more.prepend(link(first[0], first[1], first[2]), ' · ');
      return element('li', 'named', title, element('p', 'context', text), more);
    });
    for (const topic of new Set(planned.filter(([words]) => within(words, phrase(query))).map(([, topic]) => topic))) {
      items.unshift(element('li', 'named planned', element('strong', '', topic), ': planned, not in the book yet.'));
    }
    for (const {parts} of results) {
      const item = element('li', '', link(parts[0].title, parts[0].page, ''));
      item.append(excerpt(parts[0]));
      const headed = parts.filter(part => part.heading).slice(0, 3);
      if (headed.length) {
        item.append(element('p', 'places', ...headed.flatMap((part, i) => [i ? ' · ' : '', link(part.heading, part.page, part.anchor)])));
      }
      items.push(item);
    }
    box.querySelector('ul.search').replaceChildren(...items);
    box.querySelector('.search-summary').textContent = !query.trim() ? '' : items.length
      ? `${results.length} page${results.length === 1 ? '' : 's'} found for “${query}”`
      : `Nothing was found for “${query}”. Fewer words find more.`;
  }

  // The field of a form shows, in the box, what it finds while one types.
  window.searchInto = (field, box, typed = () => {}) => {
    const answer = () => show(field.value, box);
    field.addEventListener('input', () => { typed(field.value); answer(); });
    if (field.value) answer();
  };

  const own = document.querySelector('.bd-search-container');
  if (!own) return;
  const field = own.querySelector('input[name="q"]');
  field.value = new URLSearchParams(location.search).get('q') ?? '';
  searchInto(field, own.querySelector('.search-results'),
    text => history.replaceState(null, '', `?${new URLSearchParams({q: text})}`));
})();
