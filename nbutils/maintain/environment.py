"""The conditions under which every notebook is executed, in recording and in comparing alike."""
import os
import tempfile
from pathlib import Path

import nbutils

FIXED = {
    'OMP_NUM_THREADS': '1', 'MKL_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1',  # sums in a fixed order
    'PYTHONHASHSEED': '0', 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC',
    'MATPLOTLIBRC': str(Path(nbutils.__file__).with_name('book.mplstyle')),  # not the user's own settings
    'MPLBACKEND': 'module://matplotlib_inline.backend_inline',
    'PYDEVD_DISABLE_FILE_VALIDATION': '1',  # ipykernel's debugger would write to stderr
}


def fix():
    """Put the fixed conditions into this process's environment, from which kernels inherit them.

    Settings from outside win where they are there already, so that other conditions can be tried on purpose.
    """
    for name, value in FIXED.items():
        os.environ.setdefault(name, value)
    if 'IPYTHONDIR' not in os.environ:  # the user's start-up files are not part of the book
        os.environ['IPYTHONDIR'] = tempfile.mkdtemp(prefix='book-ipython-')
