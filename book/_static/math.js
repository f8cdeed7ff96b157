// Formulas near what the reader sees are typeset first, the others a few at a time, so that the page answers meanwhile.
// Comes before MathJax, which looks for these settings when it starts; its `startup.promise` ends with the last formula.
(() => {
  const BATCH = 40;
  let waiting = [];

  const distance = formula => {
    if (!formula.offsetParent) return Infinity;  // hidden
    const { top, bottom } = formula.getBoundingClientRect();
    return Math.max(top - innerHeight, -bottom, 0);  // 0: on the screen
  };
  const nearest = () => {
    const placed = waiting.map(formula => [distance(formula), formula]).sort((a, b) => a[0] - b[0]);
    const seen = placed.filter(([away]) => away === 0).length;
    const taken = placed.slice(0, seen || BATCH).map(([, formula]) => formula);
    waiting = placed.slice(taken.length).map(([, formula]) => formula);
    return taken;
  };
  const pause = () => new Promise(go => requestAnimationFrame(() => setTimeout(go)));  // after the next painting
  const soon = () => Promise.race([pause(), new Promise(go => setTimeout(go, 100))]);  // a hidden page paints nothing

  const typeset = async () => {
    waiting = [...document.querySelectorAll('.math')];
    document.getElementById(location.hash.slice(1))?.scrollIntoView();  // the browser does so, too, but later
    while (waiting.length) {
      await MathJax.typesetPromise(nearest());
      await soon();
    }
  };
  addEventListener('beforeprint', () => waiting.length && MathJax.typeset?.(waiting.splice(0)));

  window.MathJax = { ...window.MathJax, startup: { typeset: false, pageReady: typeset } };
})();
