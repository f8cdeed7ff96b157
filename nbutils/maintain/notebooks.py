"""The notebooks of the book, and what each one depends on."""
import ast
import contextlib
import functools
import hashlib
import json
import os
import re
import sys
from importlib import metadata
from pathlib import Path

import jupytext
import nbformat

from nbutils import ledger

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / 'notebooks'
SEEN = ROOT / '.cache' / 'seen.json'
RUNS_IN = re.compile(r'\*\*Runs in\*\* (\d+) seconds?\b')  # in the opening of a section
HEADING = re.compile(r'(?:\(\S+\)=\n+)?## ')  # of a part
PARSED = ROOT / '.cache' / 'parsed'
DATA, WEIGHTS = (ROOT / 'nbutils' / folder / '__init__.py' for folder in ('data', 'weights'))
FOLDED = {'checks'}  # tags of cells whose code JupyterLab and Colab fold
CAPTION = 'caption'  # tag of the text below a figure, which a page sets as its caption and JupyterLab and Colab as a cell
EXECUTING = ('compare', 'environment', 'execute', 'notebooks', 'record', 'rerun', 'svg')  # what executes and compares


def sources():
    """The paths of all notebooks' `.py` files, sorted."""
    return sorted(p for p in NOTEBOOKS.glob('*/*.py') if '.ipynb_checkpoints' not in p.parts)


def name(path):
    """What a notebook is called: `chapter/section`."""
    return f'{path.parent.name}/{path.stem}'


def read(path):
    """The notebook of a `.py` file, with cell ids that depend on the cells' text alone, and what is folded marked so.

    The text of a caption cell becomes the caption of the figure above it as well, and pages leave the cell out.
    """
    notebook = _parsed_before(path)
    seen, above = {}, None
    for cell in notebook.cells:
        key = hashlib.sha256(f'{cell.cell_type}\n{cell.source}'.encode()).hexdigest()[:8]
        seen[key] = seen.get(key, 0) + 1
        cell['id'] = key if seen[key] == 1 else f'{key}-{seen[key]}'
        if FOLDED & {*cell.metadata.get('tags', [])}:
            cell.metadata |= {'jupyter': {'source_hidden': True}, 'cellView': 'form'}
        if is_caption(cell):
            cell.metadata['tags'] = [CAPTION, 'remove-cell']
            if above is not None:
                caption = {'figure': {'caption': ' '.join(cell.source.split())}}
                above.metadata['mystnb'] = {**above.metadata.get('mystnb', {}), **caption}
        above = cell if cell.cell_type == 'code' else None
    about = {'book': notebook.metadata['book']} if 'book' in notebook.metadata else {}
    notebook.metadata = about | {
        'kernelspec': {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'},
        'language_info': {'name': 'python', 'pygments_lexer': 'ipython3'},
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def _parsed_before(path):
    """What jupytext makes of a file, kept by its text: a section takes it a sixth of a second, and every tool reads all."""
    path = Path(path)
    key = hashlib.sha256(jupytext.__version__.encode() + path.read_bytes()).hexdigest()[:20]
    kept = PARSED / f'{path.parent.name}-{path.stem}-{key}.json'
    if kept.is_file():
        return nbformat.from_dict(json.loads(kept.read_text('utf-8')))
    notebook = jupytext.read(path)
    with contextlib.suppress(OSError):  # a full disk, or a folder that nobody may write: it is read again next time
        PARSED.mkdir(parents=True, exist_ok=True)
        for old in PARSED.glob(f'{path.parent.name}-{path.stem}-*.json'):
            old.unlink(missing_ok=True)
        replace(kept, json.dumps(notebook))
    return notebook


def parsed(text):
    """The notebook in the text of a `.py` file, an older one for example."""
    return jupytext.reads(text, 'py:percent')


def parts(cells):
    """For each cell, of nbformat or of its JSON, the number of its part, counted by the headings `##`; 0 for the opening.

    Above a heading may stand its anchor.
    """
    found, part = [], 0
    for cell in cells:
        part += cell['cell_type'] == 'markdown' and bool(HEADING.match(''.join(cell['source'])))
        found.append(part)
    return found


def is_caption(cell):
    """Whether a cell, of nbformat or of its JSON, is the caption of the figure above it."""
    return cell['cell_type'] == 'markdown' and CAPTION in cell['metadata'].get('tags', [])


def is_prose(cell):
    """Whether a cell is text of the section, not a caption."""
    return cell['cell_type'] == 'markdown' and not is_caption(cell)


def about(cell):
    """(kind, text) of the caption and the alt text of a cell, of nbformat or of its JSON; '' where it has none."""
    mystnb = cell['metadata'].get('mystnb', {})
    for kind, holder, key in (('caption', 'figure', 'caption'), ('alt text', 'image', 'alt')):
        yield kind, mystnb.get(holder, {}).get(key, '')


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


@functools.cache  # the same few modules stand behind every notebook
def _imports(text):
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f'{node.module}.{alias.name}' for alias in node.names)]
    return found


