"""Each rule of the book, shown to reject the fault for which it was made."""
import re

import nbformat
import pytest

from nbutils import ledger
from nbutils.maintain import lint, notebooks, rules, sections

GOOD = f'''# %% [markdown]
# # A title
#
# **Question.** Why? **You need** nothing. **You build** little. **Runs in** 1 second.

# %% tags=["remove-cell"]
{rules.launch_cell()}

# %%
from nbutils.checks import grade, holds
from nbutils.pictures import draw

def doubled(x):
    return 2 * x

# %% [markdown]
# ## First

# %%
holds('dl.x.y', lambda x: doubled(x) == x + x,
      slip=('says no', lambda x: x == x + x), x=[1, 2])

# %% mystnb={{"image": {{"alt": "A line that rises to the right"}}}}
draw();

# %% [markdown] tags=["caption"]
# The line $y = x$ rises by one at each step.

EXERCISE1
EXERCISE2
EXERCISE3
# %% [markdown]
# ## Summary
#
# Three sentences.
'''

FOLD = ' tags=["hide-input"] jupyter={"source_hidden": true}'
EXERCISE = '''# %% [markdown]
# ```{exercise} ★ KIND: square
# :label: sectionN
# Square a number.
# ```

# %%
def square(x):
    raise NotImplementedError('your turn')

# %%''' + FOLD + '''
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
PLAIN = EXERCISE[EXERCISE.index('def square'):EXERCISE.index('\n# %% [markdown]\n# ```{solution-start}')]
DRAWN = '''def square(x):
    """The square of a float.

    square(3.0) is 9.0.
    """
    raise NotImplementedError('your turn')

