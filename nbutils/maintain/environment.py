"""The conditions under which every notebook is executed, in recording and in comparing alike."""
import contextlib
import json
import os
import sys
from pathlib import Path

import nbutils
from nbutils.maintain import notebooks

_package = Path(nbutils.__file__).parent

FIXED = {
    'OMP_NUM_THREADS': '1', 'MKL_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1',  # sums in a fixed order
    'PYTHONHASHSEED': '0', 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC',
    'MATPLOTLIBRC': str(_package / 'book.mplstyle'),  # not the user's own settings
    'IPYTHONDIR': str(_package.parent / '.cache' / 'ipython'),  # nor the user's start-up files
    'MPLBACKEND': 'module://matplotlib_inline.backend_inline',
    'PYDEVD_DISABLE_FILE_VALIDATION': '1',  # ipykernel's debugger would write to stderr
}
# Figures in the kernels of record and make test: the inline backend of IPython finds this in its settings. Readers' kernels
# draw PNGs, as they do by themselves.
INLINE_BACKEND = {
    'figure_formats': ['svg'],
    'print_figure_kwargs': {'bbox_inches': 'tight', 'dpi': 240},  # pictures within figures have double density
}


def fix():
    """Put the fixed conditions into this process's environment, from which kernels inherit them.

    Settings from outside win where they are there already, so that other conditions can be tried on purpose.
    """
    for name, value in FIXED.items():
        os.environ.setdefault(name, value)
    os.environ['MPLBACKEND'] = FIXED['MPLBACKEND']  # another one, agg for example, would lose every figure
    with contextlib.suppress(OSError):  # where it cannot be made, IPython takes a temporary one
        profile = Path(os.environ['IPYTHONDIR'], 'profile_default')
        profile.mkdir(parents=True, exist_ok=True)
        notebooks.replace(profile / 'ipython_kernel_config.json', json.dumps({'InlineBackend': INLINE_BACKEND}))


def restart(module, arguments=None):
    """Have `python -m module` run under the fixed conditions from its start, when Python reads some of them."""
    if 'PYTHONHASHSEED' not in os.environ:
        fix()
        os.execv(sys.executable, [sys.executable, '-m', module, *(sys.argv[1:] if arguments is None else arguments)])
    fix()
