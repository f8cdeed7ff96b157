// Formulas near what the reader sees are typeset first, the others a few at a time, so that the page answers meanwhile.
// Comes before MathJax, which looks for these settings when it starts; its `startup.promise` ends with the last formula.
(() => {
  const BATCH = 40;
  let waiting = [], all = 0;

  const VISIBLE = { opacityProperty: true, visibilityProperty: true };
  const distance = formula => {
    if (formula.checkVisibility?.(VISIBLE) === false) return 1e9;  // in a folded solution
    const { top, bottom } = formula.getBoundingClientRect();
    return Math.max(top - innerHeight, -bottom, 0);  // 0: on the screen
  };
  const nearest = () => {
    const placed = waiting.map(formula => [distance(formula), formula]).sort((a, b) => a[0] - b[0]);
    const seen = placed.filter(([away]) => away === 0).length;
    const taken = placed.slice(0, seen || (waiting.length === all ? 10 : BATCH)).map(([, formula]) => formula);
    waiting = placed.slice(taken.length).map(([, formula]) => formula);
    return taken;
  };
  // until what is typeset has been painted in its fonts; not longer, for a hidden page paints nothing
  const painted = () => new Promise(go => requestAnimationFrame(() => setTimeout(go))).then(() => document.fonts.ready);
  const pause = () => Promise.race([painted(), new Promise(go => setTimeout(go, 200))]);

  const typeset = async () => {
    waiting = [...document.querySelectorAll('.math')];
    all = waiting.length;
    document.getElementById(location.hash.slice(1))?.scrollIntoView();  // the browser does so, too, but later
    while (waiting.length) {
      await MathJax.typesetPromise(nearest());
      await pause();
    }
  };
  addEventListener('beforeprint', () => waiting.length && MathJax.typeset?.(waiting.splice(0)));

  window.MathJax = { ...window.MathJax, startup: { typeset: false, pageReady: typeset } };
})();
