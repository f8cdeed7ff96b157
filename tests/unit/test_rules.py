"""Each rule of the book, shown to reject the fault for which it was made."""
import nbformat
import pytest

from nbutils import ledger
from nbutils.maintain import notebooks, rules

GOOD = f'''# %% [markdown]
# # A title
#
# **Question.** Why? **You need** nothing. **You build** little. **Time** 1 s.

# %% tags=["remove-cell"]
{rules.launch_cell()}

# %%
from nbutils.checks import grade, holds

def doubled(x):
    return 2 * x

# %% [markdown]
# ## First

# %%
holds('dl.x.y', lambda x: doubled(x) == x + x,
      control=lambda x: x == x + x, x=[1, 2])

# %% mystnb={{"figure": {{"caption": "The line $y = x$ rises by one at each step."}}, "image": {{"alt": "A line that rises to the right"}}}}
draw();

EXERCISE1
EXERCISE2
EXERCISE3
# %% [markdown]
# ## Summary
#
# Three sentences.
'''

EXERCISE = '''# %% [markdown]
# ```{exercise} ★ Square
# :label: sectionN
# Square a number.
# ```

# %%
def square(x):
    raise NotImplementedError('your turn')

# %%
cases = [(1,), (2,)]
grade(square, lambda x: x**2, cases)

# %% [markdown]
# ```{solution-start} sectionN
# :class: dropdown
# ```

# %% jupyter={"source_hidden": true}
assert grade(lambda x: x * x, lambda x: x**2, cases)
assert not grade(lambda x: 2 * x, lambda x: x**2, cases)

# %% [markdown]
# ```{solution-end}
# ```
'''
for n in '123':
    GOOD = GOOD.replace(f'EXERCISE{n}\n', EXERCISE.replace('sectionN', f'section{n}') + '\n')


TEST, VARIANT = 'lambda x: doubled(x) == x + x', 'lambda x: x == x + x'


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """Gives a function that makes a `Pair` from the text of a `.py`, recorded as if its cells printed what they should."""
    claims = {'dl.x.y': ledger.Claim('dl.x.y', 'dl.x', 'chapter/section', 'y', 'correct'),
              'dl.x.z': ledger.Claim('dl.x.z', 'dl.x', 'chapter/section', 'z', 'correct', uncheckable='a matter of taste'),
              'la.a.b': ledger.Claim('la.a.b', 'la.a', 'other/section', 'b', 'correct')}
    monkeypatch.setattr(rules.ledger, 'claims', lambda: claims)

    def make(text=GOOD, edit=None):
        path = tmp_path / 'chapter' / 'section.py'
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        notebook = notebooks.read(path)
        for count, cell in enumerate((c for c in notebook.cells if c.cell_type == 'code'), 1):
            cell.execution_count = count
            for _, claim_id in rules.checks_in(cell.source):
                cell.outputs.append(nbformat.v4.new_output('stream', text=f'✓ {claim_id} holds\n'))
            if cell.source.startswith('draw'):
                cell.outputs.append(nbformat.v4.new_output('display_data', {'image/png': 'aaaa', 'text/plain': '<Figure>'}))
        if edit:
            edit(notebook)
        nbformat.write(notebook, path.with_suffix('.ipynb'))
        return rules.Pair(path)

    return make


@pytest.mark.parametrize('rule', rules.RULES, ids=lambda rule: rule.__name__)
def test_a_good_section_breaks_no_rule(pair, rule):
    assert list(rule(pair())) == []


def code(notebook, start):
    return next(c for c in notebook.cells if c.source.startswith(start))


def prints(text):
    return lambda nb: code(nb, 'from nbutils').outputs.append(nbformat.v4.new_output('stream', text=text))


