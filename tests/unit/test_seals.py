"""What breaks a seal, and what does not."""
import re
import subprocess

import pytest

from nbutils import ledger
from nbutils.maintain import notebooks, seals, sections

PAGE = '''# %% [markdown]
# # A title

# %% tags=["remove-cell"]
version = '0.2.0'

# %%
import numpy as np
from nbutils.checks import close, holds, verify

def doubled(x):
    """Twice a number."""
    return scale(x)  # looks easy

# %% [markdown]
# ## First
#
# Words that nobody seals.
#
# ````{prf:theorem} Doubling
# :label: thm-double
# For every $x \\ge 0$,
# ```{math}
# :label: dl.x.y
# 2x \\ge x .
# ```
# ````
#
# A sum of two
# equal numbers is even.
#
# More words.

# %%
def scale(x):
    return 2 * x

k = 5
other = scale(3)
other += 1
start = np.arange(4)
start[0] = 7
total = 0
for k in range(3):
    total += k

# %%
holds('dl.x.y', lambda x: doubled(x) >= x, slip=('adds the half', lambda x: x - x / 2 >= x), x=[0, 1])
holds('dl.x.words', lambda x: close(x % 2, 0), slip=('says no', lambda x: close(x, 1)), x=start)
verify('three numbers add up to 3', lambda: close(total, 3, atol=1e-9), slip=('says no', lambda: close(total, 4)))

# %% [markdown]
# ## Second
#
# ```{prf:definition} Even
# :label: def-even
# A number is *even* if its half is whole.
# ```

# %%
assert scale(2) == 4

# %% [markdown]
# ## Third: no theorem

# %%
verify('zero', lambda: scale(0) == 0, slip=('says no', lambda: scale(1) == 0))
large = scale(50)
print('large:', large)
print('more than 99:', large > 99, other < 9)
'''
CLAIMS = {
    'dl.x.y': ledger.Claim('dl.x.y', 'dl.x', 'chapter/section', '2x > x', 'wrong', '2x \\ge x', 'Zero is a number.'),
    'dl.x.words': ledger.Claim('dl.x.words', 'dl.x', 'chapter/section', 'even', 'correct', remark='to be read'),
}
QUOTES = {'dl.x.words': 'A sum of two equal numbers is even.'}

def section_of(page):
    return sections.Section.of(notebooks.parsed(page))


def digests(page, claims=CLAIMS):
    return {key: seal.digests() for key, seal in seals.seals(section_of(page), claims, QUOTES).items()}


def changed(old, new, page=PAGE):
    """{key: the numbers of the digests that change} where `old` becomes `new`."""
    assert page.count(old) == 1, old
    before, after = digests(page), digests(page.replace(old, new))
    assert before.keys() == after.keys()
    return {key: tuple(i for i in range(3) if before[key][i] != after[key][i]) for key in before if before[key] != after[key]}


def test_theorems_claims_and_sentences_are_sealed():
    found = digests(PAGE)
    assert all(re.fullmatch('[0-9a-f]{6}', d) for line in found.values() for d in line if d != 'none')
    assert {key: [d != 'none' for d in line] for key, line in found.items()} == {
        'dl.x.y': [True, True, True], 'dl.x.words': [True, True, True], 'verify-three-numbers-add-up-to-3': [True, True, False],
        'thm-double': [True, True, False], 'def-even': [True, True, False],
        'verdicts-third-no-theorem': [False, True, False], 'verify-zero': [True, True, False],
        'shown-first': [False, True, False], 'shown-third-no-theorem': [False, True, False]}


STATEMENT, CHECK = (0,), (1,)
FIRST = ('dl.x.y', 'dl.x.words', 'verify-three-numbers-add-up-to-3', 'thm-double')


