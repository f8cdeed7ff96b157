"""What Chromium, in which the other checks run, shows well, and Safari or Firefox do not; found by looking, kept by reading the style sheet."""
import re
from pathlib import Path

import pytest

CSS = Path(__file__).resolve().parents[2] / 'book' / '_static' / 'book.css'
AMISS = {
    r'text-decoration: *\w+ +[^;}]+': 'Safari draws nothing where the short form has more than a line: name style and colour by themselves',
    r'var\(--edge\), transparent\) (?:left|right) /': 'in Safari a line is left beside a formula: put the shadow one pixel in',
    r'hyphens: *auto': 'Firefox and Safari then divide every word, in titles, too, where there is room on the next line',
}


@pytest.mark.parametrize('amiss', AMISS, ids=['text-decoration', 'shadows', 'hyphens'])
def test_the_style_sheet_suits_other_browsers(amiss):
    found = re.findall(amiss, CSS.read_text('utf-8'))
    assert not found, f'{found}: {AMISS[amiss]}'
