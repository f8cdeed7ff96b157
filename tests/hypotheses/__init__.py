"""What each hypothesis of a theorem is there for: a case that lacks it, for which the theorem fails. One file a chapter.

`book/hypotheses.yml` names the hypotheses of each theorem, in its own words, and says where a reader sees such a case: in a
check of the section (`check`), in other code of it (`code`), or in the tables here (`case`); or why there is none (`none`), or
that it is still to be shown (`needs`). `tests/book/test_hypotheses.py` runs the tables.
"""
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
NAMED = ROOT / 'book' / 'hypotheses.yml'
WAYS = ('check', 'code', 'case', 'none', 'needs')
TABLE = []


class Theorem(NamedTuple):
    """A theorem as a function of a case: where cases come from, and {hypothesis: [cases without it]}."""
    label: str
    statement: object
    cases: dict
    without: dict
    tries: int


def theorem(label, statement, /, *, without, tries=20, **cases):
    """Enter a theorem: `statement` is True for the `cases`, as in `holds`, and False for each case in `without`.

    `without` gives for a hypothesis one case that lacks it, or a list of them, each with all arguments of `statement`.
    """
    listed = {words: found if isinstance(found, list) else [found] for words, found in without.items()}
    TABLE.append(Theorem(label, statement, cases, listed, tries))


def table():
    """All entries, chapter by chapter."""
    for path in sorted(Path(__file__).parent.glob('*.py')):
        if path.stem != '__init__':
            import_module(f'tests.hypotheses.{path.stem}')
    return TABLE


def named():
    """{(section, label): {words of a hypothesis: (one of WAYS, what)}}; a theorem without any has one with empty words."""
    found = {}
    for section, theorems in yaml.load(NAMED.read_text('utf-8'), yaml.CSafeLoader).items():
        for label, hypotheses in theorems.items():
            if isinstance(hypotheses, str):
                hypotheses = {'': {'none': hypotheses}}
            found[section, label] = {words: _way(how) for words, how in hypotheses.items()}
    return found


def _way(how):
    return (how, '') if isinstance(how, str) else next(iter(how.items()))