@pytest.mark.parametrize('old, new, want', [
    ('For every $x \\ge 0$', 'For every $x$', {'thm-double': STATEMENT}),
    ('2x \\ge x .', '2x > x .', {'thm-double': STATEMENT, 'dl.x.y': STATEMENT}),
    ('equal numbers is even', 'odd numbers is even', {'dl.x.words': STATEMENT}),
    ('its half is whole', 'its third is whole', {'def-even': STATEMENT}),
    ('doubled(x) >= x', 'doubled(x) > x', {'dl.x.y': CHECK, 'thm-double': CHECK}),
    ('x - x / 2', 'x - x / 3', {'dl.x.y': CHECK, 'thm-double': CHECK}),
    ('x=[0, 1]', 'x=[1]', {'dl.x.y': CHECK, 'thm-double': CHECK}),
    ('atol=1e-9', 'atol=1e-5', {'verify-three-numbers-add-up-to-3': CHECK, 'thm-double': CHECK}),
    ('return scale(x)', 'return x + scale(x)', {'dl.x.y': CHECK, 'thm-double': CHECK}),
    ('return 2 * x', 'return 3 * x', {
        'dl.x.y': CHECK, 'thm-double': CHECK, 'def-even': CHECK, 'verdicts-third-no-theorem': CHECK,
        'verify-zero': CHECK}),
    ('start[0] = 7', 'start[0] = 8', {'dl.x.words': CHECK, 'thm-double': CHECK}),
    ('total += k', 'total += 2 * k', {'verify-three-numbers-add-up-to-3': CHECK, 'thm-double': CHECK}),
    ('import numpy as np', 'import math as np', {'dl.x.words': CHECK, 'thm-double': CHECK}),
    ('assert scale(2) == 4', 'assert scale(2) >= 4', {'def-even': CHECK}),
    ('scale(50)', 'scale(60)', {'verdicts-third-no-theorem': CHECK}),
    ('k = 5', 'k = 6', {'shown-first': CHECK}),
    ("print('large:', large)", "print('large:', large - 1)", {'shown-third-no-theorem': CHECK}),
    ('other += 1', 'other += 2', {'verdicts-third-no-theorem': CHECK}),
    ('other = scale(3)', 'other = scale(4)', {'verdicts-third-no-theorem': CHECK}),
    ('large > 99', 'large > 9', {'verdicts-third-no-theorem': CHECK}),
    ('add up to 3', 'add up to: 3', {'verify-three-numbers-add-up-to-3': (0, 1), 'thm-double': CHECK}),
])
def test_what_is_sealed_cannot_change_unseen(old, new, want):
    assert changed(old, new) == want


@pytest.mark.parametrize('old, new', [
    ('Words that nobody seals.', 'Other words.'),
    ('  # looks easy', ''),
    ('"""Twice a number."""', '"""Two times a number."""'),
    ('For every $x \\ge 0$,', 'For every\n# $x \\ge 0$,'),
    ('A sum of two\n# equal', 'A sum\n# of two equal'),
    ('def scale(x):\n    return 2 * x', 'def scale(x):\n\n    return (2\n            * x)'),
    ("version = '0.2.0'", "version = '0.3.0'"),
    ('import close, holds, verify', 'import close, grade, holds, verify'),
    ('# ## Second', '# A new paragraph.\n\n# %% [markdown]\n# ## Second'),
])
def test_what_says_the_same_breaks_nothing(old, new):
    assert changed(old, new) == {}


def test_the_ledger_is_sealed_too():
    before = digests(PAGE)
    for field, new, breaks in [('notes', '3x > x', True), ('verdict', 'unclear', True), ('correct', 'x', True),
                               ('why', 'No.', True), ('remark', 'read', False), ('heading', 'dl.z', False)]:
        after = digests(PAGE, CLAIMS | {'dl.x.y': CLAIMS['dl.x.y']._replace(**{field: new})})
        assert {key for key in before if before[key] != after[key]} == ({'dl.x.y'} if breaks else set()), field


def test_a_claim_in_words_is_what_an_anchor_marks():
    page = PAGE.replace('# A sum of two', '# (dl.x.words)=\n# A sum of two')
    assert digests(page) == digests(PAGE) | {'dl.x.words': digests(page)['dl.x.words']}
    assert changed('equal numbers is even', 'odd numbers is even', page) == {'dl.x.words': STATEMENT}
    assert changed('More words.', 'Fewer words.', page) == {}


def test_a_theorem_hangs_on_the_cells_that_name_it():
    page = PAGE.replace("holds('dl.x.y'", "# thm-double\nholds('dl.x.y'").replace('verify(', '\n# %%\nverify(')
    assert changed('atol=1e-9', 'atol=1e-5', page) == {'verify-three-numbers-add-up-to-3': CHECK}


def test_a_part_of_exercises_checks_no_theorem():
    page = PAGE.replace('assert scale(2) == 4', 'assert grade(scale, doubled, [(1,)])')
    assert digests(page)['def-even'][1] == 'none'


