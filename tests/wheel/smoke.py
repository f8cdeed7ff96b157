"""What a reader does with nbutils, in a process that has nothing but the wheel and what it declares. Run by install.py."""
import contextlib
import importlib.metadata
import importlib.util
import io
import sys
from pathlib import Path

import matplotlib
import numpy as np
import sympy

matplotlib.use('agg')
import matplotlib.pyplot as plt

import nbutils
from nbutils import cases, data, device, figures, ledger, timing, training, weights  # noqa: F401
from nbutils.checks import close, grade, holds, verify


def said(function, *arguments, **options):
    """What a call prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        function(*arguments, **options)
    return printed.getvalue()


def fails(function, *arguments, error=AssertionError, **options):
    try:
        function(*arguments, **options)
    except error:
        return True
    return False


package = Path(nbutils.__file__).parent
assert package.is_relative_to(sys.prefix), f'{package} is not the installed one'
assert importlib.util.find_spec('nbutils.maintain') is None, 'what maintainers run is in the wheel'

assert len(ledger.claims()) == 674 and ledger.claim('dl.norms.homog').verdict == 'correct'
drawn = {'x': cases.vectors(3), 'a': cases.scalars()}


def scales(x, a):
    return close(np.linalg.norm(a * x), abs(a) * np.linalg.norm(x))


def without_bars(x, a):
    return close(np.linalg.norm(a * x), a * np.linalg.norm(x))


line = said(holds, 'dl.norms.homog', scales, slip=('says no', without_bars), **drawn)
assert line.startswith('✓ dl.norms.homog holds in ') and 'would notice: says no (' in line, line
line = said(verify, 'A norm scales', scales, slip=('says no', without_bars), **drawn)
assert line.startswith('✓ A norm scales: holds'), line
assert fails(verify, 'A norm scales with the sign', without_bars, slip=('says no', without_bars), **drawn)
assert fails(verify, 'Nothing else would do', scales, slip=('says no', scales), **drawn)
assert fails(holds, 'dl.norms.nothing', scales, slip=('says no', without_bars), error=KeyError)
assert close(sympy.Matrix([1, sympy.Rational(1, 2)]), np.array([[1], [0.5]])) and not close(1.0, 1.1)

line = said(holds, 'la.cross.binet-cauchy', **dict.fromkeys('abcd', cases.vectors(3)))
assert line.startswith('✓ la.cross.binet-cauchy: as printed, '), line
assert not importlib.metadata.distribution('nbutils').entry_points

assert grade(lambda x: x * x, lambda x: abs(x) ** 2, x=cases.scalars())
assert not grade(lambda x: 2 * x, lambda x: abs(x) + x, x=cases.scalars())  # right above zero
asked = [(1.0,), (3.0,)]
assert grade(lambda x: 2 * x, lambda x: x + x, asked) and not grade(lambda x: x * x, lambda x: x + x, asked)

x, y, _ = data.digits()
assert x.shape == (1797, 64) and y.shape == (1797,)
assert data.mnist('test').x.shape == (1000, 784) and data.mnist_1d().x.shape == (4000, 40)
assert data.alice().startswith('chapter i.') and len(data.compas()['age']) == 6172 and len(data.face_detector()) == 13
assert (weights.FOLDER / 'alice_gru.safetensors').is_file() and len(weights.digest(x)) == 64
with plt.style.context('nbutils.book'):
    figure, axes = figures.panels(2)
    figures.show_image(axes[0], x[0].reshape(8, 8))
    axes[1].plot([0, 1], [0, 1], label='a line')
    figures.label_lines(axes[1])
    figure.savefig(io.BytesIO())
few, many = timing.seconds(lambda: sum(range(1000)), lambda: sum(range(100_000)))
assert 0 < few < many

versions = {name: importlib.metadata.version(name) for name in ('hypothesis', 'numpy', 'scipy', 'scikit-learn', 'matplotlib')}
print(f'Python {sys.version.split()[0]}:', ', '.join(f'{name} {version}' for name, version in versions.items()), '- all well')
