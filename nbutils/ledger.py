"""The ledger of claims: what the notes say, and the verdict on each statement. Source: `book/claims/*.yml`."""
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

_here = Path(__file__).parent
# in a checkout the ledger lies in book/; a wheel carries a copy inside the package
FOLDER = next((f for f in (_here.parent / 'book' / 'claims', _here / 'claims') if f.is_dir()), None)
FILES = ('dl', 'aw', 'ml', 'la')  # one file per set of notes, named by the prefix of its ids


class Claim(NamedTuple):
    """One statement of the notes. `notes` and `correct` are LaTeX; the last seven may be None."""
    id: str
    heading: str
    section: str
    notes: str
    verdict: str
    correct: str | None = None
    why: str | None = None
    remark: str | None = None
    was: dict | None = None
    uncheckable: str | None = None
    title: str | None = None
    display: str | None = None


@cache
def headings(prefix):
    """The headings of one set of notes, in order, as a tuple of dicts (see `book/claims/README.md`).

    `prefix` is one of 'dl', 'aw', 'ml', 'la'. Raises FileNotFoundError where the ledger is not installed.
    """
    if FOLDER is None:
        raise FileNotFoundError('the ledger of claims is missing: expected book/claims beside nbutils')
    loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
    with open(FOLDER / f'{prefix}.yml', encoding='utf-8') as file:  # an open file: yaml's errors name it
        return tuple(yaml.load(file, Loader=loader))


@cache
def claims(prefix=None):
    """All claims, or those of one set of notes, as a dict from id to `Claim`, in the order of the notes."""
    chosen = FILES if prefix is None else (prefix,)
    return {
        c['id']: Claim(heading=h['id'], section=h['section'], **c)
        for p in chosen for h in headings(p) for c in h['claims']
    }


def claim(claim_id):
    """The `Claim` with this id. Raises KeyError with the nearest known ids where there is none."""
    prefix = claim_id.split('.')[0]
    known = claims(prefix) if prefix in FILES else {}
    if claim_id in known:
        return known[claim_id]
    from difflib import get_close_matches
    near = get_close_matches(claim_id, claims(), n=3)
    hint = f'; did you mean {" or ".join(near)}?' if near else ''
    raise KeyError(f'no claim {claim_id!r} in book/claims{hint}')
