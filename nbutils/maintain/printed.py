"""Which labelled displays of the book run as printed: on their pages, in the table of tests/prints, or not, and why not.

`python -m nbutils.maintain.printed` prints the counts by chapter and writes their sums, which the claims page of the site
states, into `book/printed.yml`.
"""
import sys
from collections import Counter

import yaml

from nbutils import ledger
from nbutils.maintain import notebooks, sections
from nbutils.printed.displays import in_text
from nbutils.printed.grammar import STATEMENTS, parse
from nbutils.printed.tokens import FormulaError

SUMS = notebooks.ROOT / 'book' / 'printed.yml'
PLACES = ('page', 'table', 'words', 'definition', 'quantifier', 'asymptotic', 'notation', 'open')


def has_relation(latex: str) -> bool:
    """Whether a display states something, so far as it can be read."""
    try:
        return any(part.role == 'claim' and part.node.op in STATEMENTS for part in parse(latex))
    except FormulaError:
        return True


def places(book: dict, table: dict, unrun: dict) -> dict[str, tuple[str, str]]:
    """{label: (chapter, one of PLACES)} for each labelled display of a book, as of `read_all`, that has a relation."""
    found = {}
    for name, section in book.items():
        on_page = section.executed
        for label, latex in in_text(section.prose).items():
            if label in on_page:
                place = 'page'
            elif label in table:
                place = 'table'
            elif label in unrun:
                place = unrun[label][0]
            elif has_relation(latex):
                place = 'open'
            else:
                continue
            found[label] = name.partition('/')[0], place
    return found


def sums(found: dict) -> dict[str, int]:
    """How many labelled displays have a relation, how many of them run as printed, and the same of those of claims."""
    claims = {label: place for label, place in found.items() if label in ledger.claims()}
    return {name: number for prefix, group in (('displays', found), ('claim-displays', claims)) for name, number in (
        (prefix, len(group)), (f'{prefix}-run', sum(place in ('page', 'table') for _, place in group.values())))}


def main():
    sys.path.insert(0, str(notebooks.ROOT))
    from tests import prints

    found = places(sections.read_all(), prints.table(), prints.unrun())
    print(f'{"":16}' + ''.join(f'{place:>12}' for place in PLACES))
    for chapter in sorted({chapter for chapter, _ in found.values()}):
        counts = Counter(place for where, place in found.values() if where == chapter)
        print(f'{chapter:16}' + ''.join(f'{counts[place]:12}' for place in PLACES))
    total = sums(found)
    print(f'{total["displays-run"]} of {total["displays"]} labelled displays with a relation run as printed, '
          f'{total["claim-displays-run"]} of {total["claim-displays"]} of those of claims.')
    SUMS.write_text('# made by make printed\n' + yaml.safe_dump(total, sort_keys=False), 'utf-8')


if __name__ == '__main__':
    main()
