"""A displayed formula as a check: it must hold as printed, and slips in it must be rejected."""

import re
from collections.abc import Callable

from nbutils.printed.grammar import RELATIONS, walk
from nbutils.printed.relations import stated
from nbutils.printed.running import MISHAPS, Formula, Report, run
from nbutils.printed.spoiling import TURNS
from nbutils.printed.tokens import FormulaError

INEQUALITIES = {'<=', '>=', '<', '>', 'psd', 'pd', 'nsd', 'nd'}
WEAK = {'<=', '>=', 'psd', 'nsd'}
OF_ZERO = re.compile(r'minus added: (0|\\mathbf\{0\}) → -\1( \(\d+\))?')


def check(
    name: str, latex: str, search: Callable, *, slip=None, equality=None, also_true=0, also_turned=0,
    alike=(), options=None, **meanings,
) -> Report:
    """Run a display and all its spoilt prints.

    A print of inequalities alone also needs `equality`, a dict of values of the letters at which its sides are equal (or a
    list of dicts, where several inequalities are not sharp at once), or `slip`, a pair of words that name a mistake and the
    LaTeX with that mistake, or a list of such pairs: true weaker statements are among its spoilt prints. `also_true` is how
    many spoilt prints of an equation may survive because they say something else that is true, and of an inequality, if they
    are sharp in the cases of equality. Each inequality and each implication, turned round, must be rejected, wherever it
    stands, which takes a case in which it is strict; `also_turned` is how many of them are true in both ways. `alike` maps
    the names of slips that leave all sides what they are in each case to the reasons why they say the same; for an
    inequality that has a `slip` alone, also those of true prints that have less room in some case. All of them must be
    there. Raises AssertionError where the print fails, a slip is not rejected, or the cases do not try an implication.
    """
    sharp = [equality] if isinstance(equality, dict) else equality or []
    sharp = [{k.rstrip('_'): v for k, v in case.items()} for case in sharp]
    report = run(latex, search, options=options, more=sharp, **meanings)
    if report.counterexample is not None:
        raise AssertionError(f'{name} fails as printed', report.counterexample)
    formula = report.formula
    signs = {RELATIONS[sign.text] for claim in formula.claims for _, sign, _ in stated(claim, supposed=False)}
    unequal = signs <= INEQUALITIES and not any(node.op == 'iff' for claim in formula.claims for node in walk(claim))
    if unequal and not sharp and slip is None:
        raise TypeError(
            f'{name}: an inequality needs equality={{...}}, a case in which its sides are equal, '
            "or slip=('words that name a mistake', LaTeX)"
        )
    if sharp and (loose := _loose(formula, sharp, every=slip is None)):
        raise AssertionError(f'{name}: the sides are not equal in the case that was given as one of equality: '
                             + latex[slice(*loose[0])])
    for words, latex_with_slip in [slip] if isinstance(slip, tuple) else slip or []:
        _must_fail(name, words, latex_with_slip, search, options, meanings)
    if report.idle:
        raise AssertionError(f'{name}: {report.idle[0]}')
    turned = [text for kind, text in report.spoilt['survived'] if kind in TURNS]
    if len(turned) > also_turned:
        raise AssertionError(f'{name}: {len(turned)} relations hold turned round as well, for example {turned[0]}')
    survived = [(kind, text) for kind, text in report.spoilt['survived'] if kind not in TURNS]
    loose = unequal and not sharp
    _must_be(name, alike, report, [text for _, text in survived if loose and not report.follows(text)])
    if not report.rejected and slip is None:
        raise AssertionError(f'{name}: no spoilt print was rejected, so the check proves nothing')
    if unequal:  # a weaker one is no longer sharp; where a slip stands, no case of equality says so much
        survived = [(kind, text) for kind, text in survived if slip is None and not _loosened(text, formula, sharp)]
    if len(survived) > also_true:
        kind, text = survived[0]
        raise AssertionError(f'{name}: {len(survived)} spoilt prints hold as well, for example ({kind}) {text}')
    return report


def _loose(formula, cases, every=True):
    """The places of the inequalities, strict ones aside, whose sides are equal in none of the cases; unless `every`, no
    places where one of them is sharp."""
    found = {}  # place of both sides -> whether they were equal
    for case in cases:
        for left, right, equal in formula.compared(WEAK, case):
            place = left.start, right.end
            found[place] = found.get(place, False) or equal
    loose = [place for place, equal in found.items() if not equal]
    return loose if every or len(loose) == len(found) else []


def _loosened(text, formula, cases):
    """Whether a spoilt print, which is true, has no equal sides any more."""
    try:
        return bool(_loose(Formula(text, formula.meanings, formula.options, definable=set(formula.defined)), cases))
    except (FormulaError, *MISHAPS):
        return True


def _must_be(name, alike, report, stronger):
    """Raises AssertionError where other slips than those in `alike` make no difference in any case, or give a stronger
    inequality that is true. Factors that are swapped, and a minus before a zero, need not be there."""
    same = [text for kind, text in report.spoilt['same'] if kind != 'factors swapped']
    found = {report.names[text]: text for text in (*same, *stronger)}
    found = {slip: text for slip, text in found.items() if not OF_ZERO.fullmatch(slip)}
    for slip in sorted(found.keys() - set(alike)):
        raise AssertionError(f'{name}: no case tells what is displayed from this ({slip}): {found[slip]}. '
                             'Choose others, or say with `alike` why it is true as well')
    for slip in sorted(set(alike) - found.keys()):
        raise AssertionError(f'{name}: `alike` names a slip that is noticed, or not made: {slip}')


def _must_fail(name, words, latex, search, options, meanings):
    try:
        found = run(latex, search, spoil=False, options=options, **meanings).counterexample
    except (FormulaError, *MISHAPS) as error:
        raise AssertionError(f'{name}: the slip {words!r} cannot be run: {error}') from error
    if found is None:
        raise AssertionError(f'{name}: the slip {words!r} was not rejected')
