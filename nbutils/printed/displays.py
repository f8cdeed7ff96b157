"""Where the displayed formulas come from: the pages' own sources in a checkout, a file made of them in a wheel."""

import json
import re
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
NOTEBOOKS = _PACKAGE.parent / 'notebooks'
PACKED = _PACKAGE / 'formulas.json'  # in a wheel, which holds no pages
_MATH = re.compile(r'^`{3,}\{math\}[ \t]*\n(.*?)^`{3,}', re.S | re.M)


def in_text(text: str) -> dict[str, str]:
    """The labelled displays of a page's Markdown, as {label: LaTeX}."""
    found = {}
    for body in _MATH.findall(text):
        if label := re.search(r'^:label:\s*(\S+)', body, re.M):
            found[label[1]] = re.sub(r'^:\w+:.*\n', '', body, flags=re.M).strip()
    return found


def in_source(path: Path) -> dict[str, str]:
    """The labelled displays of a notebook's `.py` file."""
    markdown = re.sub(r'^# ?', '', path.read_text('utf-8'), flags=re.M)
    return in_text(markdown)


@cache
def displays() -> dict[str, str]:
    """All labelled displays of the book, as {label: LaTeX}. Raises FileNotFoundError where neither pages nor file are
    there."""
    if NOTEBOOKS.is_dir():
        return {label: latex for path in sorted(NOTEBOOKS.glob('*/*.py')) for label, latex in in_source(path).items()}
    return json.loads(PACKED.read_text('utf-8'))


def display(label: str) -> str:
    """The LaTeX of the display with this label. Raises KeyError where there is none."""
    if label not in displays():
        raise KeyError(f'no display with the label {label}: print it in a math block with  :label: {label}')
    return displays()[label]
