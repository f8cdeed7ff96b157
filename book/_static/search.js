// The search, on its page and in the dialog of all others: MiniSearch finds parts of pages by the words in search_index.js; results
// are shown by page, with an excerpt of its prose, which is fetched then.
(() => {
  const plain = text => text.normalize('NFKD').replace(/\p{M}/gu, '').replace(/[’']s\b/g, '').toLowerCase();
  const phrase = text => plain(text).replace(/[^\p{L}\p{N}.]+/gu, ' ').trim();
  const stop = new Set(bookIndex.silent);
  const kept = make => {  // the function `make`, which is asked once for each of its arguments
    const known = new Map();
    return given => known.has(given) ? known.get(given) : known.set(given, make(given)).get(given);
  };
  const stem = kept(word => {
    const text = plain(word);
    if (stop.has(text)) return null;
    if (text.length < 4) return text;
    const one = text.replace(/^matrices$/, 'matrix').replace(/ies$/, 'y').replace(/([^siu])s$/, '$1');
    return one.length < 7 ? one : one.replace(/(i)[sz](e|ed|er|ing|ation)$/, '$1z').replace(/(e|ed|ing)$/, '');  // 'normaliz', 'upsampl'
  });
  // words that say what one wants to have of a thing, not which thing
  const around = new Set(`avoid become best better choose code definition derivation derive difference between example explain explanation
    fix formula get geometric give implement implementation intuition learn meaning mean prevent proof prove python scratch simple stop
    tutorial use using way work`.split(/\s+/).map(stem));
  const escaped = text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const stems = text => text.split(' ').map(stem).filter(Boolean);
  const marks = kept(text => [...new Set(stems(text).filter(word => !around.has(word)))]);  // stems of what names something
  const sortedMarks = kept(text => [...marks(text)].sort().join());
  const bare = text => text.split(' ').filter(word => !stop.has(word)).join(' ');  // as `words` below, which have no others

  const said = signs => [...signs].map(sign => bookIndex.words[sign.codePointAt() - 0x30]).join(' ');
  const documents = Object.entries(bookIndex.pages).flatMap(([page, {title, weight, parts, code}]) => parts.map(([anchor, heading, signs], place) =>
    ({page, title, weight, anchor, heading, place, words: said(signs), code: place ? '' : said(code)})));
  documents.forEach((part, id) => Object.assign(part, {id, top: phrase(part.title), head: phrase(part.heading)}));
  for (const name of bookIndex.names) name.words = name.names.map(phrase);
  const index = new MiniSearch({fields: ['title', 'heading', 'words', 'code'], processTerm: stem});
  index.addAll(documents);

  const asked = bookIndex.asked.map(([words, page]) => [phrase(words), page]);
  // sections by their titles, without number and article: 'lasso'
  const titles = Object.entries(bookIndex.pages).filter(([, {weight}]) => weight === 1)
    .map(([page, {title}]) => [phrase(title).replace(/^[\d.]+ (the )?/, ''), page]);
  const listed = kind => Object.entries(bookIndex[kind]).map(([words, topic]) => [phrase(words), topic]);
  const planned = listed('planned'), absent = listed('absent');
  const within = (words, query) => ` ${query} `.includes(` ${words} `) || ` ${query} `.includes(` ${words}s `);
  const has = (text, words) => ` ${text}`.includes(` ${words}`);  // the last word may still be typed
  const root = document.documentElement.dataset.content_root.replace(/^\.\//, '');
  const address = (page, anchor) => `${root}${page}.html${anchor && '#' + anchor}`;

  // the words of a query that name something, all that stand between the first and the last of them
  const core = kept(query => {
    const words = query.split(' ');
    const names = words.map(word => !stop.has(word) && !around.has(stem(word)));
    return words.slice(names.indexOf(true), names.lastIndexOf(true) + 1).join(' ') || query;
  });
  const forms = query => [query, core(query)].flatMap(form => [form, form.replace(/s$/, '')]);
  const same = (name, query) => marks(name).length > 1 && sortedMarks(name) === sortedMarks(query);  // 'inverse of a matrix'
  const called = (words, query) => same(words, query) || [query, core(query)].some(form => form === words || form === `${words}s`);

  // two things that are compared: 'adam vs sgd', 'difference between lasso and ridge'
  function sides(query) {
    const found = query.match(/^(.+?) (?:vs\.?|versus|compared (?:to|with)) (.+)$/) ?? query.match(/\bdifference between (?:the )?(.+?) and (?:the )?(.+)$/);
    if (!found) return null;
    const [one, other] = [core(found[1]), core(found[2])];
    const shared = `${one} ${other.split(' ').at(-1)}`;  // 'l1 and l2 regularization'
    return [calls.some(([name]) => name === shared) ? shared : one, other];
  }

  // terms and claims that are called as the query says; others that begin so; others that are called as a part of it says
  function named(query) {
    const having = test => query ? bookIndex.names.filter(({words}) => words.some(test)) : [];
    const exact = having(name => forms(query).includes(name) || same(name, query));
    if (exact.length) return {exact, begun: [], partial: []};
    return {
      exact, begun: query.length > 3 ? having(name => name.startsWith(query)).slice(0, 3) : [],
      partial: having(name => name.length > 3 && ` ${query} `.includes(` ${name} `)).slice(0, 3),
    };
  }

  function pages(query, names) {
    const general = !marks(query).length;  // 'example', say
    const options = {
      boost: {title: 4, heading: 2, code: .5}, prefix: term => term.length > 2, fuzzy: term => term.length > 5 ? 0.15 : false,
      boostDocument: id => documents[id].weight,
      processTerm: word => !general && around.has(stem(word)) ? null : stem(word),
    };
    let found = index.search(query, {...options, combineWith: 'AND'});
    if (new Set(found.map(({id}) => documents[id].page)).size < 4) {
      // too few parts have all words: those with some of them, the more the better
      const count = new Set(query.split(/[^\p{L}\p{N}]+/u).map(stem).filter(Boolean)).size;
      found = index.search(query, options).map(hit => ({...hit, score: hit.score * (hit.queryTerms.length / count) ** 2}));
    }
    const wanted = core(query);
    const home = new Map();  // what introduces a term, or is called in this book what was asked, or a part of it
    const raise = (page, worth) => home.set(page, Math.max(home.get(page) ?? 1, worth));
    for (const name of names.exact) raise(name.links[0][1], 3);
    for (const name of [...names.begun, ...names.partial]) raise(name.links[0][1], 2);
    const all = marks(query), rare = words => words.reduce((sum, word) => sum + rarity(word), 0);
    for (const [list, most] of [[titles, 2], [asked, 5]]) {
      for (const [words, page] of list) {
        const own = marks(words), part = Math.min(rare(own) / rare(all), 1);  // how much of what the query says: rare words say more
        const found = within(words, query) ? 1 : own.length > 1 && own.every(word => all.includes(word)) ? .7 : 0;
        if (part > .2 && found) raise(page, 1 + most * part * found);
      }
    }
    const byPage = new Map();
    for (const {id, score, terms} of found) {
      const part = documents[id];
      const [place] = [has(part.top, wanted) && 3, has(part.head, wanted) && 2, [part.words, part.code].some(text => has(text, bare(wanted))) && 1.5, 1].filter(Boolean);
      const worth = score * place * (home.get(part.page) ?? 1);
      const page = byPage.get(part.page) ?? byPage.set(part.page, {worth: 0, parts: []}).get(part.page);
      page.parts.push({...part, worth, terms});
    }
    for (const page of byPage.values()) {
      page.parts.sort((a, b) => b.worth - a.worth);
      page.worth = page.parts.reduce((sum, {worth}, i) => sum + worth / 2 ** i, 0);  // what returns to it is about it
    }
    const most = Math.max(1, ...[...byPage.values()].map(({worth}) => worth));
    for (const [page, worth] of home) {  // named so, though its sentences may not have these words
      if (!byPage.has(page)) byPage.set(page, {worth: 0, parts: [{...documents.find(part => part.page === page), worth, terms: []}]});
      byPage.get(page).worth = Math.max(byPage.get(page).worth, most * (worth - 1) / 3.5);
    }
    const sorted = [...byPage.values()].sort((a, b) => b.worth - a.worth);
    const first = [...titles, ...asked].filter(([words]) => called(words, query)).map(([, page]) => byPage.get(page));
    return [...new Set([...first, ...sorted.filter(({worth}) => worth > sorted[0].worth / 50)])].slice(0, 30);
  }

  // what leads to a page by its name: [name, page]; of each page with text of ours its names, titles and headings, and all its words
  const calls = [...titles, ...asked, ...bookIndex.names.flatMap(({words, links}) => words.map(name => [name, links[0][1]]))];
  const about = new Map(), whole = new Map();
  for (const {page, top, head, words, code} of documents.filter(({weight}) => weight >= .5)) {
    about.set(page, `${about.get(page) ?? top} ${head}`);
    whole.set(page, `${whole.get(page) ?? `${top} ${code}`} ${head} ${words}`);
  }
  for (const [name, page] of calls) about.set(page, `${about.get(page)} ${name}`);
  const pagesOf = new Map();  // stem -> on how many pages it occurs
  for (const text of whole.values()) for (const word of new Set(stems(text))) pagesOf.set(word, (pagesOf.get(word) ?? 0) + 1);
  const rarity = word => Math.log(1 + whole.size / (pagesOf.get(word) ?? 1));
  const naming = new Set([...about.values()].flatMap(stems));
  const vocabulary = new Set([...calls, ...planned, ...absent].flatMap(([name]) => name.split(' ')));

  // Whether the book may treat what a query names: at least one of its words names a page, and more than half of them occur, or it is
  // partly what a page is called, by a name that is not on every other page.
  function treats(query) {
    const wanted = core(query);
    const begins = (known, word) => known.has(word) || word.length > 2 && [...known.keys()].some(other => other.startsWith(word));
    const pagesWith = test => [...whole.values()].filter(test).length;
    if (pagesWith(text => has(text, wanted) || has(text, bare(wanted)))) return true;
    const words = marks(wanted), there = words.filter(word => begins(pagesOf, word) || begins(naming, word));
    if (there.length > words.length / 2 && words.some(word => begins(naming, word))) return true;
    return calls.some(([name]) => within(name, query)
      && (name.length >= wanted.length / 2 || pagesWith(text => within(bare(name), text)) < whole.size / 3));
  }

  // the query with words that the book has not replaced by the nearest that it has
  function spelt(query) {
    return query.split(' ').map(word => {
      const known = word.length < 6 || vocabulary.has(word) || !stem(word) || index.search(word, {prefix: true}).length;
      return known ? word : index.search(word, {fuzzy: .2})[0]?.terms[0] ?? word;
    }).join(' ');
  }

  // The link that a name leads to: to the section that is called so, or has a heading that says so; else to the place that introduces it.
  function homeOf({links, words}, wanted, found) {
    const [{parts: [{page, title, top, weight}], parts}] = found.length ? found : [{parts: [{}]}];
    if (page === links[0][1] || !(weight >= 1) || !words.some(name => forms(wanted).includes(name))) return links[0];
    if (asked.some(([words, other]) => other === page && called(words, wanted)) || within(core(wanted), top)) return [title, page, ''];
    const headed = parts.find(({head}) => forms(wanted).some(form => within(form, head)));
    return headed ? [title, page, headed.anchor] : links[0];
  }

  // What to show for a query, in this order: {note} said, {name} with its definition, {page} of `pages`.
  function answers(query) {
    const wanted = spelt(phrase(query));
    if (!wanted) return [];
    const topics = (list, said, test) => [...new Set(list.filter(([words]) => test(words, wanted)).map(([, topic]) => topic))].map(topic => ({note: topic, said}));
    const notes = [...topics(planned, ': planned, not in the book yet.', within), ...topics(absent, ': not in the book.', within)];
    const names = named(wanted), two = sides(wanted);
    let found = pages(wanted, names);
    const lacking = topics([...planned, ...absent], '', called).length > 0;
    if (lacking) {
      const says = ({top, head, words, weight}) => weight >= .5
        && ([top, head].some(text => within(core(wanted), text)) || within(bare(core(wanted)), words));
      found = found.filter(({parts}) => parts.some(says)).slice(0, 5);
      names.begun = names.partial = [];
    } else if (two) {
      const own = asked.filter(([words]) => called(words, wanted)).map(([, page]) => page);
      const first = two.map(side => treats(side) ? pages(side, named(side)).map(({parts}) => parts[0].page) : [])
        .flatMap((found, i) => found.filter((page, at) => !at || asked.some(([words, other]) => other === page && called(words, two[i]))));
      const rank = page => [...own, ...first].indexOf(page.parts[0].page) + 1 || Infinity;
      const more = two.flatMap(side => pages(side, named(side))).filter(({parts}) => !found.some(page => page.parts[0].page === parts[0].page));
      found = [...new Map([...found, ...more].map(page => [page.parts[0].page, page])).values()].sort((a, b) => rank(a) - rank(b) || 0).slice(0, 30);
      names.exact = []; names.partial = two.flatMap(side => named(side).exact).slice(0, 4);
    } else if (notes.length) {
      found = found.slice(0, 3);
    } else if (!names.exact.length && !treats(wanted)) {
      found = found.filter(({parts}) => parts[0].weight >= .5).slice(0, 3);
      if (found.length) notes.push({note: `“${query.trim()}”`, said: ' is not in the book by this name. The nearest pages:', lacks: true});
      names.begun = names.partial = [];
    }
    const shown = found.map(page => ({page})), name = name => ({name, home: homeOf(name, wanted, found)});
    const before = wanted.includes(' ') ? [] : names.begun.filter(({words}) => words.some(name => name.startsWith(`${wanted} `)));
    const after = [...new Set([...names.begun, ...names.partial])].filter(name => !before.includes(name));
    return [...notes, ...[...names.exact, ...before].slice(0, 3).map(name), ...shown.slice(0, 3), ...after.map(name), ...shown.slice(3)];
  }

  // the prose of a page, part by part, which lies in a file of its own; read as a script, which one may do from a folder, too
  window.bookTexts = {};
  const texts = {};
  const textsOf = page => texts[page] ??= new Promise(read => {
    const script = Object.assign(document.createElement('script'), {src: `${root}search/${page}.js`});
    script.onload = () => read(bookTexts[page]);
    document.head.append(script);
  });

  // Excerpts of what is in sight, and stays there while one types.
  const seen = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(({target}) => {
    seen.unobserve(target);
    setTimeout(async () => {
      if (!target.isConnected) return;
      const [, , text] = (await textsOf(target.shown.page)).parts[target.shown.place];
      target.replaceChildren(...excerpt(text, target.shown.terms));
    }, 100);
  }));

  function context(part) {
    const made = Object.assign(element('p', 'context excerpt-of'), {shown: part});
    seen.observe(made);
    return made;
  }

  // the stretch of a text that holds most of the words that were found, with these marked
  function excerpt(text, terms) {
    const stems = terms.sort((a, b) => b.length - a.length)
      .map(word => escaped(word.replace(/y$/, '')));
    const places = stems.length ? [...text.matchAll(new RegExp(`(?<![\\p{L}\\p{N}])(${stems.join('|')})\\p{L}*`, 'giu'))] : [];
    const near = places.map(({index: from}, i) =>
      new Set(places.slice(i, i + 12).filter(place => place.index < from + 160).map(place => place[1].toLowerCase())).size);
    const best = places[near.indexOf(Math.max(...near))];
    const first = Math.max(0, (best?.index ?? 0) - 60);
    const start = first && text.indexOf(' ', first) + 1;
    const stop = start + 240 < text.length ? text.lastIndexOf(' ', start + 240) : text.length;
    const made = [start ? '… ' : ''];
    let end = start;
    for (const place of places.filter(place => place.index >= start && place.index + place[0].length <= stop)) {
      made.push(text.slice(end, place.index), element('mark', '', place[0]));
      end = place.index + place[0].length;
    }
    made.push(text.slice(end, stop), stop < text.length ? ' …' : '');
    return made;
  }

  function element(name, className, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  function link(text, page, anchor, className = '') {
    const made = element('a', className, text);
    made.href = address(page, anchor);
    return made;
  }

  function item({note, said, name, home, page}) {
    if (note) return element('li', 'named planned', element('strong', '', note), said);
    if (name) {
      const {names: [first, ...others], text, links} = name;
      const places = [...new Set([home, ...links])].flatMap(([label, page, anchor], i) => [i ? ' · ' : '', link(label, page, anchor)]);
      const title = element('p', 'name', link(first, home[1], home[2], 'result'), others.length ? ` (${others.join(', ')})` : '');
      return element('li', 'named', title, element('p', 'context', text), element('p', 'places', ...places));
    }
    const {parts} = page;
    const made = element('li', '', link(parts[0].title, parts[0].page, '', 'result'), context(parts[0]));
    const headed = parts.filter(part => part.heading).slice(0, 3);
    if (headed.length) {
      made.append(element('p', 'places', ...headed.flatMap((part, i) => [i ? ' · ' : '', link(part.heading, part.page, part.anchor)])));
    }
    return made;
  }

  function show(query, box) {
    const found = answers(query);
    const count = found.filter(({page}) => page).length;
    box.querySelector('ul.search').replaceChildren(...found.map(item));
    box.querySelector('.search-summary').textContent = !query.trim() ? '' : found[0]?.lacks ? `“${query}” is not in the book` : found.length
      ? `${count} page${count === 1 ? '' : 's'} found for “${query}”`
      : `Nothing was found for “${query}”. Fewer words find more.`;
  }

  // The field of a form shows, in the box, what it finds while one types. The arrow keys lead from the field through the results.
  window.searchInto = (field, box, typed = () => {}) => {
    const answer = () => show(field.value, box);
    const keys = event => {
      const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
      const stops = [field, ...box.querySelectorAll('a.result')];
      const at = stops.indexOf(document.activeElement);
      if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      if (step) {
        event.preventDefault();
        stops[Math.min(Math.max(at + step, 0), stops.length - 1)].focus();
      } else if (at && (event.key.length === 1 && event.key !== ' ' || event.key === 'Backspace')) field.focus();  // and goes on typing there
    };
    field.addEventListener('input', () => { answer(); typed(field.value); });
    field.addEventListener('keydown', keys);
    box.addEventListener('keydown', keys);
    if (field.value) answer();
  };

  const own = document.querySelector('.bd-search-container');
  if (!own) return;
  const field = own.querySelector('input[name="q"]');
  field.value = new URLSearchParams(location.search).get('q') ?? '';
  searchInto(field, own.querySelector('.search-results'),
    text => history.replaceState(null, '', `?${new URLSearchParams({q: text})}`));
})();
