"""The archives to take along: the site opens from a folder, the notebooks run in one, the same content gives the same bytes."""
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT, settle

from nbutils.maintain import bundle

RUN = """
import nbformat, nbclient, sys
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=120, kernel_name='python3').execute()
from nbutils.printed import displays
print('ran with', displays.__file__, 'and formulas' if displays.displays() else 'alone')
"""


def lay_out(place, files):
    """Write what an archive is to hold as unpacking it would; that packing changes nothing is tried on few files."""
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place / 'deep-learning-verified'


@pytest.fixture(scope='module')
def folder(site, tmp_path_factory):
    """What the archive of the site holds."""
    return lay_out(tmp_path_factory.mktemp('taken along'), bundle.site(site))  # with a space: readers' folders have them


def is_there(address):
    """Whether an address is that of a file. Then its request failed only because the page was left
    meanwhile, or because the browser refuses such files, which it says on the console."""
    parts = urlsplit(address)
    return parts.scheme == 'file' and Path(unquote(parts.path)).is_file()


@pytest.fixture
def watched(page):
    """A page and the list of what goes wrong on it: warnings, errors, files that cannot be read."""
    logged = []
    page.on('console', lambda message: message.type in ('error', 'warning') and logged.append(message.text))
    page.on('pageerror', lambda error: logged.append(str(error)))
    page.on('requestfailed', lambda request: is_there(request.url) or logged.append(request.url))
    return page, logged


@pytest.fixture
def opened(watched, folder):
    """A function that opens a page of the folder as a file; what is logged must be nothing."""
    page, logged = watched

    def open_page(name, query=''):
        page.goto((folder / name).as_uri() + query)
        settle(page)
        return page

    yield open_page
    assert not logged


def test_a_section_is_whole_without_a_server(opened):
    page = opened('notebooks/calculus/chain_rule.html')
    formulas = page.locator('.math').count()
    assert formulas > 20 and page.locator('mjx-container').count() >= formulas and not page.locator('mjx-merror').count()
    assert page.evaluate("[...document.fonts].filter(font => font.status === 'error').map(font => font.family)") == []
    for picture in page.locator('.cell_output img').all():
        picture.scroll_into_view_if_needed()
        page.wait_for_function('image => image.naturalWidth > 100', arg=picture.element_handle())
    while page.get_attribute('html', 'data-theme') != 'dark':
        page.click('.theme-switch-button')


def test_pages_lead_to_one_another(opened):
    page = opened('index.html')
    page.click('main a:has-text("errata")')
    page.wait_for_url('**/book/errata.html')
    page.click('main .lesson-mended a >> nth=0')
    page.wait_for_url('**/notebooks/**.html#check-*', wait_until='commit')


@pytest.mark.parametrize('source', [
    '<link rel="stylesheet" href="lost.css">', '<img src="lost.png" alt="">', '<script src="https://lost.invalid/x.js"></script>',
    '<style>@font-face {font-family: lost; src: url(lost.woff)} p {font-family: lost}</style><p>x',
    '<script>fetch("lost.json").catch(String)</script>', '<script>fetch("refused.json").catch(String)</script>',
    '<script>console.warn("lost")</script>', '<script>throw Error("lost")</script>'])
def test_what_goes_wrong_is_noticed(watched, tmp_path, source):
    """The control of the other checks."""
    page, logged = watched
    (tmp_path / 'refused.json').write_text('{}')
    (tmp_path / 'page.html').write_text(source, 'utf-8')
    page.goto((tmp_path / 'page.html').as_uri())
    for _ in range(200):
        if not logged:
            page.wait_for_timeout(50)
    assert any(re.search('lost|refused', line) for line in logged), logged


def test_search_works_without_a_server(opened):
    page = opened('search.html', '?q=Manhattan')
    page.wait_for_selector('main a[href*="notebooks/linear_algebra/norms.html"]')
    page.wait_for_timeout(500)  # excerpts that cannot be read would be logged by now


