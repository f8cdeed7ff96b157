"""Faults of the ledger itself, as pairs of a place (file and line) and a message."""
import json
from collections.abc import Iterator

import yaml
from jsonschema import Draft202012Validator

from nbutils import ledger

from . import formula


def broken() -> Iterator[tuple[str, str]]:
    """What makes the ledger unreadable: files that are no YAML, entries that break the schema."""
    schema = Draft202012Validator(json.loads((ledger.FOLDER / 'schema.json').read_text('utf-8')))
    for file in ledger.FILES:
        try:
            headings = list(ledger.headings(file))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            yield f'{_name(file)}:{mark.line + 1}', f'no YAML: {error.problem}'
            continue
        errors = list(schema.iter_errors(headings))
        tree = _tree(file) if errors else None
        for error in errors:
            yield _place(file, tree, error.absolute_path), f'against schema.json: {error.message}'


def doubtful() -> Iterator[tuple[str, str]]:
    """Names given twice, and LaTeX that cannot be set. That its commands exist is tried in a browser (tests/site)."""
    seen = {}
    for file in ledger.FILES:
        tree = _tree(file)
        for path, entry in _entries(ledger.headings(file)):
            place = _place(file, tree, path)
            if entry['id'] in seen:
                yield place, f'{entry["id"]} is given twice, also in {seen[entry["id"]]}'
            seen.setdefault(entry['id'], place)
            for field, message in _latex_faults(entry):
                yield _place(file, tree, [*path, field]), f'{field} of {entry["id"]}: {message}'


def _entries(headings):
    """Path and content of every heading and every claim."""
    for n, heading in enumerate(headings):
        yield [n], heading
        for k, claim in enumerate(heading['claims']):
            yield [n, 'claims', k], claim


def _latex_faults(entry):
    for field in ('notes', 'correct'):
        if message := formula.fault(entry.get(field, '')):
            yield field, message
    if message := formula.prose_fault(entry.get('why', '')):
        yield 'why', message


def _tree(file):
    loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
    return yaml.compose((ledger.FOLDER / f'{file}.yml').read_text('utf-8'), Loader=loader)


def _place(file, tree, path):
    """File and line of the part of a file to which a path of keys and numbers leads."""
    node = tree
    for step in path:
        if isinstance(node, yaml.SequenceNode):
            node = node.value[step]
        else:
            node = next(value for key, value in node.value if key.value == step)
    return f'{_name(file)}:{node.start_mark.line + 1}'


def _name(file):
    return f'book/claims/{file}.yml'
