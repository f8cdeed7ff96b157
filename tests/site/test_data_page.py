"""The page *Data* in a small book: it shows each set, its source and who uses it, and names a set that there is not."""
import shutil

import pytest
import yaml
from bs4 import BeautifulSoup
from conftest import ROOT
from small_book import GOOD, TOC, build, code, markdown, printed, write
from test_bad_builds import make

FACTS = yaml.safe_load((ROOT / 'book' / 'data.yml').read_text('utf-8'))


def small(root, page=None):
    make(root)
    for name in ('data.md', 'data.yml', 'references.bib'):
        shutil.copy(ROOT / 'book' / name, root / 'book')
    (root / 'book' / 'data').symlink_to(ROOT / 'book' / 'data')
    (root / 'nbutils' / 'data').mkdir(parents=True)
    shutil.copy(ROOT / 'nbutils' / 'data' / 'SOURCES.yml', root / 'nbutils' / 'data')
    (root / '_toc.yml').write_text(TOC + '      - file: book/data\n      - file: book/bibliography\n')
    if page:
        (root / 'book' / 'data.md').write_text(page)
    write(root / 'notebooks' / 'calculus' / 'chain_rule.ipynb',
          markdown('# The chain rule\n\n- **Question.** Why?\n- **You need** nothing.\n\nNothing.'),
          code('from nbutils.data import diabetes, mnist_1d\ncheck()', printed(GOOD)))
    return root


@pytest.fixture(scope='module')
def page(tmp_path_factory):
    root = small(tmp_path_factory.mktemp('book'))
    status, said = build(root)
    assert not status, said
    return BeautifulSoup((root / '_build' / 'html' / 'book' / 'data.html').read_text('utf-8'), 'html.parser')


def test_each_set_is_shown_with_its_call_and_its_source(page):
    text = ' '.join(page.find('article').get_text().split())
    for name, facts in FACTS.items():
        assert f'from nbutils.data import {name}' in text and facts['call'] in text
    sources = yaml.safe_load((ROOT / 'nbutils' / 'data' / 'SOURCES.yml').read_text('utf-8'))
    for source in sources.values():
        assert source['archive'] in text and source['licence'] in text and source['left out'] in text


def test_rows_and_reference_lines_are_tables(page):
    heads = [[cell.get_text() for cell in table.find_all('th')] for table in page.find_all('table')]
    for facts in FACTS.values():
        assert 'rows' not in facts or facts['rows'][0] in heads
    assert heads.count(['Reference line', 'Value']) == sum('baselines' in facts for facts in FACTS.values())


def test_sections_that_use_a_set_are_linked(page):
    users = {link.find_parent('section').find(['h2', 'h3']).get_text().rstrip('#') for link in page.select('article a[href$="chain_rule.html"]')
             if link.find_parent('p') and 'Used in' in link.find_parent('p').get_text()}
    assert users == {'Diabetes', 'Signals in the shape of digits'}


def test_pictures_stand_in_the_page(page):
    assert len(page.select('article svg.figure')) == len(list((ROOT / 'book' / 'data').iterdir()))


def test_a_set_that_there_is_not_stops_the_build(tmp_path):
    status, said = build(small(tmp_path / 'book', '# Data\n\n```{data-set} nothing\n```\n'))
    assert status and 'book/data.yml has no data set nothing: make data' in said
