"""Multilayer perceptrons: the meanings of letters."""
import numpy as np

from nbutils.cases import matrices, scalars
from nbutils.printed import of
from tests.prints import prints

prints(
    'hidden-collapse',
    x=matrices(1, 3), W_1=matrices(3, 2), b_1=matrices(1, 2), W_2=matrices(2, 2), b_2=matrices(1, 2),
)

_ends = np.linspace(0, 2, 5)  # of four pieces

prints(
    'hidden-hinges',
    m=4,
    a=0,
    f=[np.sin, np.exp, np.sqrt],
    t=[list(_ends[:-1])],
    s=of(lambda f: list(np.diff(f(_ends)) / 0.5)),
    relu=lambda z: max(z, 0),
    x=scalars(0, 2),
    f_m=of(lambda f: lambda x: np.interp(x, _ends, f(_ends))),
)

prints(
    'dl.limits.loan-increment',
    p=[lambda s, c=c, k=k: s**k / (s**k + c**k) for c in (20, 100) for k in (0.5, 1, 2)],
    slip=('turns the comparison round', 'p(50) - p(0) < p(1050) - p(1000)'),
)
