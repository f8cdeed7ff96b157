"""Which edition of the book a build shows: its version, and a date that the next build of the same sources says again."""
import datetime
import re
import subprocess
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxRole

MONTHS = ('January February March April May June July August September October November December').split()  # in every locale


def said(root: str | Path) -> str:
    """'0.2.0 of 3 May 2026' where CHANGELOG.md dates the version of CITATION.cff; before that the date of the last commit,
    and where there is no git, as in an unpacked archive, the date in CITATION.cff."""
    root = Path(root)
    about = yaml.safe_load((root / 'CITATION.cff').read_text('utf-8'))
    changes = (root / 'CHANGELOG.md').read_text('utf-8')
    if released := re.search(rf'^## \[{re.escape(about["version"])}\] - (\d{{4}}-\d\d-\d\d)$', changes, re.M):
        return f'{about["version"]} of {_written(datetime.date.fromisoformat(released[1]))}'
    return f'{about["version"]}, not yet released, as of {_written(_committed(root) or about["date-released"])}'


def _committed(root):
    """The date of the commit that is checked out, None without one. A repository around an unpacked archive is another's."""
    if not (root / '.git').exists():
        return None
    command = ['git', '-C', str(root), 'log', '-1', '--format=%cs']
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10).stdout
        return datetime.date.fromisoformat(said.strip())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def _written(date):
    return f'{date.day} {MONTHS[date.month - 1]} {date.year}'


class Edition(SphinxRole):
    """The version of the book and its date: {edition}`version`."""

    def run(self) -> tuple[list[nodes.Node], list]:
        return [nodes.Text(said(self.env.srcdir))], []
