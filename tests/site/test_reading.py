"""What a reader does with the site: search, switch to dark, open a solution, launch a notebook, follow an old link."""
import json
import os
import re
import subprocess
from urllib.parse import urlsplit

import pytest
import yaml
from booksite.claims.evidence import Book
from booksite.publish import edition, repository
from conftest import ROOT, settle, without_scripts

CONFIG = yaml.safe_load((ROOT / '_config.yml').read_text('utf-8'))
ADDRESSES = repository.addresses(ROOT, CONFIG['repository']['url'], CONFIG['repository']['branch'])
SECTIONS = Book(ROOT).sections
SECTION = min(SECTIONS, key=lambda section: Book(ROOT).notebook(section).stat().st_size)  # the quickest to load


def test_search_opens_from_the_keyboard(page, address):
    page.goto(f'{address}book/index.html')
    page.keyboard.press('Control+k')
    page.wait_for_selector('dialog[open] input:focus')
    page.keyboard.type('convolution')
    page.keyboard.press('Enter')
    page.wait_for_url('**/notebooks/convolution/convolutions.html*', wait_until='commit')


def test_dark_mode_leaves_figures_alone(page, address):
    """Figures are transparent and drawn for both grounds: the theme must not put a box or a filter on them."""
    page.goto(f'{address}notebooks/{SECTION}.html')
    for _ in range(3):
        if page.get_attribute('html', 'data-theme') == 'dark':
            break
        page.click('.theme-switch-button')
    assert page.get_attribute('html', 'data-theme') == 'dark'
    ground = page.evaluate('getComputedStyle(document.body).backgroundColor')
    assert max(map(int, re.findall(r'\d+', ground)[:3])) < 40, ground
    styles = page.eval_on_selector_all('.cell_output :is(img, svg.figure)', """all => Promise.all(all.map(async i => {
        i.loading = 'eager';
        await i.decode?.();
        const style = getComputedStyle(i);
        return [style.filter, style.backgroundColor, i.naturalWidth !== 0 && i.getBoundingClientRect().width > 300];
    }))""")
    assert styles and all(style == ['none', 'rgba(0, 0, 0, 0)', True] for style in styles)
    page.reload()
    assert page.get_attribute('html', 'data-theme') == 'dark', 'the choice is remembered'


@pytest.mark.parametrize('section', SECTIONS)
def test_launch_links(site, parsed, section):
    """Colab, JupyterLab on Binder, and the very notebook for download."""
    owner, name = ADDRESSES.repository.rsplit('/', 2)[1:]
    path = f'notebooks/{section}.ipynb'
    page = parsed(f'notebooks/{section}')
    links = {link.get_text(strip=True): link['href'] for link in page.select('.article-header-buttons a')}
    assert links['Colab'] == f'https://colab.research.google.com/github/{owner}/{name}/blob/{ADDRESSES.branch}/{path}'
    assert links['JupyterLab on Binder'] == f'https://mybinder.org/v2/gh/{owner}/{name}/{ADDRESSES.branch}?urlpath=lab/tree/{path}'
    download = (site / 'notebooks' / section).parent / links['Notebook (.ipynb)']
    assert json.loads(download.read_text('utf-8')) == json.loads((ROOT / path).read_text('utf-8'))


def test_launch_buttons_open(page, address):
    page.goto(f'{address}notebooks/{SECTION}.html')
    page.click('.dropdown-launch-buttons button')
    page.locator('.dropdown-launch-buttons').get_by_text('Colab').wait_for()


@pytest.mark.parametrize('lost', ['lost.html', 'book/lost.html', 'notebooks/linear_algebra/deep/lost.html'])
def test_a_lost_reader_is_helped_at_any_depth(page, address, lost):
    response = page.goto(address + lost)
    assert response.status == 404 and 'no page at this address' in page.inner_text('h1')
    page.click('text=first page')
    page.wait_for_url(f'{address}book/index.html', wait_until='commit')


def test_a_misspelt_address_brings_up_the_page_that_was_meant(page, address):
    page.goto(f'{address}linear-algebra/Norm')
    assert page.locator('#near a').first.get_attribute('href') == 'notebooks/linear_algebra/norms.html'
    page.goto(f'{address}xyz')
    assert not page.locator('#near').is_visible()


