"""The budget of a section counts what a reader has in view, and nothing else."""
import pytest

from nbutils.maintain import budget, notebooks, sections

TEXT = '''# %% [markdown]
# # Title
#
# One two three $x + y$ five. It [links](elsewhere.ipynb) here.
#
# ```{math}
# :label: a.b.c
# \\text{a sentence that is displayed}
# ```
#
# ```{prf:proof}
# :class: dropdown
# Folded words of a proof.
# ```
#
# ## Part

# %% mystnb={"image": {"alt": "a line"}} tags=["hide-input"]
plot()

# %% tags=["hide-input"]
import numpy

numpy.seterr(all="raise")
small = 1

# %%
def square(x):
    return x * x

print(square(2))

# %%
def other(x):
    return x + x

holds('a.b.c', lambda x: square(x) == x ** 2, slip=('says no', other), x=[3])

# %% [markdown]
# ```{exercise} One
# :label: one
#
# Do it.
# ```

# %%
def stub():
    raise NotImplementedError

# %% [markdown]
# ```{solution-start} one
# ```
# Not counted.

# %%
def solution():
    return 1

# %% [markdown]
# ```{solution-end}
# ```
#
# Counted again.
#
# ## Summary
'''


def measured(**changes):
    text = TEXT
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    return budget.measure(sections.Section.of(notebooks.parsed(text)))


def test_what_is_counted():
    assert measured() == budget.Budget(
        words=15, lines=6, code=7, median=3, longest=3, checking=0.5, parts=1, sentences=1, banned=0)


@pytest.mark.parametrize('field, old, new, wanted', [
    ('words', '# Counted again.', '# Counted again, four words.', 17),
    ('words', ':class: dropdown', ':class: open', 20),
    ('lines', 'tags=["hide-input"]\nplot', 'tags=["other"]\nplot', 7),
    ('code', 'mystnb={"image": {"alt": "a line"}} ', '', 8),
    ('code', 'small = 1', 'def small():\n    return 1', 8),
    ('code', 'small = 1', 'holds()', 6),
    ('longest', 'print(square(2))', 'print(square(2))\nprint()\nprint()', 5),
    ('checking', 'print(square(2))', 'print(square(2), other(1))', 0.167),
    ('parts', '# ## Summary', '# ## Another\n#\n# ## Summary', 2),
    ('sentences', '\\text{a sentence that is displayed}', 'x = 1 \\text{ where it is displayed}', 0),
    ('banned', 'It [links]', 'The notes say so. It [links]', 1),
    ('banned', 'Folded words of a proof.', 'The control fails.', 1),
])
def test_each_measure_follows_a_change(field, old, new, wanted):
    assert getattr(measured(change=(old, new)), field) == wanted


def test_what_is_over_is_named():
    assert budget.over(budget.LIMITS) == []
    assert budget.over(budget.LIMITS._replace(code=221)) == ['code']
    assert budget.over(budget.LIMITS._replace(lines=181, code=221, parts=5)) == ['lines', 'parts']
