"""How fast the site and its build are: `python -m nbutils.maintain.bench_site [--loads 5] [--line] [--build] [PAGE ...]`.

Pages are loaded in Chromium with an empty cache, from a server on this machine that compresses text as hosts do. Each is
loaded by turns from our site and from the stock one: the same notebooks in sphinx-book-theme as jupyter-book sets it up,
with tex-mml-chtml of MathJax, which is served from here too, for the network is cut. `--line` puts a line of 10 Mbit/s with
40 ms delay between them. `--build` measures the build instead: the book as it is, one page changed, and made-up books of
more and more pages. Ratios hold on other machines, seconds do not.
"""
import argparse
import functools
import gzip
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import yaml

from nbutils.maintain import notebooks, serve

ROOT = notebooks.ROOT
OURS, STOCK = ROOT / '_build' / 'html', ROOT / '_build' / 'stock'
MATHJAX = 'sphinx-mathjax-offline==0.0.2'  # a package that holds MathJax 3.2.2 as it comes
FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking',
         '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1']
LINE = {'offline': False, 'latency': 40, 'downloadThroughput': 10e6 / 8, 'uploadThroughput': 10e6 / 8}
KINDS = {'.html': 'html', '.css': 'css', '.js': 'js', '.woff': 'font', '.woff2': 'font', '.png': 'image', '.webp': 'image'}
TO_STOCK, MATH_SECONDS, OWN_BYTES, PER_PAGE, ONE_PAGE = 0.5, 1.0, 400_000, 0.2, 5.0  # the goals

WATCH = """(() => {
  const seen = window.seen = {};
  const done = m => m.querySelector('mjx-container > mjx-math, mjx-container > svg, math');
  const shown = m => m.checkVisibility() && m.getBoundingClientRect().top < innerHeight;
  const frame = () => new Promise(requestAnimationFrame);
  const fonts = () => Promise.all([...document.fonts].filter(f => f.status === 'loading').map(f => f.loaded));
  const note = async (name, wanted) => {
    while (document.readyState === 'loading' || !wanted().every(done)) await frame();
    await frame();  // only now the fonts of what was typeset are asked for
    await fonts();
    seen[name] = performance.now();
    seen[name + 'Formulas'] = wanted().length;
  };
  const all = () => [...document.querySelectorAll('.math')];
  const first = () => { const found = all().filter(shown); return found.length ? found : all().slice(0, 1); };
  frame().then(() => note('math', first)).then(() => note('all', all));
  new PerformanceObserver(list => seen.shift = list.getEntries().reduce((sum, e) => sum + e.value, seen.shift || 0))
    .observe({type: 'layout-shift', buffered: true});
})()"""
READ = """() => ({
  ...seen, text: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
  files: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .map(e => [new URL(e.name).pathname, e.encodedBodySize]),
})"""


class Compressing(serve.Pages):
    """Files of a folder, text of them compressed."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if path.suffix not in ('.html', '.css', '.js', '.svg') or not path.is_file():
            return super().do_GET()
        body = _gzip(path)
        self.send_response(200)
        for name, value in (('Content-Type', self.guess_type(str(path))), ('Content-Encoding', 'gzip'),
                            ('Content-Length', str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@functools.cache
def _gzip(path):
    return gzip.compress(path.read_bytes(), 6)


def serving(folder):
    """The address of a server of `folder`, which runs until the process ends."""
    server = serve.server(folder, 0, Compressing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f'http://127.0.0.1:{server.server_port}/'


def build_stock():
    """Build the notebooks with the theme as it comes into _build/stock/_build/html; gives that folder."""
    packages = STOCK / 'packages'
    if not packages.is_dir():
        install = ['pip', 'install', '-q', '--no-deps', '--target', packages, MATHJAX]
        subprocess.run([sys.executable, '-m', *install], check=True)
    config = yaml.safe_load((ROOT / '_config.yml').read_text('utf-8'))
    ours = config['sphinx']['config']
    kept = ('myst_', 'nb_', 'math_', 'numfig', 'exercise', 'proof', 'bibtex')  # what the text means, not how it looks
    config['sphinx'] = {'extra_extensions': ['sphinx_exercise', 'sphinx_proof'], 'config': {
        **{name: value for name, value in ours.items() if name.startswith(kept)},
        'mathjax3_config': {'tex': {'macros': ours['mathjax3_config']['tex']['macros']}},
        'mathjax_path': 'mathjax/tex-mml-chtml.js',
        'html_static_path': [str(next(packages.glob('*/static')))]}}
    config['html'].pop('favicon')
    (STOCK / '_config.yml').write_text(yaml.safe_dump(config), 'utf-8')
    for name in ('_toc.yml', 'book', 'notebooks'):
        (STOCK / name).unlink(missing_ok=True)
        (STOCK / name).symlink_to(ROOT / name)
    done = run_book(STOCK)  # pages that use our directives lack them here: not strict
    if done.returncode or not (STOCK / '_build' / 'html' / 'index.html').is_file():
        sys.exit(done.stdout)
    return STOCK / '_build' / 'html'


def run_book(root, *options):
    """Build a book; gives the finished process."""
    return subprocess.run([Path(sys.executable).with_name('jupyter-book'), 'build', root, *options], cwd=root, text=True,
                          env=os.environ | {'NO_COLOR': '1'}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def load(browser, address, line=False):
    """Load one page with an empty cache and wait until all formulas are typeset; gives what `READ` says, times in ms."""
    context = browser.new_context(viewport={'width': 1280, 'height': 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    if line:
        context.new_cdp_session(page).send('Network.emulateNetworkConditions', LINE)
    page.goto(address, wait_until='load')
    page.wait_for_function('window.seen.all', timeout=60_000)
    found = page.evaluate(READ)
    context.close()
    return found


def own_bytes(folder):
    """Bytes of each section's page and of its figures, as they lie on the disk: {page: (html, figures)}."""
    from bs4 import BeautifulSoup
    found = {}
    for path in sorted(folder.glob('notebooks/**/*.html')):
        images = BeautifulSoup(path.read_text('utf-8'), 'html.parser').select('img[src*="_images/"]')
        files = {(path.parent / image['src']).resolve() for image in images}
        found[path.relative_to(folder).as_posix()] = path.stat().st_size, sum(file.stat().st_size for file in files)
    return found