def test_a_lost_reader_is_helped_on_a_project_page(page, site):
    """GitHub Pages serves a project one folder down: links of 404.html must stay in that folder."""
    published = urlsplit(ADDRESSES.site)
    host, name = f'https://{published.netloc}', published.path.strip('/')

    def serve(route):
        path = site / urlsplit(route.request.url).path.removeprefix(f'/{name}/')
        route.fulfill(path=path if path.is_file() else site / '404.html', status=200 if path.is_file() else 404)

    page.route(f'{host}/**', serve)
    page.goto(f'{host}/{name}/notebooks/lost.html')
    page.click('text=first page')
    page.wait_for_url(f'{host}/{name}/book/index.html', wait_until='commit')


def test_the_root_is_the_first_page(page, address):
    page.goto(address)
    assert page.url == address and page.locator('article h1').inner_text().startswith('Deep Learning, Verified')
    page.locator('main a.sd-btn').click()
    page.wait_for_url(f'{address}notebooks/{next(iter(SECTIONS))}.html', wait_until='commit')


@pytest.mark.parametrize('old, new', [
    ('claims.html', 'book/claims.html'),
    ('errata.html', 'book/errata.html'),
])
def test_redirects(page, address, old, new):
    page.goto(address + old, wait_until='commit')
    page.wait_for_url(address + new, wait_until='commit')


def test_the_landing_page_shows_a_check_and_a_figure(page, address):
    page.goto(f'{address}book/index.html')
    settle(page)
    assert page.locator('main ul.checks li').count() == 2
    start = page.locator('main a.sd-btn')
    assert start.inner_text() == 'Start with the first section' and start.get_attribute('href').endswith(f'{next(iter(SECTIONS))}.html')
    figure = page.locator('.excerpt-figure :is(img, svg.figure)')
    assert figure.get_attribute('alt') or figure.get_attribute('aria-label')
    assert figure.bounding_box()['width'] > 300
    assert page.locator('.section-cards .sd-card').count() == len(SECTIONS)


def test_how_to_cite_agrees_with_what_is_cited(parsed):
    about = yaml.safe_load((ROOT / 'CITATION.cff').read_text('utf-8'))
    text = ' '.join(parsed('book/index').article.get_text().split())
    for said in (f'{{{about["title"]}}}', about['authors'][0]['name'], f'{{{about["version"]}}}', about['repository-code']):
        assert said in text, said
    assert re.search(rf'Version {re.escape(about["version"])}(, not yet released, as)? of \d{{1,2}} [A-Z][a-z]+ 20\d\d, CITATION', text)


def test_the_date_of_an_edition_is_not_the_clock(tmp_path):
    """Of the release; else of the commit; in an archive what CITATION.cff says, also where another repository lies around it."""
    def git(*arguments):
        environ = {**os.environ, **{f'GIT_{who}_DATE': '2021-02-03T12:00:00Z' for who in ('AUTHOR', 'COMMITTER')}}
        subprocess.run(['git', '-c', 'user.name=A', '-c', 'user.email=a@b', *arguments], cwd=tmp_path, env=environ, check=True, capture_output=True)

    book = tmp_path / 'book'
    book.mkdir()
    (book / 'CITATION.cff').write_text('version: 1.2.0\ndate-released: 2020-05-06\n')
    (book / 'CHANGELOG.md').write_text('## [1.2.0] - Unreleased\n## [1.1.0] - 2019-01-01\n')
    git('init')
    git('add', '.')
    git('commit', '-m', 'One')
    assert edition.said(book) == '1.2.0, not yet released, as of 6 May 2020'
    (tmp_path / '.git').rename(book / '.git')
    assert edition.said(book) == '1.2.0, not yet released, as of 3 February 2021'
    (book / 'CHANGELOG.md').write_text('## [1.2.0] - 2022-12-31\n')
    assert edition.said(book) == '1.2.0 of 31 December 2022'


def test_what_was_read_is_marked_and_the_first_page_leads_on(page, address):
    """In this browser alone: a section is read when most of its parts have been on the screen, at one visit or at two.

    A link to the summary has shown nothing of it, nor has a scroll that flies past.
    """
    read = '.bd-sidebar-primary a.read'
    page.goto(address)
    assert not page.locator('a.continue').count() and not page.locator(read).count()
    page.goto(f'{address}notebooks/{SECTION}.html#summary')
    settle(page)
    headings = page.locator('article h2').all()
    page.evaluate("""async () => {
        for (const heading of [...document.querySelectorAll('article h2'), document.getElementById('summary')]) {
            heading.scrollIntoView({behavior: 'instant'});
            await new Promise(shown => setTimeout(shown, 60));
        }
    }""")
    page.wait_for_timeout(900)
    assert not page.locator(read).count()
    for shown in (headings[:1], headings[1:]):
        page.goto(f'{address}notebooks/{SECTION}.html')
        settle(page)
        assert not page.locator(read).count()
        for heading in shown:
            heading.scroll_into_view_if_needed()
            page.wait_for_timeout(900)
    page.locator(read).wait_for(state='attached')
    page.goto(address)
    on = page.locator('a.continue')
    assert on.inner_text().startswith('Continue with') and on.get_attribute('href').endswith(f'notebooks/{SECTION}.html')
    page.goto(f'{address}notebooks/linear_algebra/tensors.html')
    assert page.locator(read).count() == 1


