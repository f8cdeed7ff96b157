// Comfort of reading that style alone cannot give.

// The left and right arrow keys turn pages (the theme listens for them), but not where they scroll a wide box or move a cursor.
addEventListener('keydown', event => {
  const at = event.target;
  const scrolls = at instanceof Element && at !== document.body && at.scrollWidth > at.clientWidth + 1 && at.tabIndex === 0;
  const held = scrolls || at.isContentEditable || document.querySelector('dialog[open]');
  if (['ArrowLeft', 'ArrowRight'].includes(event.key) && held) event.stopPropagation();
}, true);

// Ctrl-K: the dialog shows what the search page would. What the search needs is fetched when the dialog first opens. Enter opens the
// first result; the arrow keys lead to the others, which are links, so that Enter opens them, too.
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
    const foot = Object.assign(document.createElement('p'), {className: 'all-results', hidden: true});
    foot.innerHTML = '<a></a> <span>Enter opens the first, ↓ and ↑ lead to the others.</span>';
    const field = dialog.querySelector('input[name="q"]');
    const typed = text => {
      foot.hidden = !text.trim();
      foot.firstChild.textContent = `All results for “${text}”`;
      foot.firstChild.href = `${field.form.action}?${new URLSearchParams({q: text})}`;
    };
    dialog.append(box, foot);
    const fetched = (async () => {
      if (window.searchInto) return;
      for (const name of ['_static/minisearch/minisearch.js', 'search_index.js', '_static/search.js']) await script(name);
    })();
    field.form.addEventListener('submit', async event => {
      event.preventDefault();
      try { await fetched; } catch { field.form.submit(); }
      box.querySelector('a.result')?.click();
    });
    dialog.addEventListener('click', event => {  // a result may lead to this page
      if (event.target.closest('a') && !event.ctrlKey && !event.metaKey) dialog.close();
    });
    await fetched;
    searchInto(field, box, typed);
    typed(field.value);
  });
  if (dialog) opened.observe(dialog, {attributeFilter: ['open']});
});

// A link to something that is folded unfolds it; a solution that is itself meant stays closed.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target?.closest('.toggle-hidden');
  if (!folded || (folded === target && target.matches('.solution'))) return;
  folded.querySelector('.toggle-button').click();
  target.scrollIntoView();
};
addEventListener('hashchange', unfold);
unfold();  // the script that folds has run

// Where the screen is narrow: a figure opens at full size, and long lines of code can be wrapped, on all pages until one takes it back.
addEventListener('DOMContentLoaded', () => {
  const narrow = matchMedia('(max-width: 768px)');
  const button = (className, text, act) => {
    const made = Object.assign(document.createElement('button'), {className, type: 'button', textContent: text});
    made.addEventListener('click', act);
    return made;
  };
  const enlarge = drawing => {
    const box = document.createElement('dialog');
    box.className = 'enlarged';
    const all = Object.assign(document.createElement('div'), {className: 'all', tabIndex: 0});
    all.append(drawing.cloneNode(true));
    all.style.setProperty('--ratio', drawing.clientWidth / drawing.clientHeight);
    const more = Object.assign(document.createElement('p'), {textContent: '⟷ Scroll sideways to see all of it'});
    box.append(button('close', 'Close', () => box.close()), all, more);
    box.addEventListener('close', () => box.remove());
    document.body.append(box);
    box.showModal();
    more.hidden = all.scrollWidth <= all.clientWidth;
  };
  const wrap = on => {
    document.documentElement.classList.toggle('wrap-code', on);
    for (const each of document.querySelectorAll('button.wrap')) each.setAttribute('aria-pressed', on);
    try { localStorage.setItem('wrap-code', on ? 'yes' : ''); } catch { /* nothing is kept then */ }
  };
  const offer = () => {
    if (!narrow.matches || document.querySelector('button.enlarge, button.wrap')) return;
    for (const drawing of document.querySelectorAll('.bd-article div.cell_output figure :is(svg.figure, img)')) {
      const place = drawing.closest('figure');
      place.append(button('enlarge', 'Enlarge', () => enlarge(drawing)));
      drawing.addEventListener('click', () => narrow.matches && enlarge(drawing));
    }
    for (const code of document.querySelectorAll('.bd-article div:not(.output) > div.highlight > pre')) {
      const toggle = button('wrap', '↵', () => wrap(!document.documentElement.classList.contains('wrap-code')));
      Object.assign(toggle, {ariaLabel: 'Wrap long lines', title: 'Wrap long lines'});
      if (/^.{46}/m.test(code.textContent)) code.after(toggle);  // measured in letters: what is folded has no width yet
    }
    try { wrap(localStorage.getItem('wrap-code') === 'yes'); } catch { wrap(false); }
  };
  offer();
  narrow.addEventListener('change', offer);
});

// Paper is white: a page that is read in the dark is printed in the light.
let theme;
addEventListener('beforeprint', () => {
  theme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = 'light';
});
addEventListener('afterprint', () => { document.documentElement.dataset.theme = theme; });
