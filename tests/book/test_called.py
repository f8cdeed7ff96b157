"""Every function that a section shows is called by a check, a verdict or an exercise: else only its printed results say that it
is right, and they are recorded as they come."""
from pathlib import Path

import yaml

LISTED = yaml.safe_load(Path(__file__).with_name('uncalled.yml').read_text('utf-8'))


def test_functions_in_view_are_called_by_checks(book):
    found = {(name, function) for name, section in book.items() for function in section.uncalled}
    listed = {(name, function) for name, functions in LISTED.items() for function in functions}
    assert not (bad := sorted(found - listed)), (
        f'check these against another route, a library or a formula (verify, holds), or list them in uncalled.yml with the reason: {bad}')
    assert not (bad := sorted(listed - found)), f'take these from uncalled.yml: {bad}'
    assert all(len(reason.split()) > 3 for functions in LISTED.values() for reason in functions.values())
