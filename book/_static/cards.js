// A link to a formula, a theorem or an algorithm shows it beside the link, while the pointer or the focus is there: nobody has to leave the place.
(() => {
  const LINKS = 'article a.reference.internal[href*="#"]:not(.check-back, .term)';
  const TARGET = 'div.math, div.proof';
  const pages = new Map();
  let card, link, waiting;

  // The element to which a link leads: of this page, or of another one of the book.
  async function target({href}) {
    const [page, anchor] = href.split('#');
    let from = document;
    if (page !== location.href.split('#')[0]) {
      if (location.protocol === 'file:') return null;  // a page may not read others there
      if (!pages.has(page)) pages.set(page, fetch(page).then(answer => answer.text()).then(text => new DOMParser().parseFromString(text, 'text/html')));
      from = await pages.get(page);
    }
    const found = from.getElementById(decodeURIComponent(anchor));
    return found?.matches(TARGET) ? found : null;
  }

  async function show(to) {
    link = to;
    const shown = await target(to).catch(() => null);
    if (!shown || link !== to) return;
    card = Object.assign(document.createElement('div'), {className: 'card-of-link bd-article', id: 'card-of-link', role: 'tooltip'});
    card.append(document.importNode(shown, true));
    for (const part of card.querySelectorAll('[id], a, .toggle-button, .badge')) {
      part.removeAttribute('id');
      if (part.matches('a.headerlink, .toggle-button')) part.remove();
      else if (part.matches('a')) part.replaceWith(...part.childNodes);
    }
    document.body.append(card);
    const {left, top, bottom} = to.getBoundingClientRect();
    const {width, height} = card.getBoundingClientRect();
    card.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - width - 8)) + scrollX}px`;
    card.style.top = `${(bottom + height + 12 < innerHeight || top < height + 12 ? bottom + 6 : top - height - 6) + scrollY}px`;
    to.setAttribute('aria-describedby', card.id);
  }

  function hide() {
    clearTimeout(waiting);
    card?.remove();
    link?.removeAttribute('aria-describedby');
    card = link = null;
  }

  const come = event => {
    const to = event.target.closest?.(LINKS);
    if (!to || to === link || event.pointerType === 'touch') return;
    hide();
    waiting = setTimeout(show, 150, to);
  };
  const go = event => event.target.closest?.(LINKS) && hide();
  addEventListener('pointerover', come);
  addEventListener('focusin', event => event.target.matches(':focus-visible') && come(event));
  addEventListener('pointerout', go);
  addEventListener('focusout', go);
  addEventListener('keydown', event => event.key === 'Escape' && hide());
})();
