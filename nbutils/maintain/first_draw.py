"""Imported where kernels are forked from: hypothesis draws once, while the garbage collector still sees what it holds.

When it first draws it looks for what refers to its source of random numbers. In a kernel it would find nothing, since what
is frozen there (see `execute`) has no referrers, and warn of it on Python 3.14.
"""
import hypothesis
from hypothesis import strategies as st

hypothesis.find(st.none(), lambda _: True, settings=hypothesis.settings(database=None))
