"""Small real data sets, as plain arrays. All but Fashion-MNIST come with packages that the book installs anyway."""
import gzip
from typing import NamedTuple

import numpy as np


class Table(NamedTuple):
    """A data set: inputs `x`, targets `y`, and the names of the columns of `x` (None for pixels)."""
    x: np.ndarray
    y: np.ndarray
    names: tuple | None = None


def digits():
    """1797 handwritten digits: x (1797, 64) float64, the 8 x 8 pixels in [0, 1]; y (1797,) int64 in 0..9.

    Source: the test part of the UCI set 'Optical recognition of handwritten digits', in scikit-learn.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return Table(x / 16, y.astype(np.int64))


def diabetes():
    """442 patients: x (442, 10) float64, age (years), sex (1 or 2), body mass index (kg/m²), mean blood pressure
    (mmHg), and six blood serum values; y (442,) float64, how far the disease has come a year later (25 to 346,
    no unit). Nothing is scaled.

    Source: Efron, Hastie, Johnstone and Tibshirani (2004), 'Least angle regression', in scikit-learn.
    """
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    return Table(bunch.data, bunch.target, tuple(bunch.feature_names))


def photograph(name):
    """A colour photograph (427, 640, 3) float64 in [0, 1]: 'china' (a temple) or 'flower' (a dahlia).

    Source: the two sample images of scikit-learn. Raises ValueError for another name.
    """
    from sklearn.datasets import load_sample_image

    if name not in ('china', 'flower'):
        raise ValueError(f"there is no photograph {name!r}: choose 'china' or 'flower'")
    return load_sample_image(f'{name}.jpg') / 255


_FASHION = 'http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/'
_FASHION_SHA256 = {
    'train-images-idx3-ubyte.gz': '3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84',
    'train-labels-idx1-ubyte.gz': 'a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845',
    't10k-images-idx3-ubyte.gz': '346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073',
    't10k-labels-idx1-ubyte.gz': '67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5',
}


def fashion_mnist(part='train', *, source=_FASHION, folder=None):
    """Pictures of clothes: x (n, 784) float64, 28 x 28 pixels in [0, 1]; y (n,) int64 in 0..9.

    `part` is 'train' (n = 60000) or 'test' (n = 10000). Downloaded once (31 MB) from `source` into `folder` (by
    default the user's cache), and only if its SHA-256 is the known one. Raises ValueError for another part or a
    corrupt download, OSError with the remedy where there is no network or the folder cannot be written.

    Source: Xiao, Rasul and Vollgraf (2017), 'Fashion-MNIST'.
    """
    if part not in ('train', 'test'):
        raise ValueError(f"there is no part {part!r}: choose 'train' or 'test'")
    stem = {'train': 'train', 'test': 't10k'}[part]
    x = _idx(_fetch(f'{stem}-images-idx3-ubyte.gz', source, folder), header=16).reshape(-1, 784)
    return Table(x / 255, _idx(_fetch(f'{stem}-labels-idx1-ubyte.gz', source, folder), header=8).astype(np.int64))


def _fetch(name, source, folder):
    import pooch

    folder = folder or pooch.os_cache('deep-learning-verified')
    try:
        return pooch.retrieve(
            source + name, known_hash='sha256:' + _FASHION_SHA256[name], fname=name, path=folder,
            downloader=pooch.HTTPDownloader(timeout=30) if source.startswith('http') else None,
        )
    except ValueError as error:
        raise ValueError(f'{name} from {source} is corrupt or has changed; nothing was kept. Try again later') from error
    except OSError as error:
        raise OSError(
            f'{name} could not be fetched from {source} into {folder} ({error}). Check the network and that the '
            f'folder can be written, or put the file there by hand'
        ) from error


def _idx(path, header):
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)
