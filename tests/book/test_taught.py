"""What a section teaches can be taken away: it runs in a plain session, in float32 and in float64, with the same result.

The header of a section names its functions, each with an example of its use:

    #   book:
    #     main: la.attention.formula
    #     functions:
    #       attention: attention(normal(3, 4), normal(5, 4), normal(5, 2))

`normal(...)` and `uniform(...)` draw arrays of numpy or torch, whichever the functions use, in the type that is tried: torch
where their section imports it and none of them names anything of numpy, scipy or scikit-learn.
"""
import ast
from functools import cache

import numpy as np
import pytest
import torch

from nbutils.maintain import notebooks

TOLERANCE = {'rtol': 1e-3, 'atol': 1e-4}  # of float32: a hundred roundings of 6e-8, times condition numbers of some tens


def taught(path):
    """(name, example) of each function that the header of a section names."""
    return notebooks.read(path).metadata.get('book', {}).get('functions', {}).items()


@cache
def statements(path):
    """The syntax trees of all statements of a section, which are read for each of its functions."""
    return [node for cell in notebooks.read(path).cells if cell.cell_type == 'code' for node in ast.parse(cell.source).body]


def pasted(path, names):
    """The imports of other people's libraries in a section, and the definitions of these names alone, as one text."""
    nodes = statements(path)
    imports = [node for node in nodes if isinstance(node, ast.Import) and node.names[0].name != 'nbutils'
               or isinstance(node, ast.ImportFrom) and not node.module.startswith('nbutils')]
    wanted = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names]
    assert {node.name for node in wanted} == set(names), f'no definitions of {sorted(set(names) - {node.name for node in wanted})}'
    return '\n\n'.join(ast.unparse(node) for node in [*imports, *wanted])


def takes_tensors(text):
    """Whether definitions are for tensors: torch is imported, and they name nothing of numpy, scipy or scikit-learn."""
    nodes = ast.parse(text).body
    names = {}  # library -> what an import binds
    for node in nodes:
        for alias in getattr(node, 'names', ()):
            library = (node.module if isinstance(node, ast.ImportFrom) else alias.name).split('.')[0]
            names.setdefault(library, set()).add(alias.asname or alias.name.split('.')[0])
    used = {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}
    return 'torch' in names and not used & set().union(*(names.get(lib, set()) for lib in ('numpy', 'scipy', 'sklearn')))


def run(text, example, kind):
    """What the example gives where `normal` and `uniform` draw the same numbers in the type `kind`, 'float32' or 'float64'."""
    rng, torch_based = np.random.default_rng(0), takes_tensors(text)

    def array(numbers):
        numbers = np.asarray(numbers, kind)
        return torch.tensor(numbers) if torch_based else numbers

    session = {'normal': lambda *shape: array(rng.normal(size=shape)), 'uniform': lambda *shape: array(rng.random(shape))}
    exec(text, session)  # the definitions, as a reader pastes them
    return eval(example, session)


def numbers(value):
    """The arrays in what a function gives: one, or those in a tuple or list."""
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in numbers(part)]
    return [value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)]


@pytest.mark.parametrize('path, name', [
    (path, name) for path in notebooks.sources() for name, _ in taught(path)], ids=lambda part: getattr(part, 'stem', part))
def test_a_function_runs_outside_its_notebook(path, name):
    functions = dict(taught(path))
    text = pasted(path, functions)
    half, full = (numbers(run(text, functions[name], kind)) for kind in ('float32', 'float64'))
    assert len(half) == len(full)
    for a, b in zip(half, full, strict=True):
        assert np.isfinite(b).all()
        np.testing.assert_allclose(a, b, **TOLERANCE)
        if b.dtype == np.float64 and b.ndim:
            assert a.dtype == np.float32, f'{name} makes {a.dtype} of float32'


def test_every_section_names_what_it_teaches():
    without = {notebooks.name(path) for path in notebooks.sources() if not taught(path)}
    assert not without, f'book: functions: is missing in the headers of {sorted(without)}'


@pytest.mark.parametrize('code, error', [
    ('def f(x):\n    return x @ A', NameError),  # leans on its notebook
    ('import torch\n\ndef f(x):\n    return x @ torch.ones(3, dtype=torch.float64)', RuntimeError),  # takes one type alone
])
def test_what_cannot_be_taken_away_is_noticed(code, error):
    with pytest.raises(error):
        run(code, 'f(normal(3))', 'float32')


@pytest.mark.parametrize('text, tensors', [
    ('import torch\n\ndef f(x):\n    return x.softmax(-1)', True),
    ('import torch\nimport numpy as np\n\ndef f(x):\n    return x @ np.eye(3)', False),
    ('import torch\nfrom numpy.linalg import solve\n\ndef f(x):\n    return solve(x, x)', False),
    ('import numpy as np\n\ndef f(x):\n    return x + x', False),
])
def test_whether_functions_take_tensors_is_seen(text, tensors):
    assert takes_tensors(text) is tensors
