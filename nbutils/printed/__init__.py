"""The formula that a page displays is what its check executes: LaTeX is read, evaluated on drawn cases, and spoilt.

`tokens` and `grammar` make a tree of the LaTeX, `values`, `evaluating`, `operators` and `relations` give it a value,
`spoiling` makes single slips in it, and `running` puts them together.
"""
from nbutils.printed.running import Formula, Report, run
from nbutils.printed.tokens import FormulaError, ShapeError
from nbutils.printed.values import Box, Random, of

__all__ = ['Box', 'Formula', 'FormulaError', 'Random', 'Report', 'ShapeError', 'of', 'run']
