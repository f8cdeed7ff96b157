"""The parts of the Sphinx extension that need no Sphinx: reading checks, cutting formulas."""
import json

import pytest
from booksite.claims import formula, ledger_pages
from booksite.claims.evidence import Book, Line, read_line
from booksite.page import outputs
from conftest import ROOT

from nbutils import ledger
from nbutils.cases import vectors
from nbutils.checks import erratum, holds, verify


@pytest.mark.parametrize('text, line', [
    (
        '✓ dl.norms.homog holds in 200 cases; would notice: says no (a = -1, x = [0, 1])',
        Line('holds', 'dl.norms.homog', 200, 'a = -1, x = [0, 1]', 'says no'),
    ),
    ('✓ dl.norms.homog holds in 1 case; would notice: says no (n = 2)', Line('holds', 'dl.norms.homog', 1, 'n = 2', 'says no')),
    ('✓ dl.norms.homog holds; would notice: says no', Line('holds', 'dl.norms.homog', slip='says no')),
    ('✗ dl.norms.lp as printed fails at x = [0, -1]', Line('printed', 'dl.norms.lp', None, 'x = [0, -1]')),
    ('✗ dl.norms.lp as printed fails', Line('printed', 'dl.norms.lp')),
    ('✓ dl.norms.lp as corrected holds in 200 cases', Line('corrected', 'dl.norms.lp', 200)),
    ('✓ sums add: holds in 9 cases; would notice: says no (n = 1)', Line('verified', 'sums add', 9, 'n = 1', 'says no')),
    ('✓ this holds for sums: of any kind: holds; would notice: says no', Line('verified', 'this holds for sums: of any kind', slip='says no')),
    (
        '✓ dl.norms.homog holds in 9 cases; would notice: drops the sign (of a) (a = -1, x = [0, 1])',
        Line('holds', 'dl.norms.homog', 9, 'a = -1, x = [0, 1]', 'drops the sign (of a)'),
    ),
    ('✓ sums add: holds; would notice: adds one', Line('verified', 'sums add', slip='adds one')),
    ('✓ dl.norms.lp as corrected holds; would notice: adds one (n = 2)', Line('corrected', 'dl.norms.lp', None, 'n = 2', 'adds one')),
    (
        r'✓ dl.norms.l2: as printed, 30 cases; 4 of 4 spoilt variants rejected; would notice: sign flipped: f: x \mapsto -x',
        Line('holds', 'dl.norms.l2', 30, slip='sign flipped', spoilt='4 of 4', latex=r'f: x \mapsto -x'),
    ),
    ('✗ dl.norms.lp as printed in the notes fails at x = [1, 2]', Line('printed', 'dl.norms.lp', at='x = [1, 2]')),
    (
        '✗ dl.norms.lp as printed in the notes fails: (2,) + (3,) do not fit',
        Line('printed', 'dl.norms.lp', reason='(2,) + (3,) do not fit'),
    ),
    (
        '✓ dl.norms.lp as corrected holds as printed, 1 case; 3 of 3 spoilt variants rejected; would notice: sign flipped: -x',
        Line('corrected', 'dl.norms.lp', 1, slip='sign flipped', spoilt='3 of 3', latex='-x'),
    ),
    ('loss 0.12', None),
    ('✓ done', None),
])
def test_check_lines_are_read(text, line):
    assert read_line(text) == line


@pytest.mark.parametrize('text', [
    '✓ dl.norms.homog seems fine', '✓ sums add: holds in 9 cases', '✗ sums add: fails at n = 1', '✓ dl.norms.l2: as printed, 3 cases',
    '✓ dl.norms.l2: as printed, 3 cases; 4 of 4 spoilt variants rejected',
])
def test_a_check_line_of_another_form_is_an_error(text):
    with pytest.raises(ValueError, match=text):
        read_line(text)


