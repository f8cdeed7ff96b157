// The filter of the claims page. It is made here, so that the page without scripts is the plain tables alone.
addEventListener('DOMContentLoaded', () => {
  const rows = [...document.querySelectorAll('table.claims tbody tr')];
  const first = rows[0]?.closest('section').parentElement.closest('section');
  if (!first) return;
  const chapterOf = row => row.closest('section').parentElement.closest('section');
  const kindOf = row => [...row.classList].find(name => name.startsWith('verdict-')).slice(8);
  const plain = text => text.toLowerCase();
  const claims = rows.map(row => ({
    row,
    chapter: chapterOf(row).id.replace('claims-book-', ''),
    verdict: kindOf(row),
    text: plain(`${row.querySelector('data').value} ${row.closest('section').firstElementChild.textContent}`),
  }));

  const form = document.createElement('form');
  form.className = 'claim-filter';
  form.setAttribute('role', 'search');
  form.setAttribute('aria-label', 'Statements');
  form.innerHTML = `
    <label>Words, name or formula <input type="search" name="words" autocomplete="off" spellcheck="false"></label>
    <label>Chapter <select name="chapter"><option value="">all</option></select></label>
    <label>Verdict <select name="verdict"><option value="">all</option></select></label>
    <p><span role="status"></span> <button type="reset">Show all</button></p>`;
  const {words, chapter, verdict} = form.elements;
  const addOptions = (select, names) => names.forEach((name, value) => select.add(new Option(name, value)));
  const title = section => section.firstElementChild.firstChild.textContent.trim();
  addOptions(chapter, new Map(claims.map(c => [c.chapter, title(chapterOf(c.row))])));
  addOptions(verdict, new Map(claims.map(c => [c.verdict, c.row.cells[1].textContent.trim()])));
  first.before(form);

  const fields = [words, chapter, verdict];
  const status = form.querySelector('[role=status]');
  const show = () => {
    const wanted = plain(words.value).split(/\s+/);
    let hits = 0;
    for (const {row, ...claim} of claims) {
      const hit = (!chapter.value || claim.chapter === chapter.value)
        && (!verdict.value || claim.verdict === verdict.value)
        && wanted.every(word => claim.text.includes(word));
      row.hidden = !hit;
      hits += hit;
    }
    const filtered = fields.some(field => field.value.trim());
    for (const section of document.querySelectorAll('section[id^="claims-"]')) {
      section.hidden = filtered && !section.querySelector('tr:not([hidden]) > td');
      document.querySelector(`.page-toc a[href="#${section.id}"]`)?.parentElement.toggleAttribute('hidden', section.hidden);
    }
    status.textContent = filtered ? `${hits} of ${claims.length} statements` : `${claims.length} statements`;
    form.querySelector('button').hidden = !filtered;
  };

  // the address holds what is chosen, so that a filtered page can be linked; not as q, which the theme's search reads
  const load = () => {
    const address = new URLSearchParams(location.search);
    for (const field of fields) field.value = address.get(field.name) ?? '';
    for (const field of [chapter, verdict]) if (field.selectedIndex < 0) field.value = '';
    show();
  };
  const store = () => {
    const address = new URLSearchParams(location.search);
    for (const {name, value} of fields) value.trim() ? address.set(name, value.trim()) : address.delete(name);
    history.replaceState(null, '', `${location.pathname}${address.size ? `?${address}` : ''}${location.hash}`);
  };
  let later;
  form.addEventListener('input', () => { show(); clearTimeout(later); later = setTimeout(store, 200); });
  form.addEventListener('reset', () => setTimeout(() => { show(); store(); words.focus(); }));
  form.addEventListener('submit', event => event.preventDefault());
  addEventListener('popstate', load);

  // a link to a statement shows it, whatever is filtered
  const find = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.closest('[hidden]')) return;
    form.reset();
    setTimeout(() => target.scrollIntoView());
  };
  load();
  find();
  addEventListener('hashchange', find);

  // a click on the name of a statement copies its address
  document.querySelectorAll('table.claims a.claim-id').forEach(link => link.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(link.href).catch(() => {});
    link.classList.add('copied');
    setTimeout(() => link.classList.remove('copied'), 1500);
  }));
});
