// Small panels beside what they are about.

// A link to a formula, a theorem, an algorithm or a cited work shows it beside the link, while the pointer or the focus is there: nobody has to leave the place.
(() => {
  // A copy without addresses, as these are there already, and without what acts on the page.
  function copy(node) {
    const made = document.importNode(node, true);
    for (const part of made.querySelectorAll('a:is(.headerlink, .check-back, .check-badge), .toggle-button, .cited-in')) part.remove();
    for (const part of [made, ...made.querySelectorAll('[id]')]) part.removeAttribute('id');
    return made;
  }

  function put(panel, beside) {
    document.body.append(panel);
    const {left, top, bottom} = beside.getBoundingClientRect();
    const {width, height} = panel.getBoundingClientRect();
    panel.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - width - 8)) + scrollX}px`;
    panel.style.top = `${(bottom + height + 12 < innerHeight || top < height + 12 ? bottom + 6 : top - height - 6) + scrollY}px`;
  }

  const LINKS = 'article a.reference.internal[href*="#"]:not(.check-back, .term)';
  const TARGET = 'div.math, div.proof, div.citation';
  const pages = new Map();
  let card, link, title, waiting, finger;

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
    card.append(copy(shown));
    for (const part of card.querySelectorAll('a')) part.replaceWith(...part.childNodes);
    if (finger) {  // it stays until one taps elsewhere, and says how one gets there
      const on = Object.assign(document.createElement('a'), {href: to.href, textContent: 'Go there'});
      on.addEventListener('click', () => setTimeout(hide));  // a link that is gone leads nowhere
      card.append(Object.assign(document.createElement('p'), {className: 'on'}));
      card.lastChild.append(on);
      Object.assign(card, {role: 'dialog', ariaLabel: 'Where the link leads'});
    }
    put(card, to);
    title = to.title;
    to.removeAttribute('title');  // the card says it
    to.setAttribute('aria-describedby', card.id);
  }

  function hide() {
    clearTimeout(waiting);
    if (card) {
      card.remove();
      link.removeAttribute('aria-describedby');
      if (title) link.title = title;
    }
    card = link = null;
  }

  const come = event => {
    const to = event.target.closest?.(LINKS);
    if (!to || to === link || event.pointerType === 'touch') return;
    finger = false;
    hide();
    waiting = setTimeout(show, 150, to);
  };
  const go = event => event.target.closest?.(LINKS) && event.pointerType !== 'touch' && !(finger && card?.contains(event.relatedTarget)) && hide();
  addEventListener('pointerover', come);
  addEventListener('focusin', event => event.target.matches(':focus-visible') && come(event));
  addEventListener('pointerout', go);
  addEventListener('focusout', go);

  for (const leave of ['hashchange', 'pagehide']) addEventListener(leave, hide);

  // A finger does not hover: its first tap shows the card, the second one follows the link.
  const KNOWN = /\/bibliography\.html#|#equation-/;  // on other pages; what else has a card there is not known before one is there
  addEventListener('pointerdown', event => {
    finger = event.pointerType === 'touch';
    if (finger && card && !card.contains(event.target) && event.target.closest?.(LINKS) !== link) hide();
  }, true);
  addEventListener('click', async event => {
    const to = event.target.closest?.(LINKS);
    if (!finger || !to || card && to === link || location.protocol === 'file:') return;
    const here = to.pathname === location.pathname && document.getElementById(decodeURIComponent(to.hash.slice(1)));
    if (here ? !here.matches(TARGET) : !KNOWN.test(to.href)) return;
    event.preventDefault();
    hide();
    await show(to);
    if (!card && link === to) location.href = to.href;
  });
  addEventListener('keydown', event => event.key === 'Escape' && hide());

  // The mark ✓ of a formula or a statement opens what was checked: the formula, what was tried, the mistake that the check would notice.
  // Without scripts, or in a new tab, it leads to the line of the check.
  let panel, mark;

  function close() {
    panel?.remove();
    mark?.setAttribute('aria-expanded', 'false');
    if (panel?.contains(document.activeElement) || document.activeElement === document.body) mark?.focus();
    panel = mark = null;
  }

  function open(badge) {
    const line = document.getElementById(decodeURIComponent(badge.hash.slice(1)));
    if (!line) return false;
    mark = badge;
    panel = Object.assign(document.createElement('div'), {className: 'check-card bd-article', role: 'dialog', ariaLabel: 'What was checked', tabIndex: -1});
    const list = document.createElement('ul');
    list.className = 'checks';
    list.append(copy(line));
    if (line.matches('.check-printed') && line.nextElementSibling) list.append(copy(line.nextElementSibling));
    const to = Object.assign(document.createElement('a'), {href: badge.hash, textContent: 'The check and its code'});
    to.addEventListener('click', close);
    const foot = document.createElement('p');
    foot.append(to);
    const formula = badge.closest('div.math');  // a statement in words stands beside the mark already
    if (formula) panel.append(copy(formula));
    panel.append(list, foot);
    put(panel, badge);
    badge.setAttribute('aria-expanded', 'true');
    panel.focus({preventScroll: true});
    panel.dispatchEvent(new CustomEvent('check-card', {bubbles: true, detail: line.id.replace('check-', '')}));  // a live page adds to it
    return true;
  }

  addEventListener('click', event => {
    const badge = event.target.closest?.('a.check-badge');
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (panel && !panel.contains(event.target)) {
      const same = badge === mark;
      close();
      if (same) return event.preventDefault();
    }
    if (badge && plain && open(badge)) event.preventDefault();
  });
  addEventListener('keydown', event => event.key === 'Escape' && panel && close());
})();