def test_what_the_checks_print_is_what_is_read(capsys):
    """The two ends of the chain: nbutils.checks prints, the site reads."""
    holds('dl.norms.homog', lambda n: True, slip=('says no', lambda n: n != 2), n=[1, 2])
    holds('dl.norms.homog', lambda: True, slip=('says no', lambda: False))
    holds('la.cross.binet-cauchy', a=vectors(3), b=vectors(3), c=vectors(3), d=vectors(3), tries=30)
    erratum('dl.norms.lp', printed=lambda n: n != 2, corrected=lambda n: True, n=[1, 2])
    erratum('dl.norms.lp', x=vectors(3), p=[1, 2, 3, 7], tries=30)
    verify('sums add', lambda n: True, slip=('says no', lambda n: n != 2), n=[1, 2])
    verify('sums add again', lambda n: True, slip=('adds one', lambda n: n != 2), n=[1, 2])
    lines = [read_line(line) for line in capsys.readouterr().out.splitlines()]
    assert [line and line.kind for line in lines] == [
        'holds', 'holds', 'holds', 'printed', 'corrected', 'printed', 'corrected', 'verified', 'verified']
    assert [bool(line.at) for line in lines] == [True, False, False, True, False, True, False, True, True]
    assert [bool(line.cases) for line in lines] == [True, False, True, False, True, False, True, True, True]
    assert [bool(line.spoilt) for line in lines] == [False, False, True, False, False, False, True, False, False]
    assert [bool(line.latex) for line in lines] == [bool(line.spoilt) for line in lines]
    assert lines[-1].slip == 'adds one'


@pytest.fixture
def small(tmp_path):
    """A function that makes a book of one section with one claim, dl.chain.sum, whose cell prints the given lines."""
    def make(*lines):
        (tmp_path / '_toc.yml').write_text(
            'parts: [{chapters: [{file: book/calculus, sections: [{file: notebooks/calculus/chain_rule}]}]}]', 'utf-8')
        output = {'output_type': 'stream', 'name': 'stdout', 'text': '\n'.join(lines)}
        cell = {'cell_type': 'code', 'source': [], 'outputs': [output]}
        (tmp_path / 'notebooks' / 'calculus').mkdir(parents=True)
        (tmp_path / 'notebooks' / 'calculus' / 'chain_rule.ipynb').write_text(json.dumps({'cells': [cell]}), 'utf-8')
        return Book(tmp_path)
    return make


GOOD = '✓ dl.chain.sum holds in 9 cases; would notice: says no (x = 1)'


def test_a_checked_claim_counts_as_verified(small):
    book = small('noise', GOOD)
    check = book.checks['dl.chain.sum']
    assert (check.holds, check.fails, check.cell) == (read_line(GOOD), None, 1) and not book.problems
    counted = ledger_pages.count(book)
    assert (counted['holds'], counted['wrong'], counted['total']) == (1, 0, 674)
    assert counted['uncheckable'] + counted['to come'] == 673


@pytest.mark.parametrize('lines, place, words', [
    ([], 'book/claims/dl.yml:', 'dl.chain.sum: no cell of notebooks/calculus/chain_rule.ipynb shows a check of it'),
    ([GOOD, GOOD], 'chain_rule.ipynb:cell 1', 'checked twice'),
    ([GOOD, '✓ dl.chain.som holds; would notice: says no'], 'chain_rule.ipynb:cell 1', 'dl.chain.som, which is no claim'),
    ([GOOD, '✓ dl.norms.homog holds; would notice: says no'], 'chain_rule.ipynb:cell 1', 'belongs to linear_algebra/norms'),
    ([GOOD, '✓ dl.chain.sum probably holds'], 'chain_rule.ipynb:cell 1', 'unknown form'),
    (
        ['✗ dl.chain.sum as printed fails', '✓ dl.chain.sum as corrected holds'],
        'chain_rule.ipynb:cell 1', 'refutes dl.chain.sum, which is',
    ),
    (['✗ dl.chain.sum as printed fails'], 'book/claims/dl.yml:', 'no cell'),
    ([GOOD, '✓ sums add: holds'], 'chain_rule.ipynb:cell 1', 'unknown form'),
    ([GOOD, '✓ a: holds; would notice: says no', '✓ a: holds; would notice: says no'], 'chain_rule.ipynb:cell 1', 'verified twice: a'),
])
def test_contradictions_are_named(small, lines, place, words):
    book = small(*lines)
    assert book.checks is not None and book.verified is not None
    [(where, what)] = book.problems
    assert place in where and words in what