def test_proofs_are_sealed_under_the_label_before_them():
    page = PAGE + """
# %% [markdown]
# ```{math}
# :label: y-of-x
# y = 2x
# ```
#
# ```{prf:proof}
# :class: dropdown
# Half of $2x$ is $x$.
# ```
#
# Beside a proof.
#
# ````{prf:proof} another way
# By symmetry.
# ````
"""
    assert digests(page).keys() - digests(PAGE).keys() == {'proof-y-of-x'}
    for old, new, want in [('is $x$', 'is $-x$', {'proof-y-of-x': STATEMENT}), ('By symmetry', 'By luck', {'proof-y-of-x': STATEMENT}),
                           ('Beside', 'Before', {}), (':class: dropdown', ':class: note', {})]:
        assert changed(old, new, page) == want


def test_formulas_in_sentences_are_sealed_and_symbols_and_words_are_not():
    page = PAGE.replace('# More words.', """# More words: $$y^2 = x$$ and $O(n^2)$,
# for a cost of \\$5 or $\\mathbf{x}_i$, and
# $y^2
# = x$ again.""")
    formulas = {'formulas-first': STATEMENT}
    assert digests(page).keys() - digests(PAGE).keys() == formulas.keys()
    for old, new, want in [('$$y^2', '$$y^3', formulas), ('O(n^2)', 'O(n)', formulas), ('$O(n^2)$', 'much', formulas), ('again', 'of $f(x)$', formulas),
                           ('for a cost', 'for $n$ at a cost', {}), ('mathbf{x}_i', 'mathbf{y}', {}), ('= x$ again.', '= x$.', {}),
                           ('$y^2\n# = x$', '$O(n^2)$', formulas), ('for a cost of', 'for $y^2 = x$ and', formulas)]:
        assert changed(old, new, page) == want, (old, new)


def test_a_theorem_needs_a_label():
    with pytest.raises(ValueError, match="definition 'Even' has no :label:"):
        digests(PAGE.replace('# :label: def-even\n', ''))


