"""The kernels of these tests run little: what they are forked from holds little, so that it starts at once."""
from nbutils.maintain import execute

execute.preload([])
