// A formula wider than the text scrolls in its own box, and the keyboard can reach that box.
addEventListener('load', () => {
  const article = document.querySelector('.bd-article');
  if (!article) return;
  const mark = () => {
    for (const inline of article.querySelectorAll('mjx-container:not([display])')) {
      const room = inline.parentElement.closest('p, li, td, dd, figcaption, h1, h2, h3')?.clientWidth;
      inline.classList.toggle('wide', room > 0 && inline.firstElementChild?.offsetWidth > room);
    }
    for (const box of article.querySelectorAll('mjx-container[display], mjx-container.wide, div.highlight pre')) {
      if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
      else box.removeAttribute('tabindex');
    }
  };
  new ResizeObserver(mark).observe(article);  // also when a solution opens
  window.MathJax?.startup?.promise?.then(mark);
});
// Opened from a folder a page may not read others: search then lists pages without excerpts, and logs no errors.
if (location.protocol === 'file:') DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
