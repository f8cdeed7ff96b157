// Reads {mathjax: folder, settings, formulas: [[LaTeX, is a display], ...]} from standard input, and writes the HTML of each formula
// as MathJax would make it in a page, in a list, to standard output. With {style: true} it writes the style sheet of all glyphs.
const { mathjax, settings, formulas = [], style } = JSON.parse(require('fs').readFileSync(0, 'utf8'));

async function main() {
  await MathJax.startup.promise;
  const { adaptor } = MathJax.startup;
  const made = [];
  for (const [latex, display] of formulas) made.push(adaptor.outerHTML(await MathJax.tex2chtmlPromise(latex, { display })));
  process.stdout.write(JSON.stringify(style ? adaptor.textContent(MathJax.chtmlStylesheet()) : made));
}

async function ready() {
  await MathJax.loader.load('adaptors/liteDOM'); // a document where there is no browser
  MathJax.startup.defaultReady();
  main().catch(failed);
}

function failed(error) {
  console.error(error);
  process.exit(1);
}

global.MathJax = {
  ...settings,
  chtml: { ...settings.chtml, adaptiveCSS: false, fontURL: 'output/chtml/fonts/woff-v2' },
  loader: { load: [], paths: { mathjax }, require },
  startup: { typeset: false, ready: () => ready().catch(failed) },
};
require(`${mathjax}/tex-chtml.js`);