FAULTS = {  # what is wrong: (rule, change of the .py or of the .ipynb, what the message says)
    'edited, not recorded': (rules.recorded, lambda nb: code(nb, 'holds').update(source='1'), 'differ; the .py counts: make record'),
    'another tag': (rules.recorded, lambda nb: code(nb, 'draw').metadata.update(tags=['x']), 'differ'),
    'a lost cell': (rules.recorded, lambda nb: nb.cells.pop(4), 'differ'),
    'not run': (rules.executed, lambda nb: code(nb, 'holds').update(execution_count=None), 'not in order from 1'),
    'run out of order': (rules.executed, lambda nb: code(nb, 'holds').update(execution_count=9), 'not in order from 1'),
    'a warning': (rules.executed, lambda nb: code(nb, 'draw').outputs.append(
        nbformat.v4.new_output('stream', name='stderr', text='careful')), 'an error or a warning is stored'),
    'an error': (rules.executed, lambda nb: code(nb, 'draw').outputs.append(
        nbformat.v4.new_output('error', ename='E', evalue='', traceback=[])), 'an error or a warning is stored'),
    'a path': (rules.portable, prints('/home/me/x'), "cell 3 prints a path ('/home/m'): print the conclusion"),
    'an address': (rules.portable, prints('<object at 0x7f5a03eb9a80>'), 'an address in memory'),
    'a date': (rules.portable, prints('on 2026-01-31'), 'a date'),
    'a version': (rules.portable, prints('torch 2.13.0'), 'a version'),
    'a device': (rules.portable, prints('cuda:0'), 'a device'),
    'a duration': (rules.portable, prints('took 31 ms'), 'a duration'),
    'an unknown tag': (rules.tagged, ('tags=["remove-cell"]', 'tags=["remove-cel"]'), 'unknown tag remove-cel; known are'),
    'a cell that nbval ignores': (rules.tagged, ('draw();', '# NBVAL_IGNORE_OUTPUT\ndraw();'), 'cell 6: a comment tells nbval to look away (check)'),
    'a cell that nbval skips': (rules.tagged, ('draw();', 'draw()  # here\n  #  NBVAL_SKIP'), 'look away (skip)'),
    'a cell that may fail': (rules.tagged, ('draw();', '# NBVAL_RAISES_EXCEPTION\ndraw();'), 'look away (check_exception)'),
    'a test that is always true': (rules.dependent, (TEST, 'lambda x: True'), 'cell 5: the test of holds (line 1) reads none of its arguments'),
    'a variant that is always false': (rules.dependent, (VARIANT, 'lambda x: False'), 'control of holds'),
    'a test of numbers alone': (rules.dependent, (TEST, 'lambda x: all(k < 9 for k in (1, 2))'), 'the test of holds'),
    'a test of close alone': (rules.dependent, (TEST, 'lambda: grade(1, 1)'), 'the test of holds'),
    'a named test that is always true': (rules.dependent, (
        "holds('dl.x.y', " + TEST, "def fine(x):\n    y = 2\n    return y > 1\n\nholds('dl.x.y', fine"), 'the test of holds'),
    'a slip that is always false': (rules.dependent, ('control=' + VARIANT, "slip=('says no', lambda x: False)"), 'slip of holds'),
    'an erratum of nothing': (rules.dependent, ("holds('dl.x.y', " + TEST + ',\n      control=' + VARIANT,
        "erratum('dl.x.y', printed=lambda: False, corrected=lambda: True"), 'printed of erratum'),
    'no reason to ignore': (rules.tagged, ('# %% mystnb', '# %% tags=["nbval-ignore-output"] mystnb'), "'# not compared: <reason>'"),
    'no alt text': (rules.described, (', "image": {"alt": "A line that rises to the right"}', ''), 'cell 6 draws a figure without alt text'),
    'no caption': (rules.described, ('"figure": {"caption": "The line $y = x$ rises by one at each step."}, ', ''), 'cell 6: a caption has'),
    'a short caption': (rules.described, ('The line $y = x$ rises by one', '$y = x$ rises'), 'cell 6: a caption has'),
    'half a formula': (rules.described, ('$y = x$', '$y = x'), 'pairs of $'),
    'a caption that breaks off': (rules.described, ('at each step."', 'at each step"'), 'a full stop at its end'),
    'a heavy picture': (rules.described, lambda nb: code(nb, 'draw').outputs[0].data.update({'image/png': 'a' * 300_000}), 'at most 150000'),
    'a long cell': (rules.shaped, ('draw();', 'x = 1\n' * 30), 'cell 6 has 30 lines; at most 25'),
    'a wide line': (rules.shaped, ('draw();', f'x = "{80 * "x"}"'), 'a line of 86 columns'),
    'two titles': (rules.shaped, ('# ## First', '# # First'), 'no second one'),
    'no question': (rules.shaped, ('**Question.**', 'Question.'), 'the opening lacks **Question.**'),
    'no summary': (rules.shaped, ('## Summary', '## End'), 'lacks its ## Summary'),
    'an index without braces': (rules.braced, ('# ## First', '# $x_\\mathcal{D}$\n#\n# ## First'), r'has _\mathcal{...} as an index'),
    'a result that is none': (rules.computed, ('draw();', "print('all agree:', True)"), 'cell 6 prints a literal verdict'),
    'a misspelt claim': (rules.claims_checked, ("'dl.x.y'", "'dl.x.yy'"), "checks 'dl.x.yy', which is no claim"),
    'a claim not checked': (rules.claims_checked, ("holds('dl.x.y', ", 'print('), 'does not check dl.x.y: add holds'),
    "another section's claim": (rules.claims_checked, ("'dl.x.y'", "'la.a.b'"), 'checks la.a.b, which belongs to other/section'),
    'a hidden claim': (rules.claims_checked, ("'dl.x.y'", 'name'), 'checks None'),
    'checked though uncheckable': (rules.claims_checked, ("'dl.x.y'", "'dl.x.z'"), 'dl.x.z is checked'),
    'a check that left no line': (rules.checks_printed, lambda nb: code(nb, 'holds').update(outputs=[]), 'holds of dl.x.y left no line'),
    'too few exercises': (rules.exercises, ('{exercise} ★ Square\n# :label: section3', '{note}'), 'has 2 exercises; at least 3'),
    'no solution': (rules.exercises, ('{solution-start} section2', '{solution-start} section9'), 'section2 has no solution-start'),
    'no stub': (rules.exercises, ("raise NotImplementedError('your turn')", 'return x'), 'section1 needs a stub'),
    'no grader': (rules.exercises, ('\ngrade(square', '\nx = (square'), 'section1 needs a stub'),
    'solution not graded': (rules.exercises, ('assert grade', 'grade'), 'the solution of section1 is not graded'),
    'wrong answer not tried': (rules.exercises, ('assert not grade', 'grade'), 'no wrong answer to section1'),
    'no launch cell': (rules.launches, ('import nbutils  # noqa: F401', 'import nbutils'), 'must be the launch cell: make launch'),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_the_rule_rejects(pair, fault):
    rule, change, message = FAULTS[fault]
    if isinstance(change, tuple):
        assert change[0] in GOOD
        faulty = pair(GOOD.replace(*change, 1))
    else:
        faulty = pair(edit=change)
    problems = list(rule(faulty))
    assert message in '\n'.join(problems), problems
    assert all('chapter/section' in p or 'dl.x.z' in p for p in problems)


@pytest.mark.parametrize('test', [
    'lambda **case: case', 'doubled', 'lambda: doubled(2) == 4', 'functools.partial(doubled, 2)', 'lambda x, *, y=draw: y(x)',
])
def test_tests_that_depend_on_something(pair, test):
    assert list(rules.dependent(pair(GOOD.replace(TEST, test)))) == []


def test_coarse_numbers_are_found(pair):
    made = pair(edit=prints('1.2 and 2.0, [0.015 3.  0.9]\n✓ a: holds in 3 cases; control fails at x = 1.5\n1.9e-5'))
    assert list(rules.coarse(made)) == [(3, '1.2'), (3, '0.015'), (3, '1.9e-5')]


def test_a_section_without_recording(pair):
    made = pair()
    made.path.with_suffix('.ipynb').unlink()
    assert list(rules.recorded(made)) == ['chapter/section was never recorded: make record']


def test_sections_and_what_they_continue(pair):
    made = pair(GOOD.replace('# ## Summary\n#\n# Three', '# ## Summary\n#\n# This section continues [First](#first). Three'))
    assert list(rules.sections(made)) == ['', 'First', 'Summary']
    assert [i for i, _ in rules.sections(made)['']] == [1, 2, 3]
    assert rules.continued(made, 'Summary') == ['First'] and rules.continued(made, 'First') == []


def test_launch_cells_follow_the_configuration(pair, monkeypatch, capsys):
    from nbutils.maintain import launch

    made = pair()
    monkeypatch.setattr(notebooks, 'sources', lambda: [made.path])
    monkeypatch.setattr(rules, 'repository', lambda: ('https://github.com/me/fork', '3.1.4'))
    launch.main()
    assert capsys.readouterr().out == 'chapter/section: changed\n'
    assert "address = 'https://github.com/me/fork/archive/refs/tags/v3.1.4.zip'" in made.path.read_text()
    assert list(rules.launches(rules.Pair(made.path))) == []
    launch.main()
    assert capsys.readouterr().out == ''