def test_every_claim_of_the_book_is_accounted_for():
    book = Book(ROOT)
    counted = ledger_pages.count(book)
    assert counted.pop('total') == len(ledger.claims()) == sum(counted.values())
    claims = [claim for section in book.sections for claim in book.claims.get(section, ())]
    assert not [claim.id for claim in claims if book.state(claim) == 'to come']


@pytest.mark.parametrize('latex, pieces', [
    (r'a = b', [('math', 'a = b')]),
    (r'\text{the loss } L \text{ is convex}', [('text', 'the loss '), ('math', 'L'), ('text', ' is convex')]),
    (r'x_{\text{old}} + \frac{\text{rise}}{2}', [('math', r'x_{\text{old}} + \frac{\text{rise}}{2}')]),
    (r'x_\text{old}', [('math', r'x_\text{old}')]),
    (r'\begin{cases} \text{a} & x \end{cases}', [('math', r'\begin{cases} \text{a} & x \end{cases}')]),
    (
        r'\left( \text{a} \right) \text{ and } \leftarrow',
        [('math', r'\left( \text{a} \right)'), ('text', ' and '), ('math', r'\leftarrow')],
    ),
    (r'\texttt{a\_b} \text{, b}', [('code', r'a\_b'), ('text', ', b')]),
    (r'a \ge 0,\ b', [('math', r'a \ge 0,'), ('space', ' '), ('math', 'b')]),
    (r'\{x : \text{prime}\}', [('math', r'\{x :'), ('text', 'prime'), ('math', r'\}')]),
])
def test_formulas_are_cut_between_words_and_mathematics(latex, pieces):
    assert formula.pieces(latex) == pieces


@pytest.mark.parametrize('latex, parts', [
    (r'f(x = y) \le \max(a, b) = c', [r'f(x = y)', r'\le \max(a, b)', '= c']),
    (r'\sum_{i=1}^n x_i \in [0, 1], n := 2', [r'\sum_{i=1}^n x_i', r'\in [0, 1],', 'n', ':= 2']),
    (r'\left( a = b \right) \leftarrow \infty', [r'\left( a = b \right) \leftarrow \infty']),
    (r'A \xrightarrow{d} B, \; C', ['A', r'\xrightarrow{d} B,', r'\; C']),
])
def test_long_formulas_may_break_before_relations(latex, parts):
    assert formula.parts(latex) == parts


def test_a_line_does_not_begin_with_a_comma():
    made = formula.inline(r'\text{of one type}, \; x = \mathbf{y}')
    assert [node.astext() for node in made] == ['of one type', ', ', r'x = \mathbf{y}']


def test_a_long_chain_is_displayed_in_lines():
    long = 'a = ' + ' + '.join(['b'] * 40) + ' = c'
    assert formula.in_lines(long).count(r'\\') == 1 and formula.in_lines(long).count('&=') == 2
    assert formula.in_lines('a = b = c') == 'a = b = c'


def test_cutting_loses_no_brace():
    for claim in ledger.claims().values():
        for latex in filter(None, (claim.notes, claim.correct)):
            for kind, piece in formula.pieces(latex):
                bare = piece.replace(r'\{', '').replace(r'\}', '')
                assert kind != 'math' or bare.count('{') == bare.count('}'), claim.id


@pytest.mark.parametrize('text, mark', [
    ('step       x_1\n   0   -10.000', ' class="columns" style="--letters: 14"'),
    ('a  b &lt; <span class="x">c</span>', ' class="columns" style="--letters: 8"'),
    ('a  b' + 60 * '-', ' class="columns"'),  # wider than smaller letters could show
    ('a sentence, which wraps', ''),
])
def test_what_a_cell_printed_in_columns_is_marked(text, mark):
    body = '<div class="output stream highlight-x"><div class="highlight"><pre{}>' + text + '\n</pre></div></div>'
    context = {'body': body.format('')}
    outputs.keep_columns(None, '', '', context, None)
    assert context['body'] == body.format(mark)
