# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Standardizing and whitening data
#
# - **Question.** When are the columns of a data set comparable, when are they free of each other, and what does it cost to make them so?
# - **You need** the spectral theorem from [Eigenvalue decomposition](../linear_algebra/eigendecomposition.ipynb), the
#   [Singular value decomposition](../linear_algebra/singular_value_decomposition.ipynb), Cholesky factors from [LU decomposition](../linear_algebra/lu_decomposition.ipynb).
# - **You build** standardization, three whitenings and the reason why there are no others but their rotations, and a remedy for too few samples.
# - **Time** 8 s.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/heads/main.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
from scipy.stats import ortho_group, zscore
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from nbutils import ledger
from nbutils.cases import integers, scalars, seeds
from nbutils.checks import close, grade, holds
from nbutils.data import diabetes, digits, photograph
from nbutils.figures import GREY, panels, show_image

plt.style.use('nbutils.book')

# %% [markdown]
# ## What the applications ask of a matrix
#
# The sections of this chapter have taken matrices apart: into triangles, into perpendicular columns, into eigenvalues, into
# turn, stretch and turn. Now the pieces earn their keep. The notes list twelve applications, from preparing data to models of
# shapes in space. They look unrelated, but all of them put one of very few questions to a matrix:
#
# - *What does it do to a vector?* A linear layer, an embedding, an attention head are matrix products and dot products.
# - *Which vector does it come from?* Least squares undo a matrix, through an orthogonal factor or the singular values.
# - *What does it leave unchanged?* Equivariant networks ask which maps commute with a group; lengths and
#   angles are what a rotation keeps.
# - *How does it change volumes?* Moving a density through a map multiplies it by a determinant.
# - *Along which axes is it simple?* Whitening asks for the axes of a covariance matrix, and so does this section.
#
# The map below says which application leans on which tool; it is checked against the table of contents, so that no line
# leads nowhere.

# %%
tools = ['norms', 'dot_products', 'matrix_multiplication', 'determinants', 'lu_decomposition',
         'qr_decomposition', 'eigendecomposition', 'singular_value_decomposition']