# %%''' + FOLD + '''
cases = [(1,), (2,)]
grade(square, lambda x: x**2, x=cases)
'''
for n, kind in enumerate(rules.KINDS, 1):
    GOOD = GOOD.replace(f'EXERCISE{n}\n', EXERCISE.replace('sectionN', f'section{n}').replace('KIND', kind) + '\n')


TEST, VARIANT = 'lambda x: doubled(x) == x + x', 'lambda x: x == x + x'
SLIP = f"slip=('says no', {VARIANT})"


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """Gives a function that makes a `Section` from the text of a `.py`, recorded as if its cells printed what they should."""
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
            for claim_id in re.findall(r"^holds\('(\S+)'", cell.source, re.M):
                cell.outputs.append(nbformat.v4.new_output('stream', text=f'✓ {claim_id} holds\n'))
            if cell.source.startswith('draw'):
                cell.outputs.append(nbformat.v4.new_output('display_data', {'image/svg+xml': '<svg/>', 'text/plain': '<Figure>'}))
        if edit:
            edit(notebook)
        nbformat.write(notebook, path.with_suffix('.ipynb'))
        return sections.Section(path)

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
    'a test that is always true': (lint.dependent, (TEST, 'lambda x: True'), 'cell 5: the test of holds (line 1) reads none of its arguments'),
    'a variant that is always false': (lint.dependent, (VARIANT, 'lambda x: False'), 'slip of holds'),
    'a test of numbers alone': (lint.dependent, (TEST, 'lambda x: all(k < 9 for k in (1, 2))'), 'the test of holds'),
    'a test of close alone': (lint.dependent, (TEST, 'lambda: grade(1, 1)'), 'the test of holds'),
    'a named test that is always true': (lint.dependent, (
        "holds('dl.x.y', " + TEST, "def fine(x):\n    y = 2\n    return y > 1\n\nholds('dl.x.y', fine"), 'the test of holds'),
    'a test that ignores an argument': (lint.dependent, (TEST + ',\n      ' + SLIP + ', x=[1, 2]',
        "lambda x, k: doubled(x) == x + x,\n      slip=('says no', lambda x, k: doubled(k) == x), x=[1, 2], k=[1, 2]"), 'ignores k: let it read each case'),
    'a variant that ignores all arguments': (lint.dependent, (VARIANT, 'lambda x: doubled(1) == 1'), 'slip of holds (line 1) reads none of its arguments, so'),
    'a bias before a normalization': (lint.unbiased, ('draw();', 'net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU())'),
                                      'cell 6: BatchNorm2d takes the bias of nn.Conv2d(1, 8, 3) away again: give it bias=False'),
    'a bias before a normalization, in a list': (lint.unbiased, ('draw();', 'layers = [nn.Linear(2, 8, bias=True), nn.BatchNorm1d(8)]'), 'bias=False'),
    'a lost assert': (lint.kept, ('draw();', 'doubled(1) == 2\ndraw();'), "cell 6 throws away 'doubled(1) == 2': assert it"),
    'a lost assert in a loop': (lint.kept, ('draw();', 'for x in (1, 2):\n    close(doubled(x), x)'), 'throws away'),
    'a lost assert in a function': (lint.kept, ('    return 2 * x', '    x.all()\n    return 2 * x'), 'cell 3 throws away'),
    'a comparison with itself': (lint.two_sided, ('draw();', 'assert close(doubled(1), doubled(1), atol=1)'), 'is decided before it runs'),
    'an answer graded by itself': (lint.two_sided, ('draw();', 'assert grade(doubled, doubled, cases)'), 'is decided before it runs'),
    'an order of one thing': (lint.two_sided, ('draw();', 'assert 0 <= doubled(1) <= doubled(1)'), 'is decided before it runs'),
    'a gap to itself': (lint.two_sided, ('draw();', 'x = doubled(1)\nprint(abs(x - x))'), 'is decided before it runs'),
    'numbers in place of results': (lint.two_sided, ('draw();', 'assert 1 < 2'), 'is decided before it runs'),
    'a way out': (lint.two_sided, ('draw();', 'assert doubled(1) == 3 or True'), 'is decided before it runs'),
    'an assert of nothing': (lint.two_sided, ('draw();', 'assert 1'), 'is decided before it runs'),
    'a tolerance of percents': (lint.tight, ('draw();', 'assert close(doubled(1), 2.1, rtol=0.1)'), 'cell 6 compares with rtol=0.1'),
    'a fixed sentence': (lint.told, ('draw();', "assert doubled(1) == 2\nprint('all agree')"), "cell 6 prints the fixed sentence 'all agree': print the numbers"),
    'a fixed sentence before other things': (lint.told, ('draw();', "print('all agree')\nx = 1\nprint(x)"), 'cell 6 prints the fixed sentence'),
    'an erratum of nothing': (lint.dependent, ("holds('dl.x.y', " + TEST + ',\n      ' + SLIP,
        "erratum('dl.x.y', printed=lambda: False, corrected=lambda: True"), 'printed of erratum'),
    'an output that is not compared': (rules.tagged, ('# %% mystnb', '# %% tags=["nbval-ignore-output"] mystnb'), 'unknown tag nbval-ignore-output'),
    'no alt text': (rules.described, ('"image": {"alt": "A line that rises to the right"}', ''), 'cell 6 draws a figure without alt text'),
    'no caption': (rules.described, ('# The line $y = x$ rises by one at each step.\n', ''), 'cell 6: a caption has'),
    'a short caption': (rules.described, ('The line $y = x$ rises by one', '$y = x$ rises'), 'cell 6: a caption has'),
    'half a formula': (rules.described, ('$y = x$', '$y = x'), 'pairs of $'),
    'a caption that breaks off': (rules.described, ('at each step.', 'at each step'), 'a full stop at its end'),
    'a heavy picture': (rules.described, lambda nb: code(nb, 'draw').outputs[0].data.update({'image/svg+xml': 'a' * 300_000}), 'at most 200000'),
    'pale letters': (rules.described, lambda nb: code(nb, 'draw').outputs[0].data.update(
        {'image/svg+xml': '<svg><g class="mpl-text" aria-label="10" fill="#787878" opacity="0.8"></g></svg>'}), "the text '10' of a figure has"),
    'a long cell': (rules.shaped, ('draw();', 'x = 1\n' * 30), 'cell 6 has 30 lines; at most 25'),
    'a wide line': (rules.shaped, ('draw();', f'x = "{80 * "x"}"'), 'a line of 86 columns'),
    'two titles': (rules.shaped, ('# ## First', '# # First'), 'no second one'),
    'a part in the middle of a cell': (rules.shaped, ('# ## First', '# Words.\n#\n# ## First'), 'a heading ## stands within a cell'),
    'no question': (rules.shaped, ('**Question.** Why?', 'Why.'), 'the opening raises no question'),
    'no time': (rules.shaped, ('**Runs in** 1 second.', ''), 'the opening lacks **Runs in**'),
    'a time of another form': (rules.shaped, ('**Runs in** 1 second.', '**Runs in** 1 s.'), 'say "**Runs in** 9 seconds"'),
    'no summary': (rules.shaped, ('## Summary', '## End'), 'lacks its ## Summary'),
    'an index without braces': (rules.braced, ('# ## First', '# $x_\\mathcal{D}$\n#\n# ## First'), r'has _\mathcal{...} as an index'),
    'a result that is none': (lint.computed, ('draw();', "print('all agree:', True)"), 'cell 6 prints a literal verdict'),
    'a misspelt claim': (rules.claims_checked, ("'dl.x.y'", "'dl.x.yy'"), "checks 'dl.x.yy', which is no claim"),
    'a claim not checked': (rules.claims_checked, ("holds('dl.x.y', ", 'print('), 'does not check dl.x.y: add holds'),
    "another section's claim": (rules.claims_checked, ("'dl.x.y'", "'la.a.b'"), 'checks la.a.b, which belongs to other/section'),
    'a hidden claim': (rules.claims_checked, ("'dl.x.y'", 'name'), "checks 'name', which is no claim"),
    'checked though uncheckable': (rules.claims_checked, ("'dl.x.y'", "'dl.x.z'"), 'dl.x.z is checked'),
    'a check that left no line': (rules.checks_printed, lambda nb: code(nb, 'holds').update(outputs=[]), 'holds of dl.x.y left no line'),
    'nothing to try': (rules.kinds, ('{exercise} ★ Experiment: square\n# :label: section3', '{note}'), 'no exercise of the kind Experiment'),
    'no solution': (rules.exercises, ('{solution-start} section2', '{solution-start} section9'), 'section2 has no solution-start'),
    'no stub': (rules.exercises, ("raise NotImplementedError('your turn')", 'return x'), 'section1 needs a stub'),
    'no grader': (rules.exercises, ('\ngrade(square', '\nx = (square'), 'section1 needs a stub'),
    'solution not graded': (rules.exercises, ('assert grade', 'grade'), 'the solution of section1 is not graded'),
    'wrong answer not tried': (rules.exercises, ('assert not grade', 'grade'), 'no wrong answer to section1'),
    'a stub without words': (rules.exercises, (PLAIN, DRAWN.replace('"""The', 'r"""The').replace('\n\n    square(3.0) is 9.0.\n    ', '')), 'the stub of square needs a docstring'),
    'a grader that JupyterLab shows': (rules.exercises, (PLAIN, DRAWN.replace(' jupyter={"source_hidden": true}', '')), 'the grader of section1 is in view'),
    'one wrong answer': (rules.exercises, (PLAIN, DRAWN), 'section1: 1 wrong answers are rejected; at least 3'),
    'an exercise of no kind': (rules.kinds, ('★ Program: square', '★ Square'), 'begin the title of the exercise "★ Square" with'),
    'nothing to derive': (rules.kinds, ('★ Pencil: square', '★ Program: square'), 'no exercise of the kind Pencil'),
    'a truth in view': (rules.exercises, (PLAIN, DRAWN.replace('lambda x: x**2', 'doubled')), 'its reader sees the truth doubled'),
    'a grader in view': (rules.exercises, ('# %%' + FOLD, '# %% jupyter={"source_hidden": true}'), 'the grader of section1 is in view'),
    'two folded cells': (rules.folded_once, ('# %% mystnb=', '# %% tags=["hide-input"]\nx = 1\n\n# %% tags=["hide-input"] mystnb='), 'cells 6 and 7 are folded and nothing stands between'),
    'an order by chance': (rules.ordered, ('draw();', 'x = y.argsort(1)'), "cell 6: y.argsort(1): kind='stable'"),
    'another order by chance': (rules.ordered, ('draw();', "x = np.argsort(y, kind='quick')"), 'stable=True in torch'),
    'an order by chance, by torch': (rules.ordered, ('draw();', 'values, places = torch.sort(y, descending=True)'), 'torch.sort(y, descending=True): '),
    'places by chance, by torch': (rules.ordered, ('draw();', 'x = y.sort(-1).indices'), 'y.sort(-1): '),
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


@pytest.mark.parametrize('code', [
    "x = y.argsort(1, kind='stable')", 'x = torch.argsort(y, stable=True)', 'values, places = y.sort(stable=True)', 'x = np.sort(y)[1]',
    'x = y.sort(0).values', 'x = []; x.sort()', 'x = sorted(y)[1]',
])
def test_an_order_that_is_no_chance(pair, code):
    assert list(rules.ordered(pair(GOOD.replace('draw();', code)))) == []


def test_a_folded_cell_that_shows_something_may_be_followed_by_another(pair):
    text = GOOD.replace('# %% mystnb=', '# %% tags=["hide-input"] mystnb=').replace('EXERCISE1\n', '')
    assert not list(rules.folded_once(pair(text.replace('rises by one at each step.\n', 'rises by one at each step.\n\n# %% tags=["hide-input"]\nx = 1\n'))))


def test_the_cells_of_a_solution_are_folded(pair):
    long = GOOD.replace('assert grade', 'x = 1\n' * 30 + 'assert grade', 1)
    assert not list(rules.shaped(pair(long)))
    assert 'cell 12 has 32 lines; at most 25' in '\n'.join(rules.shaped(pair(long.replace(' jupyter={"source_hidden": true}', ''))))


def test_a_grader_that_draws_is_accepted(pair):
    right = '\nassert not grade(lambda x: 2 * x, lambda x: x**2, cases)'
    assert not list(rules.exercises(pair(GOOD.replace(PLAIN, DRAWN).replace(right, 3 * right))))


@pytest.mark.parametrize('test', [
    'lambda **case: case', 'doubled', 'lambda: doubled(2) == 4', 'functools.partial(doubled, 2)', 'lambda x, *, y=draw: y(x)',
])
def test_tests_that_depend_on_something(pair, test):
    assert list(lint.dependent(pair(GOOD.replace(TEST, test)))) == []


@pytest.mark.parametrize('code', [
    'doubled(1) == 2', "print('  n   error')\nprint('(both rounded)')\nfor n in 1, 2: print(n)", "if doubled(1) == 2: print('as it should')",
    'angle = doubled(0) or 1', 'gap = draw() - draw()', 'assert close(doubled(1), 2, rtol=1e-3)', 'assert 1e-9 < doubled(1) < 1e9', 'doubled(1)\ndraw();',
    "try: doubled(None)\nexcept TypeError: print('refused')", "print('twice', doubled(1))",
])
def test_what_is_said_by_what_is_computed(pair, code):
    made = pair(GOOD.replace('draw();', code))
    assert not [problem for rule in lint.RULES if rule is not lint.dependent for problem in rule(made)]


@pytest.mark.parametrize('code', [
    'net = nn.Sequential(nn.Conv2d(1, 8, 3, bias=False), nn.BatchNorm2d(8))', 'net = nn.Sequential(nn.Linear(2, 8), nn.LayerNorm(8))',
    'net = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 8))', 'net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.BatchNorm1d(8))',
])
def test_a_bias_that_has_an_effect_may_stay(pair, code):
    assert list(lint.unbiased(pair(GOOD.replace('draw();', code)))) == []


@pytest.mark.parametrize('test, calls', [('lambda x: fit(doubled, x)[-1] < x', 'fit'), ('trained', 'weights.resume'), ('other', '')])
def test_checks_that_train_are_found(pair, test, calls):
    begin = ('from nbutils.training import fit\nfrom nbutils import weights\n\ndef trained(x):\n    return weights.resume(x, x)\n\n'
             'def other(x):\n    return model.fit(x) and resume(x)\n\ndef doubled')
    found = list(lint.stored(pair(GOOD.replace('def doubled', begin).replace(TEST, test))))
    assert [f'(line 1) calls {calls}: train before it' in problem for problem in found] == [True] * bool(calls), found


def test_means_of_two_seeds_are_found(pair):
    code = ['error = np.mean([draw(seed) for seed in range(2)])', 'other = np.array([draw(seed) for seed in (0, 1)]).mean(0)',
            'enough = np.mean([draw(seed) for seed in range(3)])', 'one = [draw(seed) for seed in (0, 1)]', 'mean = np.mean([1, 2])']
    assert list(lint.few_seeds(pair(GOOD.replace('draw();', '\n'.join(code))))) == [(6, 2), (6, 2)]


def test_one_sided_verdicts_are_found(pair):
    code = ["x = doubled(1)", "print('small:', x < 3, x == 2, x)", "far = (x > 1).all()", "print(f'far: {far}, {bool(x < 9)}, {x}')",
            "print(*[x < 5])", "near = all(v < 3 for v in [x])", "print(near, 'or', x > 1 and x < 3)"]
    assert list(lint.one_sided(pair(GOOD.replace('draw();', '\n'.join(code))))) == [
        (6, 'x < 3'), (6, 'far'), (6, 'bool(x < 9)'), (6, 'near'), (6, 'x > 1 and x < 3')]
    timed = ['def race(x):\n    return seconds(x)', "fast = race(doubled)\nprint('fast:', fast < 1)"]
    assert list(lint.one_sided(pair(GOOD.replace('draw();', '\n\n# %%\n'.join(timed))))) == []


def test_coarse_numbers_are_found(pair):
    made = pair(edit=prints('1.2 and 2.0, [0.015 3.  0.9]\n✓ a: holds in 3 cases; would notice: says no (x = 1.5)\n1.9e-5'))
    assert list(rules.coarse(made)) == [(3, '1.2'), (3, '0.015'), (3, '1.9e-5')]


def test_a_section_without_recording(pair):
    made = pair()
    made.path.with_suffix('.ipynb').unlink()
    assert list(rules.recorded(made)) == ['chapter/section was never recorded: make record']


def test_a_section_that_is_read_from_its_beginning_may_lean_on_earlier_parts(pair):
    made = pair(GOOD.replace('# ## Summary', '# ## Second\n\n# %%\nprint(cases)\n\n# %% [markdown]\n# ## Summary'))
    assert [cell.source.partition(' ')[0] for cell in rules.parts(made)['Second']] == ['try:\n', 'from', 'print(cases)']
    assert "the part 'Second' after the opening alone: Undefined name `cases`" in '\n'.join(rules.alone(made))
    made.notebook.metadata['book'] = {'main': 'dl.x.y'}
    assert not list(rules.alone(made))


def test_a_display_that_ran_left_its_line(pair):
    def ran(notebook):
        code(notebook, 'holds').outputs[0].text = '✓ dl.x.y: as printed, 3 cases; 2 of 2 spoilt variants rejected; would notice: minus added: x = -1\n'
    assert not list(rules.checks_printed(pair(edit=ran)))
