// What a reader has read is kept in the browser, and nowhere else: sections are marked in the contents, and the first page leads on.
addEventListener('DOMContentLoaded', () => {
  const MOST = .6, STAYS = 500;  // of the parts; milliseconds
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const own = location.href.split(/[#?]/)[0].slice(root.href.length);
  let kept;
  try { kept = JSON.parse(localStorage.getItem('read') ?? '{}'); } catch { return; }  // nothing may be kept here
  const mark = () => {
    for (const link of document.querySelectorAll('.bd-sidebar-primary a.reference.internal')) {
      const page = new URL(link.getAttribute('href'), location.href).href.split('#')[0].slice(root.href.length);
      if (kept[page] && !link.classList.contains('read')) {
        link.classList.add('read');
        link.append(Object.assign(document.createElement('span'), {className: 'visually-hidden', textContent: ' (read)'}));
      }
    }
  };
  mark();

  // A section is read when the headings of most of its parts have stood on the screen, now or earlier, that of its summary among them.
  // A link that leads straight to the summary, or a scroll that flies past, is no reading.
  const parts = [...document.querySelectorAll('article h2')].map(heading => heading.closest('section')).filter(part => part?.id);
  if (own.startsWith('notebooks/') && parts.some(part => part.id === 'summary')) {
    const title = document.querySelector('article h1').firstChild.parentNode.innerText.replace('#', '').trim();
    localStorage.setItem('last', JSON.stringify({page: own, title}));
    const begun = JSON.parse(localStorage.getItem('begun') ?? '{}');
    const seen = new Set(begun[own]), stands = new Map();
    const come = heading => {
      const {top, bottom} = heading.getBoundingClientRect();
      if (bottom < 0 || top > innerHeight) return;  // a busy machine says late that it has left
      seen.add(heading.closest('section').id);
      begun[own] = [...seen];
      if (seen.has('summary') && parts.filter(each => seen.has(each.id)).length >= MOST * parts.length) {
        watch.disconnect();
        kept[own] = true;
        delete begun[own];
        localStorage.setItem('read', JSON.stringify(kept));
        mark();
      }
      localStorage.setItem('begun', JSON.stringify(begun));
    };
    const watch = new IntersectionObserver(entries => {
      for (const {target, isIntersecting} of entries) {
        clearTimeout(stands.get(target));
        if (isIntersecting) stands.set(target, setTimeout(come, STAYS, target));
      }
    });
    for (const part of kept[own] ? [] : parts) watch.observe(part.querySelector('h2'));
  }

  const start = document.querySelector('article .sd-btn');
  const last = JSON.parse(localStorage.getItem('last') ?? 'null');
  if (last && start && !own.startsWith('notebooks/')) {
    const on = Object.assign(document.createElement('a'), {className: 'continue', href: new URL(last.page, root).href, textContent: `Continue with ${last.title}`});
    start.after(' ', on);
  }
});