def median(loads, key):
    return statistics.median(found[key] for found in loads)


def bytes_by_kind(files):
    """Transferred bytes of one load by kind of file, and the number of files."""
    kinds = {}
    for path, size in files:
        kind = KINDS.get(Path(path).suffix, 'other')
        kinds[kind] = kinds.get(kind, 0) + size
    return kinds, len(files)


def pages_of(folder, number=3):
    """Pages to load: by their number of formulas the least, the median and the most, and in between."""
    paths = sorted(folder.glob('notebooks/**/*.html'), key=lambda p: p.read_text('utf-8').count('class="math '))
    return [paths[i * (len(paths) - 1) // (number - 1)].relative_to(folder).as_posix() for i in range(number)]


def compare(pages, loads, line):
    """Load pages of both sites by turns and print what was measured."""
    from playwright.sync_api import sync_playwright
    folders = {'ours': OURS, 'stock': build_stock()}
    sites = {name: serving(folder) for name, folder in folders.items()}
    found = {name: {page: [] for page in pages} for name in sites}
    with sync_playwright() as playwright:
        path = os.environ.get('CHROMIUM') or shutil.which('chromium') or shutil.which('google-chrome')
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for turn in range(loads + 1):  # the first one warms the server up and does not count
            for page in pages:
                for name, address in sites.items():
                    one = load(browser, address + page, line)
                    if turn:
                        found[name][page].append(one)
        browser.close()
    print(f'{loads} loads of each page by turns, medians; {"10 Mbit/s, 40 ms" if line else "no limit to the line"}')
    heads = ('text s', 'math s', 'all s', 'shift', 'files', 'html', 'css', 'js', 'font', 'image', 'kB in all')
    print(f'{"":46}', *(f'{head:>9}' for head in heads))
    for page in pages:
        for name in sites:
            runs = found[name][page]
            kinds, number = bytes_by_kind(runs[0]['files'])
            times = [f'{median(runs, key) / 1000:9.2f}' for key in ('text', 'math', 'all')]
            sizes = [kinds.get(kind, 0) for kind in ('html', 'css', 'js', 'font', 'image')] + [sum(kinds.values())]
            title = page.removesuffix('.html').removeprefix('notebooks/').split('/')[-1]
            print(f'{title:38} {name:7}', *times, f'{statistics.median(r.get("shift", 0) for r in runs):9.3f}',
                  f'{number:9}', *(f'{size / 1000:9.0f}' for size in sizes))
    verdict(found, own_bytes(OURS), own_bytes(folders['stock']))


def verdict(found, own, stock):
    """Print the goals and whether they are reached."""
    math = {name: [median(runs, 'math') / 1000 for runs in found[name].values()] for name in found}
    ratio = statistics.median(a / b for a, b in zip(math['ours'], math['stock'], strict=True))
    said = {True: 'reached', False: 'NOT REACHED'}
    print(f'math visible, ours to stock: {ratio:.2f} (goal {TO_STOCK}: {said[ratio <= TO_STOCK]}); '
          f'slowest page {max(math["ours"]):.2f} s (goal {MATH_SECONDS}: {said[max(math["ours"]) <= MATH_SECONDS]})')
    whole, other = (sorted(sum(sizes) / 1000 for sizes in each.values()) for each in (own, stock))
    half = statistics.median(whole)
    print(f'own bytes of a section (HTML and figures, as they lie on the disk): median {half:.0f} kB, most {whole[-1]:.0f} '
          f'(goal {OWN_BYTES // 1000}: {said[half * 1000 <= OWN_BYTES]}); '
          f'stock {statistics.median(other):.0f}, {other[-1]:.0f}')


# The build

def timed_build(root, *options):
    """Seconds and processor seconds of a build, which must pass."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = run_book(root, '-W', '-n', '--keep-going', *options)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stdout)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def made_up(root, number, sections=10):
    """Lay out a book of `number` small sections, `sections` to a chapter, with our settings; gives its folder."""
    shutil.rmtree(root, ignore_errors=True)
    (root / 'book').mkdir(parents=True)
    (root / 'notebooks').mkdir()
    for name in ('book/_ext', 'book/_static', 'book/claims', 'book/references.bib'):
        (root / name).symlink_to(ROOT / name)
    config = yaml.safe_load((ROOT / '_config.yml').read_text('utf-8'))
    config['sphinx']['extra_extensions'].remove('sphinxext.rediraffe')  # its redirects lead to pages of the whole book
    config['sphinx']['config'].pop('rediraffe_redirects')
    (root / '_config.yml').write_text(yaml.safe_dump(config), 'utf-8')
    kernel = {'kernelspec': {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}}
    chapters = []
    for i in range(number):
        if i % sections == 0:
            chapters.append({'file': f'book/c{i}', 'sections': []})
            (root / 'book' / f'c{i}.md').write_text(f'# Chapter {i}\n')
        chapters[-1]['sections'].append({'file': f'notebooks/s{i}'})
        text = (f'# Section {i}\n\n- **Question.** What?\n- **You need** nothing.\n\n'
                f'Let $x_{i} = {i}$.\n\n## Part\n\nSee [](s{max(i - 1, 0)}.ipynb).')
        cells = [{'cell_type': 'markdown', 'id': 'a', 'metadata': {}, 'source': text},
                 {'cell_type': 'code', 'id': 'b', 'metadata': {}, 'execution_count': 1, 'source': f'x = {i}', 'outputs': []}]
        whole = {'cells': cells, 'metadata': kernel, 'nbformat': 4, 'nbformat_minor': 5}
        (root / 'notebooks' / f's{i}.ipynb').write_text(json.dumps(whole))
    (root / 'book' / 'index.md').write_text('# A book\n')
    part = {'caption': 'Chapters', 'numbered': 2, 'chapters': chapters}
    toc = {'format': 'jb-book', 'root': 'book/index', 'parts': [part]}
    (root / '_toc.yml').write_text(yaml.safe_dump(toc))
    return root


def measure_builds(sizes=(25, 50, 100, 200)):
    """Print what building costs: the book, one page of it, and made-up books of several sizes."""
    number = len(list(OURS.glob('notebooks/**/*.html'))) + len(list(OURS.glob('book/*.html')))
    folder = ROOT / '_build' / 'cold'
    shutil.rmtree(folder, ignore_errors=True)
    cold = timed_build(ROOT, '--path-output', folder)
    page = notebooks.sources()[0].with_suffix('.ipynb')
    nothing = timed_build(ROOT, '--path-output', folder)
    page.touch()
    one = timed_build(ROOT, '--path-output', folder)
    said = {True: 'reached', False: 'NOT REACHED'}
    print(f'{number} pages, cold: {cold[0]:.1f} s ({cold[1]:.1f} s of processors), {cold[0] / number:.3f} a page '
          f'(goal {PER_PAGE}: {said[cold[0] / number <= PER_PAGE]})')
    print(f'nothing changed: {nothing[0]:.1f} s ({nothing[1]:.1f})')
    print(f'one page changed: {one[0]:.1f} s ({one[1]:.1f}; goal {ONE_PAGE}: {said[one[0] <= ONE_PAGE]})')
    last = None
    for size in sizes:
        seconds, work = timed_build(made_up(ROOT / '_build' / 'made_up', size))
        more = '' if last is None else f', {(work - last[1]) / (size - last[0]):.3f} s for each further page'
        print(f'made-up book of {size} small pages: {seconds:.1f} s ({work:.1f} s of processors{more})', flush=True)
        last = size, work


def main(argv=None):
    parser = argparse.ArgumentParser(description='Measure the site, or its build, against the stock one.')
    parser.add_argument('pages', nargs='*', help='such as notebooks/linear_algebra/norms.html; else three are chosen')
    parser.add_argument('--loads', type=int, default=5)
    parser.add_argument('--line', action='store_true')
    parser.add_argument('--build', action='store_true')
    arguments = parser.parse_args(argv)
    if arguments.build:
        measure_builds()
    else:
        compare(arguments.pages or pages_of(OURS), arguments.loads, arguments.line)


if __name__ == '__main__':
    main()
