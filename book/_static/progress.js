// What a reader has read is kept in the browser, and nowhere else: sections are marked in the contents, and the first page leads on.
addEventListener('DOMContentLoaded', () => {
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

  const summary = document.getElementById('summary');  // every section ends with one; who has come to it has read the section
  if (own.startsWith('notebooks/') && summary) {
    const title = document.querySelector('article h1').firstChild.parentNode.innerText.replace('#', '').trim();
    localStorage.setItem('last', JSON.stringify({page: own, title}));
    new IntersectionObserver((entries, watch) => {
      if (!entries.some(entry => entry.isIntersecting)) return;
      watch.disconnect();
      kept[own] = true;
      localStorage.setItem('read', JSON.stringify(kept));
      mark();
    }).observe(summary);
  }

  const start = document.querySelector('article .sd-btn');
  const last = JSON.parse(localStorage.getItem('last') ?? 'null');
  if (last && start && !own.startsWith('notebooks/')) {
    const on = Object.assign(document.createElement('a'), {className: 'continue', href: new URL(last.page, root).href, textContent: `Continue with ${last.title}`});
    start.after(' ', on);
  }
});
