"""A build that must not pass does not pass, and says where to look. Each case builds a book of one section."""
import re
import shutil

import pytest
from conftest import ROOT
from small_book import GOOD, TOC, build, code, markdown, printed, write

RAN = '✓ dl.chain.sum: as printed, 9 cases; 3 of 3 spoilt variants rejected; would notice: sign flipped: a = b - c\n'


def make(root, *, said=GOOD, text='Nothing.', needs='nothing.', glossary='', notebook=True, addresses=None):
    """Lay out a small book: our settings, extension and ledger, one section."""
    (root / 'book').mkdir(parents=True)
    shutil.copy(ROOT / '_config.yml', root)
    for name in ('_ext', '_static', '_latex', 'claims'):
        (root / 'book' / name).symlink_to(ROOT / 'book' / name)
    for name in ('claims.md', 'errata.md', 'bibliography.md', 'printed.yml'):
        shutil.copy(ROOT / 'book' / name, root / 'book')
    pages = {'index.md': '# A book\n', 'glossary.md': glossary, 'references.bib': '', 'addresses.txt': addresses,
             'calculus.md': '# Calculus\n\n```{section-cards} book/calculus\n```\n', '../_toc.yml': TOC}
    for name, content in pages.items():
        if content is not None:
            (root / 'book' / name).write_text(content)
    if notebook:
        opening = f'# The chain rule\n\n- **Question.** Why?\n- **You need** {needs}\n\n{text}'
        write(root / 'notebooks' / 'calculus' / 'chain_rule.ipynb', markdown(opening), code('check()', printed(said)))
    return root


FORK = {'BOOK_REPO_URL': 'git@github.com:me/fork.git', 'BOOK_BRANCH': 'draft'}
CASES = {  # name -> (what is made, what lines of the output must say; nothing: the build passes)
    'good': ({}, []),
    'fork': ({'environ': FORK, 'said': RAN}, []),
    'useless address': ({'environ': {'BOOK_REPO_URL': 'nonsense'}}, [['BOOK_REPO_URL=nonsense: expected an address']]),
    'broken references': (
        {'text': 'See {eq}`dl.chain.nowhere`, [there](../lost.md) and {cite}`nobody1900nothing`: $\\nosuch{x}$, $\\frac{1$.'},
        [['chain_rule.ipynb:', word] for word in ('dl.chain.nowhere', 'lost.md', 'nobody1900nothing')]
        + [['LaTeX that MathJax does not understand', word] for word in ('nosuch', 'frac')],
    ),
    'contradictions': (
        {'said': '✓ dl.chain.som holds; would notice: says no\n', 'addresses': 'book/index\nbook/gone\n',
         'needs': 'the\n  [core](core.ipynb).',
         'glossary': '```{glossary}\n.. calculus/chain_rule\n\nflux\n  A flow.\n\n.. calculus/flux\n```\n'},
        [
            ['book/addresses.txt:2', 'book/gone was a page'], ['book/addresses.txt', 'book/calculus is a new page'],
            ['chain_rule.ipynb:cell 2', 'dl.chain.som'],
            ['book/claims/dl.yml:', 'dl.chain.sum: no cell of notebooks/calculus/chain_rule.ipynb'],
            ['chain_rule.ipynb:cell 1, line 5', 'core.ipynb, which is no section'],
            ['book/glossary.md:4', 'flux does not occur'], ['book/glossary.md:7', 'calculus/flux is no section'],
        ],
    ),
    'missing notebook': ({'notebook': False}, [['notebooks/calculus/chain_rule']]),
}


@pytest.fixture(scope='module')
def builds(tmp_path_factory):
    """Name of the case -> exit status and what was said; name of the case -> its folder."""
    root, ended = tmp_path_factory.mktemp('builds'), {}
    roots = {name: root / name.replace(' ', '_') for name in CASES}
    for name, (options, _) in CASES.items():
        made = make(roots[name], **{key: value for key, value in options.items() if key != 'environ'})
        ended[name] = build(made, **options.get('environ', {}))
    return ended, roots


@pytest.mark.parametrize('name', CASES)
def test_build(builds, name):
    (status, said), expected = builds[0][name], CASES[name][1]
    assert bool(status) == bool(expected), said
    for parts in expected:
        assert any(all(part in line for part in parts) for line in said.splitlines()), said


def test_the_build_writes_nothing_into_the_sources(builds):
    root = builds[1]['good']
    made = {path.relative_to(root).parts[0] for path in root.rglob('*') if path.is_file()}
    assert made == {'_build', '_config.yml', '_toc.yml', 'book', 'notebooks'}
    assert {path.name for path in (root / 'notebooks' / 'calculus').iterdir()} == {'chain_rule.ipynb'}


@pytest.mark.parametrize('name, said', [
    ('good', ['holds in 9 cases', 'would notice: says no, at x = 1']), ('fork', ['holds as displayed in 9 cases', '3 of 3 spoilt variants rejected; would notice: sign flipped: ']),
])
def test_the_small_book_says_what_was_verified(builds, name, said):
    for page, links in (('book/claims', 'id="claim-dl.chain.sum"'), ('notebooks/calculus/chain_rule', 'href="../../book/claims.html#claim-dl.chain.sum"')):
        text = (builds[1][name] / '_build' / 'html' / f'{page}.html').read_text('utf-8')
        words = re.sub(r'<[^>]*>', '', text)
        assert links in text and all(part in words for part in said)
    assert 'id="check-dl.chain.sum"' in text and '1 statement of this section is checked by a program: what was tried.' in words


@pytest.mark.parametrize('page', ['book/claims', 'notebooks/calculus/chain_rule'])
def test_a_spoilt_variant_is_shown_as_a_formula(builds, page):
    text = (builds[1]['fork'] / '_build' / 'html' / f'{page}.html').read_text('utf-8')
    assert re.search(r'sign flipped: <span class="math[^>]*><mjx-container', text)


@pytest.mark.parametrize('name, address', [
    ('good', 'deep-learning-verified/book/blob/main'),
    ('fork', 'me/fork/blob/draft'),
])
def test_a_fork_opens_its_own_notebooks(builds, name, address):
    section = (builds[1][name] / '_build' / 'html' / 'notebooks' / 'calculus' / 'chain_rule.html').read_text('utf-8')
    assert f'https://colab.research.google.com/github/{address}/notebooks/calculus/chain_rule.ipynb"' in section
