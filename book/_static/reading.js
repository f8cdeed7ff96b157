// Comfort of reading that style alone cannot give.

// The arrow keys turn pages (the theme listens for them), but not where they scroll a wide box or move a cursor.
addEventListener('keydown', event => {
  const at = event.target;
  const scrolls = at instanceof Element && at !== document.body && at.scrollWidth > at.clientWidth + 1 && at.tabIndex === 0;
  const held = scrolls || at.isContentEditable || document.querySelector('dialog[open]');
  if (event.key.startsWith('Arrow') && held) event.stopPropagation();
}, true);

// Ctrl-K: the dialog shows what the search page would. What the search needs is fetched when the dialog first opens.
addEventListener('DOMContentLoaded', () => {
  const dialog = document.getElementById('pst-search-dialog');
  const root = document.documentElement.dataset.content_root;
  const script = name => new Promise((loaded, failed) => {
    document.head.append(Object.assign(document.createElement('script'), {src: root + name, onload: loaded, onerror: failed}));
  });
  const opened = new MutationObserver(async () => {
    if (!dialog.open) return;
    opened.disconnect();
    const box = Object.assign(document.createElement('div'), {className: 'search-results'});
    box.innerHTML = '<p class="search-summary" role="status"></p><ul class="search"></ul>';
    dialog.append(box);
    if (!window.searchInto) {
      for (const name of ['_static/minisearch/minisearch.js', 'search_index.js', '_static/search.js']) await script(name);
    }
    searchInto(dialog.querySelector('input[name="q"]'), box);
  });
  if (dialog) opened.observe(dialog, {attributeFilter: ['open']});
});

// A link to something inside a folded solution unfolds it.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target?.closest('.toggle-hidden');
  if (!folded || folded === target) return;
  folded.querySelector('.toggle-button').click();
  target.scrollIntoView();
};
addEventListener('hashchange', unfold);
addEventListener('load', unfold);

// What a cell printed in columns keeps them where the page is narrow, and scrolls; sentences wrap.
addEventListener('DOMContentLoaded', () => {
  for (const output of document.querySelectorAll('.cell_output pre')) output.classList.toggle('columns', /\S {2,}\S/.test(output.textContent));
});

// Paper is white: a page that is read in the dark is printed in the light.
let theme;
addEventListener('beforeprint', () => {
  theme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = 'light';
});
addEventListener('afterprint', () => { document.documentElement.dataset.theme = theme; });