def test_a_display_that_is_executed_may_change():
    page = PAGE.replace("holds('dl.x.words', lambda x: close(x % 2, 0), slip=('says no', lambda x: close(x, 1)), x=start)",
                        "holds('dl.x.z', x=start)")
    section = section_of(page)
    assert section.executed == {'dl.x.z'} and 'dl.x.z' not in seals.seals(section, CLAIMS, QUOTES)
    now = {'chapter/section': seals.seals(section, CLAIMS, QUOTES)}
    sealed = {'chapter/section': digests(page)}
    then = section_of(page.replace('2x \\ge x .', '2x > x .'))
    later = {'chapter/section': {'dl.x.y': seals.seals(then, CLAIMS, QUOTES)['dl.x.y']}}
    assert not list(seals.broken(sealed, now, set()))
    sealed['chapter/section'] = {'dl.x.y': sealed['chapter/section']['dl.x.y']}
    assert not list(seals.broken(sealed, later, {'dl.x.y'}))
    assert [problem for *_, problem in seals.broken(sealed, later, set())] == ['the statement changed since it was sealed']


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of one section in a repository of git, sealed and committed; gives its `.py` file."""
    path = tmp_path / 'notebooks' / 'chapter' / 'section.py'
    for folder in (path.parent, tmp_path / 'book' / 'claims', tmp_path / 'prints'):
        folder.mkdir(parents=True)
    path.write_text(PAGE, 'utf-8')
    (tmp_path / 'prints' / 'chapter.py').write_text("prints('dl.other')\n", 'utf-8')
    (tmp_path / 'book' / 'claims' / 'dl.yml').write_text('- {id: dl.x, section: chapter/section, claims: []}\n', 'utf-8')
    monkeypatch.setattr(notebooks, 'ROOT', tmp_path)
    monkeypatch.setattr(notebooks, 'NOTEBOOKS', tmp_path / 'notebooks')
    monkeypatch.setattr(seals, 'SEALS', tmp_path / 'book' / 'seals.yml')
    monkeypatch.setattr(seals, 'SENTENCES', tmp_path / 'book' / 'sentences.yml')
    seals.SENTENCES.write_text(f'chapter/section: {QUOTES}', 'utf-8')
    monkeypatch.setattr(seals, 'PRINTS', tmp_path / 'prints')
    monkeypatch.setattr(ledger, 'claims', lambda: CLAIMS)
    seals.write({'chapter/section': digests(PAGE)})
    for command in ('init -q', 'add .', '-c user.name=a -c user.email=a@b commit -qm sealed'):
        subprocess.run(['git', *command.split()], cwd=tmp_path, check=True)
    return path


def run(monkeypatch, capsys, *keys):
    monkeypatch.setattr('sys.argv', ['seals', *keys])
    seals.main()
    return capsys.readouterr().out


def test_without_an_id_it_lists_and_renews_nothing(book, monkeypatch, capsys):
    stored = seals.SEALS.read_text('utf-8')
    assert run(monkeypatch, capsys) == '0 of 9 seals are broken.\n'
    book.write_text(PAGE.replace('x \\ge 0', 'x').replace('atol=1e-9', 'atol=1'), 'utf-8')
    listed = run(monkeypatch, capsys)
    assert 'thm-double: the statement and the check changed since it was sealed' in listed
    assert 'verify-three-numbers-add-up-to-3: the check changed' in listed and '2 of 9 seals are broken. Read' in listed
    assert seals.SEALS.read_text('utf-8') == stored


def test_an_id_shows_old_and_new_and_renews_its_line_alone(book, monkeypatch, capsys):
    before = seals.stored()['chapter/section']
    book.write_text(PAGE.replace('x \\ge 0', 'x').replace('atol=1e-9', 'atol=1'), 'utf-8')
    shown = run(monkeypatch, capsys, 'thm-double')
    assert '-- statement: changed' in shown and '-For every $x \\ge 0$,' in shown and '+For every $x$,' in shown
    assert '-- check: changed' in shown and "-verify('three numbers add up to 3'" in shown and '-- entry in the ledger: as it was' in shown
    after = seals.stored()['chapter/section']
    assert {key for key in before if before[key] != after[key]} == {'thm-double'}
    assert '1 of 9 seals are broken' in run(monkeypatch, capsys)


def test_lines_that_a_merge_has_put_together(book):
    text = seals.SEALS.read_text('utf-8')
    seals.SEALS.write_text(text.replace('  thm-double:\n', '  thm-double:\n    000000 111111 222222\n'), 'utf-8')
    with pytest.raises(ValueError, match='seals.yml, chapter/section  thm-double: 6 digests; take out'):
        seals.stored()


def test_new_ones_and_those_that_are_gone(book, monkeypatch, capsys):
    book.write_text(PAGE.replace('def-even', 'def-halves'), 'utf-8')
    listed = run(monkeypatch, capsys)
    assert 'def-even: has a line, and there is no such statement' in listed and 'def-halves: is not sealed' in listed
    shown = run(monkeypatch, capsys, 'def-even', 'def-halves')
    assert 'its line is removed' in shown and 'A number is *even*' in shown
    assert run(monkeypatch, capsys) == '0 of 9 seals are broken.\n'
    with pytest.raises(KeyError, match='thm-unknown is nothing that is sealed'):
        run(monkeypatch, capsys, 'thm-unknown')


def test_of_lines_of_one_name_the_broken_ones_are_shown(capsys):
    whole, other = seals.Seal('one', (), ''), seals.Seal('two', (), '')
    now = {'a/one': {'shown-summary': whole}, 'b/two': {'shown-summary': other}}
    sealed = {'a/one': {'shown-summary': whole.digests()}, 'b/two': {'shown-summary': ('000000', 'none', 'none')}}
    for both in (False, True):
        seals.renew('shown-summary', sealed, now)
        shown = capsys.readouterr().out
        assert 'b/two' in shown and ('a/one' in shown) == both, 'without a broken one all are shown'
        assert sealed['b/two']['shown-summary'] == other.digests()


def test_a_display_that_does_not_run_is_sealed_for_itself():
    section = section_of(PAGE + """
# %% [markdown]
# ```{math}
# :label: x-definition
# y = 2x
# ```
""")
    assert {label: seal.statement for label, seal in seals.unrun(section, set()).items()} == {'x-definition': 'y = 2x'}
    assert not seals.unrun(section, {'x-definition'}), 'what runs needs no seal'


def test_what_is_only_shown_is_found():
    cells = ['import math', 'def f(x):\n    return x\n\ndef g(x):\n    return f(x)\n\nclass H:\n    pass\n\na = g(1)', "print('a heading')",
             'print(f(a))', "verify('one', lambda: f(1) == 1, slip=('says no', lambda: f(1) == 2))", 'def h():\n    raise NotImplementedError']
    section = section_of('\n\n'.join(f'# %%\n{cell}' for cell in cells) + '\n\n# %% tags=["hide-input"]\ndef drawn():\n    pass\n')
    assert [[section.code[n].lineno for n in numbers] for numbers in section.shown.values()] == [[4, 7, 10, 1]]  # in their cells
    assert section.uncalled == ['g', 'H']
    text = '\n\n'.join(f'# %%\n{cell}' for cell in [*cells, 'grade(h, g, [(1,)])']) + '\n'
    assert section_of(text).uncalled == ['H']
