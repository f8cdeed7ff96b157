"""A check on a reader's own numbers: what the card of a ✓ asks Python on a live page, once the cell of the check has run.

    letters('dl.qkv.attention')           # a case that the check tried, a letter a line: 'q = [1.0, 0.5]'
    answer('dl.qkv.attention', text)      # what the check says of the numbers in such a text
"""
import math
import re
import sys

import numpy as np

from nbutils import checks

_ASIDE = 'options', 'equality', 'also_true', 'also_turned', 'alike', 'slip'  # of a check, beside the meanings of its letters
_SHOWN = 9  # values and signs of a formula


def letters(claim_id: str) -> str:
    """What a reader may change in the check of a claim, as lines of Python; '' where its cases are no numbers.

    Raises KeyError where no such check has run.
    """
    return '\n'.join(f'{letter} = {checks._short(value, 400)}' for letter, value in _numbers(claim_id).items())


def answer(claim_id: str, text: str) -> str:
    """What the check of a claim says of the numbers in a text such as `letters` gives, in a few lines.

    The text is Python with the functions of `math`. Letters that it does not name keep their value. Raises what Python
    raises for such a text, NameError for a letter that the check does not have, TypeError for a value of another kind.
    """
    numbers, given = _numbers(claim_id), {}
    exec(text, {**vars(math)}, given)  # a reader's own Python runs here, as in any cell
    if strange := given.keys() - numbers.keys():
        raise NameError(f'{", ".join(sorted(strange))}: the letters of this check are {", ".join(numbers)}')
    case = _case(claim_id) | {letter: _like(numbers[letter], value, letter) for letter, value in given.items()}
    ran = checks.RAN[claim_id]
    if ran.latex:
        return _of_a_formula(ran, case)
    said = [f'{_truth(ran.test(**case))} for these numbers']
    if ran.slip:
        said.append(f'the mistake “{ran.slip[0]}”: {_truth(ran.slip[1](**case))} for these numbers')
    return '\n'.join(said)


def _of_a_formula(ran, case):
    from nbutils.printed import run
    from nbutils.printed.running import Formula

    options, meanings = ran.cases.get('options') or {}, _meanings(ran)
    formula = Formula(ran.latex, meanings, options)
    instances = formula.instances(formula.scope(case))
    true = formula.true_in(instances)
    if len(formula.met) < len(formula.claims):
        return 'the conditions of the formula are not met, so it says nothing of these numbers'
    sides = [value if isinstance(value, str) else checks._short(value) for value in formula.sides(instances)]
    said = [' '.join(sides[:_SHOWN]) + ' …' * (len(sides) > _SHOWN), f'{_truth(true)} for these numbers']
    if true:
        report = run(ran.latex, lambda test, drawn: (None if test(**case) else case, 1), options=options, **meanings)
        said.append(f'of {report.different} variants with one mistake each, {report.rejected} are false here')
    return '\n'.join(said)


def _meanings(ran):
    return {letter.rstrip('_'): value for letter, value in ran.cases.items() if letter not in _ASIDE}


def _drawn(ran):
    """Letter -> where its values are drawn from."""
    if not ran.latex:
        return ran.cases
    return {letter: values for letter, values in _meanings(ran).items()
            if hasattr(values, 'example') or isinstance(values, list) and not letter.endswith('_in')}


def _case(claim_id):
    """Of twenty cases that the check draws the one with the most different numbers, to show a reader what may be typed."""
    drawn, rows = _drawn(checks.RAN[claim_id]), []
    if all(isinstance(values, (list, tuple)) for values in drawn.values()):
        rows = checks._combined(drawn, 20)
    else:
        checks._found(drawn, rows.append, 20)  # None: none of them is a counterexample
    return dict(zip(drawn, max(rows, key=lambda row: len({*re.findall(r'[\d.]+', checks._short(row, 400))})), strict=True))


def _numbers(claim_id):
    """The letters of a case that a reader can type: no seed, and no function."""
    drawn = _drawn(checks.RAN[claim_id])
    return {letter: value for letter, value in _case(claim_id).items()
            if drawn[letter] is not checks.SEEDS and _is_typed(value)}


def _is_typed(value):
    if isinstance(value, (list, tuple)):
        return all(map(_is_typed, value))
    torch = sys.modules.get('torch')
    return isinstance(value, (int, float, np.number, np.ndarray)) or bool(torch and isinstance(value, torch.Tensor))


def _like(sample, value, letter):
    """What a reader has typed, in the type of a sample, and with as many axes."""
    if isinstance(sample, (bool, int, np.integer)) and value != int(value):
        raise TypeError(f'{letter} is a whole number, such as {checks._short(sample)}')
    if np.ndim(value) != np.ndim(sample):
        raise TypeError(f'{letter} has {np.ndim(sample)} axes, as in {checks._short(sample)}')
    torch = sys.modules.get('torch')
    if torch and isinstance(sample, torch.Tensor):
        return torch.as_tensor(value, dtype=sample.dtype)
    if isinstance(sample, np.ndarray):
        return np.asarray(value, dtype=sample.dtype)
    return type(sample)(value)


def _truth(verdict):
    return 'true' if verdict else 'false'