def test_without_scripts_a_page_has_its_colours_and_no_dead_box(page, address):
    """Those of the light page: of code, of the bar at the top, of the button that starts; the search says what leads on instead."""
    colours = """all => [...new Set(all.map(e => [e.className.replace(' noprint', ''), getComputedStyle(e).color, getComputedStyle(e).backgroundColor].join()))].sort()"""

    def seen():
        page.goto(f'{address}notebooks/{SECTION}.html')
        found = [page.eval_on_selector_all(part, colours) for part in ('div.cell_input pre span[class]', '.bd-header-article', 'article p')]
        page.goto(address)
        return [*found, page.eval_on_selector_all('article a.sd-btn', colours)]

    usual = seen()
    without_scripts(page)
    plain = seen()
    assert plain == usual and len(plain[0]) > 4
    assert 'rgba(0, 0, 0, 0)' not in plain[1][0]
    page.goto(f'{address}search.html')
    assert not page.locator('input:visible').count() and page.locator('main noscript p').is_visible()


def test_each_work_leads_back_to_where_it_is_cited(parsed):
    """To the place itself, in each section that cites it, in the order of the book."""
    places = {}
    for section in SECTIONS:
        for link in parsed(f'notebooks/{section}').select('a[href*="book/bibliography.html#"]'):
            places.setdefault(link['href'].split('#')[1], {}).setdefault(section, None)
    works = parsed('book/bibliography').select('div.citation')
    assert len(works) > 300
    for work in works:
        links = [urlsplit(link['href']) for link in work.select('.cited-in a')]
        assert links, f'{work.get_text()} is cited nowhere: take it out of book/references.bib'
        back = [link.path.removeprefix('../notebooks/').removesuffix('.html') for link in links if '/notebooks/' in link.path]
        assert back == list(places.get(work['id'], {})), work.get_text()
        for link in links:
            assert parsed(link.path.removeprefix('../').removesuffix('.html') if '/' in link.path else f'book/{link.path[:-5]}').find(id=link.fragment)


@pytest.mark.parametrize('section', SECTIONS)
def test_an_opening_says_how_long_it_takes_to_read(parsed, section):
    page = parsed(f'notebooks/{section}')
    foot = page.select_one('article section > ul + p.opening-foot')
    minutes, exercises = re.match(r'About (\d+) minutes to read, and (\d+) exercises', foot.get_text()).groups()
    assert re.search(r'Runs in \d+ seconds?\b', foot.get_text())
    assert int(minutes) % 5 == 0 and int(exercises) == len(page.select('div.exercise'))
    words = len(re.sub(r'\s+', ' ', ' '.join(p.get_text() for p in page.select('article p'))).split())  # folded ones, too
    assert words / 240 / 3 < int(minutes) < words / 240 * 5


@pytest.mark.parametrize('section', SECTIONS)
def test_folded_code_says_what_it_is(parsed, section):
    page = parsed(f'notebooks/{section}')
    folds = page.select('div.cell.tag_hide-input > details.hide')
    names = [fold.select_one('summary p.collapsed').get_text() for fold in folds]
    assert names[0] == 'Imports' and names.count('Imports') == 1 and folds[0].parent.find_previous_sibling()['class'] == ['opening-foot']
    assert set(names) <= {'Imports', 'Code of this figure', 'What checks your answer', 'Code'}
    for fold, name in zip(folds, names, strict=True):
        assert (name == 'Code of this figure') == bool(fold.parent.select('figure'))
        assert (name == 'What checks your answer') == bool('grade(' in fold.get_text() and not fold.parent.select('figure'))


def test_the_checks_of_a_part_are_never_none(parsed):
    for section in SECTIONS:
        said = [summary.get_text() for summary in parsed(f'notebooks/{section}').select('details.part-checks > summary')]
        assert not [words for words in said if words.startswith('0 ')], section