def test_every_link_stays_in_the_folder(folder):
    """No path from the root of a server, no folder without its index.html, nothing that is not there."""
    lost = []
    for path in folder.rglob('*.html'):
        if path.name == '404.html' or path.parent.name == '_static':  # a server shows it at any depth; templates
            continue
        for link in set(re.findall(r'\b(?:href|src)="([^"]+)"', path.read_text('utf-8'))):
            target = urlsplit(link.replace('&amp;', '&'))
            if not target.scheme and not target.netloc and target.path:
                if not (path.parent / unquote(target.path)).is_file() or target.path.startswith('/'):
                    lost.append(f'{path.relative_to(folder)}: {link}')
    assert not lost


def test_the_same_content_gives_the_same_bytes(tmp_path):
    files = {'b/two.txt': b'2' * 1000, 'a/one.txt': b'1'}
    bundle.pack(tmp_path / '1.zip', files)
    bundle.pack(tmp_path / '2.zip', dict(reversed(files.items())))
    assert (tmp_path / '1.zip').read_bytes() == (tmp_path / '2.zip').read_bytes()
    with zipfile.ZipFile(tmp_path / '1.zip') as archive:
        assert archive.namelist() == sorted(files) and archive.read('b/two.txt') == files['b/two.txt']
        assert all(entry.date_time == (1980, 1, 1, 0, 0, 0) for entry in archive.infolist())


@pytest.fixture(scope='module')
def notebooks(tmp_path_factory):
    """What the archive of the notebooks holds."""
    return lay_out(tmp_path_factory.mktemp('notebooks'), bundle.notebooks())


def test_all_notebooks_are_there_with_their_outputs(notebooks):
    stored = {path.relative_to(ROOT): path.read_bytes() for path in ROOT.glob('notebooks/*/*.ipynb')}
    assert stored and {path.relative_to(notebooks): path.read_bytes() for path in notebooks.rglob('*.ipynb')} == stored


def test_a_notebook_runs_from_the_unpacked_folder(notebooks):
    ended = run(notebooks, '-c', RUN, 'notebooks/calculus/chain_rule.ipynb', PYTHONPATH=str(notebooks), MPLBACKEND='agg')
    assert f'ran with {notebooks}' in ended and 'and formulas' in ended


def test_what_a_reader_installs_is_there(notebooks):
    """pip makes a wheel of the folder, and holds to constraints.txt."""
    run(notebooks, '-m', 'hatchling', 'build', '--target', 'wheel', '--directory', 'made')
    [wheel] = (notebooks / 'made').iterdir()
    assert {'nbutils/printed/running.py', 'nbutils/formulas.json', 'nbutils/claims/dl.yml'} <= {*zipfile.ZipFile(wheel).namelist()}
    pinned = {line.split('==')[0] for line in (notebooks / 'constraints.txt').read_text().splitlines()}
    asked = (notebooks / 'requirements.txt').read_text().split('\n')
    assert {'-c constraints.txt', '.'} <= {*asked} and {*asked} - {'-c constraints.txt', '.', ''} <= pinned
    assert (notebooks / 'README.md').is_file() and (notebooks / 'LICENSE').is_file()


def run(folder, *arguments, **environ):
    """What Python prints in a folder. It must not fail."""
    ended = subprocess.run([sys.executable, *arguments], cwd=folder, env=os.environ | environ, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


def test_what_is_there_is_offered_with_its_size(tmp_path):
    page = tmp_path / bundle.PAGE
    page.parent.mkdir()
    links = [f'<a class="reference external" href="https://o.github.io/b/{name}">take {name}</a>.' for name in bundle.FILES]
    page.write_text('\n'.join(links))
    (tmp_path / bundle.NOTEBOOKS).write_bytes(b'0' * 8_700_000)
    for _ in range(2):
        bundle.offer(tmp_path)
        pdf, site, packed = page.read_text().splitlines()
        assert [pdf, site] == links[:2], 'what is not there keeps its published address'
        assert 'href="../notebooks.zip">take notebooks.zip</a> (8.7 MB).' in packed


def test_the_page_names_all_by_their_published_address(site):
    text = (site / bundle.PAGE).read_text('utf-8')
    assert all(re.search(rf'href="(https://[\w.-]+(/[\w.-]+)?|\.\.)/{re.escape(name)}">', text) for name in bundle.FILES)
