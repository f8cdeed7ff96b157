"""The notebooks of the book, and what each one depends on."""
import ast
import hashlib
import json
from pathlib import Path

import jupytext

from nbutils import ledger

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / 'notebooks'


def sources():
    """The paths of all notebooks' `.py` files, sorted."""
    return sorted(p for p in NOTEBOOKS.glob('*/*.py') if '.ipynb_checkpoints' not in p.parts)


def name(path):
    """What a notebook is called: `chapter/section`."""
    return f'{path.parent.name}/{path.stem}'


def read(path):
    """The notebook of a `.py` file, with cell ids that depend on the cells' text alone."""
    notebook = jupytext.read(path)
    seen = {}
    for cell in notebook.cells:
        key = hashlib.sha256(f'{cell.cell_type}\n{cell.source}'.encode()).hexdigest()[:8]
        seen[key] = seen.get(key, 0) + 1
        cell['id'] = key if seen[key] == 1 else f'{key}-{seen[key]}'
    notebook.metadata = {
        'kernelspec': {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'},
        'language_info': {'name': 'python'},
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def cells_of(notebook):
    """What a pair must agree in: the type, the text and the metadata of each cell."""
    return [(c.cell_type, c.source.rstrip(), dict(c.metadata)) for c in notebook.cells]


def modules(path):
    """The files of this project that a Python file imports, directly or through others."""
    found, todo = set(), [path]
    while todo:
        for module in _imports(todo.pop().read_text('utf-8')):
            stem = ROOT.joinpath(*module.split('.'))
            for file in (stem.with_suffix('.py'), stem / '__init__.py'):
                if file.is_file() and file not in found:
                    found.add(file)
                    todo.append(file)
    return sorted(found)


def _imports(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


def digest(path):
    """A fingerprint of all that a notebook's outputs hang on, the stored outputs included."""
    own = [path, path.with_suffix('.ipynb'), ROOT / 'requirements.txt', ROOT / 'nbutils' / 'book.mplstyle']
    own += sorted((ROOT / 'nbutils' / 'maintain').glob('*.py'))
    hashed = hashlib.sha256()
    for file in sorted({*own, *modules(path)}):
        hashed.update(str(file.relative_to(ROOT)).encode() + b'\0')
        hashed.update(file.read_bytes() if file.is_file() else b'missing')
    claims = [c for c in ledger.claims().values() if c.section == name(path)]
    hashed.update(json.dumps(claims).encode())
    return hashed.hexdigest()
