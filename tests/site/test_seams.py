"""What the site takes from other packages without a promise of theirs: listed in booksite/__init__.py, tried here."""
import inspect
import posixpath

import pytest
import yaml
from booksite.page import page_scripts, repairs
from bs4 import BeautifulSoup
from conftest import ROOT
from docutils.writers import _html_base
from myst_nb import sphinx_ as myst_nb
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx_book_theme.header_buttons import launch
from sphinx_exercise import directive as exercise
from sphinx_proof import directive as proof

SECTION = 'notebooks/calculus/chain_rule'


def test_sphinx_builders_have_a_search_that_can_be_turned_off():
    assert StandaloneHTMLBuilder.search is True


@pytest.mark.parametrize('module, words', [
    (myst_nb, '<summary aria-label="Toggle hidden content">'), (proof, 'ids=[realtyp]'), (proof, '"proof-content"'),
    (exercise, '"exercise-content"'), (exercise, '"solution-content"'),
    (_html_base, '<div role="list" class="citation-list">'), (_html_base, 'role="doc-biblioentry"'),
    (launch, 'header_buttons'), (launch, '"text": "Binder"'), (launch, '"text": "Colab"'),
])
def test_what_is_repaired_is_still_written(module, words):
    assert words in inspect.getsource(module), 'a repair has become needless, or misses what it should repair'


def test_nothing_is_left_that_should_be_repaired(site):
    wanted = [written for written, mended in repairs.REPAIRS.items() if written not in mended]
    for path in site.glob('*/**/*.html'):
        text = path.read_text('utf-8')
        assert not [words for words in wanted if words in text], path


def test_late_style_sheets_have_no_check_sum_and_all_others_have_one(site):
    page = BeautifulSoup((site / f'{SECTION}.html').read_text('utf-8'), 'html.parser')
    late = {}
    for style in page.select('link[rel=stylesheet][href*=_static]'):
        name = style['href'].split('_static/')[1]
        late[name.split('?')[0]] = '?' not in name
    assert sorted(name for name, is_late in late.items() if is_late) == sorted(
        name for name in late if name.startswith(page_scripts.LATE))
    assert len([name for name, is_late in late.items() if is_late]) == len(page_scripts.LATE)


def test_the_contents_beside_a_page_are_those_of_the_book(site):
    """In the order of _toc.yml, with one entry marked and its chapter open."""
    toc = yaml.safe_load((ROOT / '_toc.yml').read_text('utf-8'))
    wanted = [page['file'] for part in toc['parts'] for chapter in part['chapters']
              for page in (chapter, *chapter.get('sections', ()))]
    page = BeautifulSoup((site / f'{SECTION}.html').read_text('utf-8'), 'html.parser').select_one('.bd-toc-item')
    links = page.select('a')
    assert len(links) == len(wanted)
    for link, name in zip(links, wanted, strict=True):
        leads_to = posixpath.normpath(posixpath.join(posixpath.dirname(SECTION), link['href']))
        assert link['href'] == '#' if name == SECTION else leads_to == f'{name}.html'
    heading = BeautifulSoup((site / f'{SECTION}.html').read_text('utf-8'), 'html.parser').article.h1.get_text().strip('#')
    assert [link.get_text() for link in page.select('a.current')] == [links[wanted.index(SECTION)].get_text()] == [heading]
    assert len(page.select('details[open]')) == 1 and page.select('details[open] a.current')
    assert all(arrow['aria-label'].startswith('Sections of ') for arrow in page.select('summary'))
