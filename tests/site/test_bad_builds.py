"""A build that must not pass does not pass, and says where to look. Each case builds a book of one section."""
import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import ROOT, jupyter_book

GOOD = '✓ dl.chain.sum holds in 9 cases; control fails at x = 1\n'
RAN = '✓ dl.chain.sum: as printed, 9 cases; 3 of 3 spoilt variants rejected\n'
TOC = '''
format: jb-book
root: book/index
parts:
  - caption: Chapters
    numbered: 2
    chapters:
      - file: book/calculus
        sections:
          - file: notebooks/calculus/chain_rule
  - caption: Last
    chapters:
      - file: book/claims
      - file: book/errata
'''


def drawing(width):
    """A figure as it is stored."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 60" width="{width}pt" height="60pt">'
            f'<path d="M0 0L{width} 60" stroke="#0d68ff" /></svg>')


def make(root, *, printed=GOOD, text='Nothing.', needs='nothing.', glossary='', page='', picture=False, notebook=True, ledger=None, addresses=None):
    """Lay out a small book: our settings, extension and ledger, one section. `ledger`: (file, old text, new text), ...; `page`: of the first."""
    (root / 'book').mkdir(parents=True)
    (root / 'nbutils').mkdir()
    if ledger:  # an extension that is no link reads the ledger beside it
        for folder in ('_ext', 'claims'):
            shutil.copytree(ROOT / 'book' / folder, root / 'book' / folder)
        for name in ('__init__.py', 'ledger.py'):
            shutil.copy(ROOT / 'nbutils' / name, root / 'nbutils')
        shutil.copytree(ROOT / 'nbutils' / 'maintain', root / 'nbutils' / 'maintain')
        for name, old, new in ledger:
            path = root / 'book' / 'claims' / name
            path.write_text(path.read_text('utf-8').replace(old, new, 1), 'utf-8')
    (root / 'notebooks' / 'calculus').mkdir(parents=True)
    shutil.copy(ROOT / '_config.yml', root)
    for folder in ('_ext', '_static', 'claims'):
        if not (root / 'book' / folder).exists():
            (root / 'book' / folder).symlink_to(ROOT / 'book' / folder)
    (root / 'book' / 'references.bib').write_text('')
    for name in ('claims.md', 'errata.md'):
        shutil.copy(ROOT / 'book' / name, root / 'book')
    (root / 'book' / 'index.md').write_text(f'# A book\n\n{page}\n')
    (root / 'book' / 'glossary.md').write_text(glossary)
    (root / 'book' / 'calculus.md').write_text('# Calculus\n\n```{section-cards} book/calculus\n```\n')
    (root / '_toc.yml').write_text(TOC)
    if addresses:
        (root / 'book' / 'addresses.txt').write_text(addresses)
    if notebook:
        opening = f'# The chain rule\n\n- **Question.** Why?\n- **You need** {needs}\n\n{text}'
        output = {'output_type': 'stream', 'name': 'stdout', 'text': printed}
        shown = [{'output_type': 'display_data', 'metadata': {}, 'data': {'image/svg+xml': drawing(60)}}] * picture
        cells = [
            {'cell_type': 'markdown', 'id': 'a', 'metadata': {}, 'source': opening},
            {'cell_type': 'code', 'id': 'b', 'metadata': {}, 'execution_count': 1, 'source': 'check()',
             'outputs': [output, *shown] if printed else []},
        ]
        kernel = {'kernelspec': {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}}
        whole = {'cells': cells, 'metadata': kernel, 'nbformat': 4, 'nbformat_minor': 5}
        (root / 'notebooks' / 'calculus' / 'chain_rule.ipynb').write_text(json.dumps(whole))
    return root


FORK = {'BOOK_REPO_URL': 'git@github.com:me/fork.git', 'BOOK_BRANCH': 'draft'}
TERM = '```{glossary}\n.. calculus/chain_rule\n\nflux\n  A flow.\n\n.. calculus/flux\n```\n'
CASES = {  # name -> (what is made, what lines of the output must say; nothing: the build passes)
    'good': ({}, []),
    'fork': ({'environ': FORK, 'printed': RAN}, []),
    'useless address': ({'environ': {'BOOK_REPO_URL': 'nonsense'}}, [['BOOK_REPO_URL=nonsense: expected an address']]),
    'broken references': (
        {'text': 'See {eq}`dl.chain.nowhere`, [there](../lost.md) and {cite}`nobody1900nothing`.'},
        [['chain_rule.ipynb:', word] for word in ('dl.chain.nowhere', 'lost.md', 'nobody1900nothing')],
    ),
    'pictures without words': (
        {'text': '![ ](../../book/_static/page.png)', 'page': 'A\nline.\n\n![](_static/page.png)', 'picture': True},
        [[place, 'a picture without alternative text'] for place in (
            'book/index.md:6', 'chain_rule.ipynb:cell 1', 'chain_rule.ipynb:cell 2',
        )],
    ),
    'wrong claims and addresses': (
        {'printed': '✓ dl.chain.som holds; control fails\n', 'addresses': 'book/index\nbook/gone\n'},
        [
            ['book/addresses.txt:2', 'book/gone was a page'], ['book/addresses.txt', 'book/calculus is a new page'],
            ['chain_rule.ipynb:cell 2', 'dl.chain.som'],
            ['book/claims/dl.yml:', 'dl.chain.sum: no cell of notebooks/calculus/chain_rule.ipynb'],
        ],
    ),
    'doubtful ledger': (
        {'ledger': [('aw.yml', 'Since $J', r'Since $\frac{J'), ('la.yml', '- id: la.dot.geometric', '- id: la.dot.sum')]},
        [['book/claims/aw.yml:', '} is missing'], ['book/claims/la.yml:', 'la.dot.sum is given twice, also in book/claims/la.yml:']],
    ),
    'broken ledger': (
        {'ledger': [('ml.yml', 'verdict: wrong', 'verdict: false')]},
        [['book/claims/ml.yml:', 'against schema.json: False is not'], ['the ledger of claims cannot be read']],
    ),
    'need of a lost page': ({'needs': 'the\n  [core](core.ipynb).'}, [['chain_rule.ipynb:cell 1, line 5', 'core.ipynb, which is no section']]),
    'lost term': ({'glossary': TERM}, [['book/glossary.md:4', 'flux does not occur'], ['book/glossary.md:7', 'calculus/flux is no section']]),
    'missing notebook': ({'notebook': False}, [['notebooks/calculus/chain_rule']]),
}


@pytest.fixture(scope='module')
def builds(tmp_path_factory):
    """Name of the case -> finished build; two at a time."""
    root = tmp_path_factory.mktemp('builds')
    roots = {name: root / name.replace(' ', '_') for name in CASES}

    def build(name):
        options = dict(CASES[name][0])
        environ = {'BOOK_REPO_URL': '', 'BOOK_BRANCH': ''} | options.pop('environ', {})
        return jupyter_book(make(roots[name], **options), environ=environ)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(CASES, pool.map(build, CASES), strict=True)), roots


@pytest.mark.parametrize('name', CASES)
def test_build(builds, name):
    built, expected = builds[0][name], CASES[name][1]
    assert bool(built.returncode) == bool(expected), built.stdout
    for parts in expected:
        assert any(all(part in line for part in parts) for line in built.stdout.splitlines()), built.stdout


def test_the_build_writes_nothing_into_the_sources(builds):
    root = builds[1]['good']
    made = {path.relative_to(root).parts[0] for path in root.rglob('*') if path.is_file()}
    assert made == {'_build', '_config.yml', '_toc.yml', 'book', 'notebooks'}
    assert {path.name for path in (root / 'notebooks' / 'calculus').iterdir()} == {'chain_rule.ipynb'}


@pytest.mark.parametrize('name, said', [
    ('good', ['holds in 9 cases', 'control fails at x = 1']), ('fork', ['holds as printed in 9 cases', '3 of 3 spoilt variants rejected']),
])
def test_the_small_book_says_what_was_verified(builds, name, said):
    for page, links in (('book/claims', 'id="claim-dl.chain.sum"'), ('notebooks/calculus/chain_rule', 'href="../../book/claims.html#claim-dl.chain.sum"')):
        text = (builds[1][name] / '_build' / 'html' / f'{page}.html').read_text('utf-8')
        words = re.sub(r'<[^>]*>', '', text)
        assert links in text and all(part in words for part in said)
    assert 'id="check-dl.chain.sum"' in text


@pytest.mark.parametrize('name, address', [
    ('good', 'deep-learning-verified/book/blob/main'),
    ('fork', 'me/fork/blob/draft'),
])
def test_a_fork_opens_its_own_notebooks(builds, name, address):
    section = (builds[1][name] / '_build' / 'html' / 'notebooks' / 'calculus' / 'chain_rule.html').read_text('utf-8')
    assert f'https://colab.research.google.com/github/{address}/notebooks/calculus/chain_rule.ipynb"' in section