def libraries(path):
    """The names of what a notebook imports that is not of this project, directly or through this project's modules."""
    own = {path.stem for path in ROOT.iterdir()}
    found = {name for file in [path, *modules(path)] for name in _imports(file.read_text('utf-8'))}
    return {name for name in found if name.partition('.')[0] not in own}


def inputs(path):
    """All that a notebook's outputs hang on, the stored outputs included, as {name: fingerprint}."""
    files = [path, path.with_suffix('.ipynb'), ROOT / 'requirements.txt', ROOT / 'constraints.txt']
    files += [ROOT / 'nbutils' / 'book.mplstyle', *modules(path)]
    files += [ROOT / 'nbutils' / 'maintain' / f'{module}.py' for module in EXECUTING]
    if DATA in files:
        files += DATA.parent.glob('*.*z')  # what it reads
    if WEIGHTS in files:
        files += WEIGHTS.parent.glob('*.safetensors')
    found = {str(f.relative_to(ROOT)): _fingerprint(f.read_bytes()) for f in sorted({*files}) if f.is_file()}
    claims = [c for c in ledger.claims().values() if c.section == name(path)]
    return found | {'python': sys.version, 'installed packages': _installed(ROOT),
                    'its claims in the ledger': _fingerprint(json.dumps(claims).encode())}


@functools.cache
def _installed(root):
    """A fingerprint of the versions that are installed of what is pinned, which need not be those that are pinned."""
    files = [root / name for name in ('requirements.txt', 'constraints.txt')]
    pins = ''.join(file.read_text('utf-8') for file in files if file.is_file())
    found = []
    for package in sorted({*re.findall(r'^([\w.-]+)==', pins, re.M)}):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f'{package} {metadata.version(package)}')
    return _fingerprint('\n'.join(found).encode())


def _fingerprint(content):
    return hashlib.sha256(content).hexdigest()[:16]


def why(path, known):
    """Why a notebook must be executed: the names of the inputs that differ from the `known` ones (of `seen`)."""
    if name(path) not in known:
        return ['not executed here before']
    now, then = inputs(path), known[name(path)]
    return sorted(k for k in now.keys() | then.keys() if now.get(k) != then.get(k))


def seen():
    """For each notebook, the inputs with which its outputs were last seen to be right on this machine."""
    return json.loads(SEEN.read_text('utf-8')) if SEEN.is_file() else {}


def remember(paths):
    """Note that the stored outputs of these notebooks are right with their present inputs."""
    SEEN.parent.mkdir(exist_ok=True)
    replace(SEEN, json.dumps(seen() | {name(p): inputs(p) for p in paths}, indent=1, sort_keys=True) + '\n')


def replace(target, content):
    """Write a file, text or bytes, whole or not at all. Raises OSError, with the old one left as it was."""
    part = target.with_name(f'{target.name}.{os.getpid()}')
    try:
        part.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.replace(part, target)
    except OSError:
        part.unlink(missing_ok=True)
        raise
