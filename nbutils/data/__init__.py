"""Small real data sets, as plain arrays, texts and columns.

Some come with packages that the book installs anyway. Those below `# ---- files ----` lie in this folder: `make data`
takes them out of published archives, and SOURCES.yml says from where, under which licence, and what was left out. Only
Fashion-MNIST is downloaded. The page *Data* of the book shows each set.
"""
import csv
import gzip
import io
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).parent


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


# ---- files ----

def mnist(part='train'):
    """Handwritten digits: x (n, 784) float64, the 28 x 28 pixels in [0, 1], ink is 1; y (n,) int64 in 0..9.

    5,000 digits of MNIST, 500 of each class. `part` is 'train' (the first 400 of each class), 'test' (the last 100) or
    'all'. The classes take turns, row after row, so that each run of ten rows has all of them.

    Source: LeCun, Bottou, Bengio and Haffner (1998), 'Gradient-based learning applied to document recognition'.
    """
    arrays = _arrays('mnist.npz')
    rows = _part(part, len(arrays['y']), 4000)
    return Table(arrays['x'][rows] / 255, arrays['y'][rows].astype(np.int64))


# The ten digits of MNIST-1D as heights of a pen above the line, at twelve points of time.
_STROKES = """
    5 6 6.5 6.75 7 7 7 7 6.75 6.5 6 5            5 3 3 3.4 3.8 4.2 4.6 5 5.4 5.8 5 5
    5 6 6.5 6.5 6 5.25 4.75 4 3.5 3.5 4 5        5 6 6.5 6.5 6 5 5 6 6.5 6.5 6 5
    5 4.4 3.8 3.2 2.6 2.6 5 5 5 5 5 5            5 3 3 3 3 5 6 6.5 6.5 6 4.5 5
    5 4 3.5 3.25 3 3 3 3 3.25 3.5 4 5            5 7 7 6.6 6.2 5.8 5.4 5 4.6 4.2 5 5
    5 4 3.5 3.5 4 5 5 4 3.5 3.5 4 5              5 4 3.5 3.5 4 5 5 5 5 4.7 4.3 5
"""


def mnist_1d(part='train', *, seed=0):
    """Signals in the shape of digits: x (n, 40) float64, mean 0 and variance 1 over all; y (n,) int64 in 0..9.

    Made by the formula of MNIST-1D, not read: each digit is a line of twelve points, stretched, scaled, moved to a random
    place in noise, and tilted. `part` is 'train' (n = 4000, 400 of each class), 'test' (n = 1000) or 'all'; `seed` is that
    of the draw. The signals are not those of the authors' file, which another generator drew.

    Source: Greydanus and Kobak (2024), 'Scaling down deep learning with MNIST-1D'.
    """
    from scipy.ndimage import gaussian_filter1d

    rng, n, long, short = np.random.default_rng(seed), 5000, 72, 40
    strokes = np.array(_STROKES.split(), float).reshape(10, 12)
    strokes = (strokes - strokes[:, :1]) / strokes.std(1, keepdims=True) / 6
    y = np.tile(np.arange(10), n // 10)
    at = np.linspace(0, 1, long) * (11 + rng.integers(36, 61, (n, 1)))  # where each point lies on the stroke and the rest
    x = np.array([np.interp(place, np.arange(12), strokes[digit], right=0) for place, digit in zip(at, y, strict=True)])
    x *= 1 + 0.4 * (rng.random((n, 1)) - 0.5)
    turn = (np.arange(long) - rng.integers(0, 48, (n, 1))) % long
    x, pen = np.take_along_axis(x, turn, 1), np.take_along_axis(at < 12, turn, 1)
    x = np.where(pen, x, gaussian_filter1d(0.25 * rng.standard_normal((n, long)), 2))
    x += 0.02 * rng.standard_normal((n, long))
    x -= 0.75 * (rng.random((n, 1)) - 0.5) * np.linspace(-0.5, 0.5, long)
    step = np.linspace(0, long - 1, short)
    x = np.array([np.interp(step, np.arange(long), signal) for signal in x])
    rows = _part(part, n, 4000)
    return Table(((x - x.mean()) / x.std())[rows], y[rows])


def alice(part='all'):
    """The text of 'Alice's Adventures in Wonderland' in 37 symbols: 26 letters, the space and ten marks.

    Small letters, runs of spaces and line ends as one space, without emphasis and brackets. `part` is 'train' (the first
    nine tenths), 'test' (the rest) or 'all'.

    Source: Lewis Carroll (1865).
    """
    return _text('alice.txt.gz', part)


def bible(part='all'):
    """The five books of Moses and the New Testament in the King James version, small letters, as one line of text.

    Words that the translators added are not marked. `part` is 'train' (the first nine tenths), 'test' (the rest) or 'all'.

    Source: the Authorized Version of 1611, in the spelling of 1769.
    """
    return _text('bible.txt.gz', part)


def first_names():
    """First names of the United States, 1990, as columns: 'name' (small letters), 'sex' ('female' or 'male') and
    'percent', the share of the people of that sex who have the name. Most frequent first; some names stand under both.

    Source: United States Census Bureau (1990).
    """
    return _columns('first_names.csv.gz', percent=float)


def pronunciations(part='all'):
    """English words and how they are said, as columns: 'word' (letters a to z) and 'phonemes' (strings as 'K AE1 T').

    There are 39 phonemes; a digit after a vowel is its stress. Every fifth usable entry of the dictionary, alphabetical.
    `part` is 'test' (every tenth of these), 'train' (the others) or 'all'.

    Source: the Carnegie Mellon Pronouncing Dictionary.
    """
    columns = _columns('pronunciations.csv.gz')
    return _chosen(columns, part, np.arange(len(columns['word'])) % 10 == 9)


def compas(part='all'):
    """6172 defendants of Broward County, Florida, 2013 and 2014, as columns: 'age' (years), 'sex', 'race', earlier
    offences ('priors', and as a minor 'juvenile_felonies', 'juvenile_misdemeanors', 'juvenile_others'), 'charge' ('F' for
    felony, 'M' for misdemeanor), 'decile' (1 to 10, the COMPAS score of risk), and 'again' (1 where there was a new
    offence within two years).

    `part` is 'test' (every fifth of each combination of race and 'again'), 'train' (the others) or 'all'. Before you use
    these data, read on the page 'Data' what is known to be wrong with them.

    Source: Angwin, Larson, Mattu and Kirchner (2016), 'Machine bias', ProPublica.
    """
    numbers = ('age', 'priors', 'juvenile_felonies', 'juvenile_misdemeanors', 'juvenile_others', 'decile', 'again')
    columns = _columns('compas.csv.gz', **dict.fromkeys(numbers, int))
    strata = np.unique(np.stack([columns['race'], columns['again'].astype(str)]), axis=1, return_inverse=True)[1].ravel()
    test = np.zeros(len(strata), bool)
    for stratum in np.unique(strata):
        test[np.flatnonzero(strata == stratum)[4::5]] = True
    return _chosen(columns, part, test)


def fico():
    """Credit scores and defaults in four groups, as columns: 'group', 'people' (how many the group has), 'score' (0 to 100,
    the rank of TransRisk), 'below' (share of the group, 0 to 1, with this score or less) and 'default' (share, 0 to 1, of
    those with this score who later were 90 days late with a payment). Each group has the same 198 scores, in order.

    Source: Board of Governors of the Federal Reserve System (2007), 'Report to the Congress on credit scoring'.
    """
    return _columns('fico.csv.gz', people=int, score=float, below=float, default=float)


def earthquakes():
    """596 earthquakes of magnitude 4 or more between Java and the Philippines, April to July 2024, in order of time, as
    columns: 'time' (numpy times, UTC), 'latitude' (-10 to 10 degrees), 'longitude' (110 to 140 degrees), 'depth' (km) and
    'magnitude'.

    Source: United States Geological Survey.
    """
    return _columns('earthquakes.csv.gz', time=np.datetime64, latitude=float, longitude=float, depth=float, magnitude=float)


def sunspots():
    """The yearly number of sunspots from 1700 to 2008, as columns: 'year' and 'number' (a yearly mean).

    Source: National Geophysical Data Center.
    """
    return _columns('sunspots.csv.gz', year=int, number=float)


def portrait(name='collins'):
    """A portrait, float64 in [0, 1]: 'collins' (256, 256, 3), the astronaut Eileen Collins, or 'hopper' (600, 512, 3),
    the computer scientist Grace Hopper. Raises ValueError for another name.

    Source: NASA, and the United States Navy, the latter in matplotlib.
    """
    if name == 'collins':
        return _arrays('portrait.npz')['collins'] / 255
    if name == 'hopper':
        from matplotlib import cbook, image

        return image.imread(cbook.get_sample_data('grace_hopper.jpg', asfileobj=False)) / 255
    raise ValueError(f"there is no portrait {name!r}: choose 'collins' or 'hopper'")


def spelling_to_sound():
    """A trained encoder and decoder, two GRUs, that says how an English word is pronounced: a dict of float32 arrays.

    'enc_emb' (29, 256) has a row for each of '<pad>', '<unk>', '</s>', a to z; 'dec_emb' (74, 256) one for each entry of
    'phonemes' (74,). The gates of 'enc_w_ih', 'enc_w_hh', 'enc_b_ih', 'enc_b_hh' (and 'dec_...') stand in the order reset,
    update, new, as in `torch.nn.GRU`; 'fc_w' (74, 256) and 'fc_b' (74,) give the scores of the next phoneme.

    Source: Park and Kim (2019), 'g2pE'.
    """
    return _arrays('spelling_to_sound.npz')


def face_detector():
    """A trained convolutional net of 6632 parameters that looks for faces of 12 x 12 pixels: a dict of float32 arrays.

    'conv1', 'conv2' and 'conv3' (3 x 3) with 'prelu1' to 'prelu3' behind them and a 2 x 2 maximum, rounded up, behind the
    first; 'conv4_1' (1 x 1) gives the scores of no face and face, 'conv4_2' the corrections of the box's four sides. Names
    and shapes are those of a state of `torch.nn` modules. Pixels come as (value in 0..255 - 127.5) / 128, channels first.

    Source: Zhang, Zhang, Li and Qiao (2016), 'Joint face detection and alignment using multitask cascaded convolutional
    networks', in facenet-pytorch.
    """
    return _arrays('face_detector.npz')


def _part(part, rows, train):
    """The rows of a part as a slice, where the first `train` rows are for training. Raises ValueError for another part."""
    parts = {'train': slice(0, train), 'test': slice(train, rows), 'all': slice(0, rows)}
    if part not in parts:
        raise ValueError(f"there is no part {part!r}: choose 'train', 'test' or 'all'")
    return parts[part]


def _chosen(columns, part, test):
    """A part of columns, where `test` says for each row whether it is kept for testing."""
    _part(part, 1, 1)
    rows = {'train': ~test, 'test': test, 'all': np.ones_like(test)}[part]
    return {name: column[rows] for name, column in columns.items()}


def _text(name, part):
    marks = {'’': "'", '—': '-', 'æ': 'ae'} | dict.fromkeys('_*[]"')
    text = ' '.join(_read(name).decode('utf-8').lower().translate(str.maketrans(marks)).split())
    return text[_part(part, len(text), len(text) * 9 // 10)]


def _columns(name, **kinds):
    """The columns of a table as arrays; `kinds` says of what, where that is not text."""
    head, *rows = csv.reader(io.StringIO(_read(name).decode('utf-8')))
    columns = zip(head, zip(*rows, strict=True), strict=True)
    return {title: np.array(column, dtype=kinds.get(title, str)) for title, column in columns}


def _arrays(name):
    with _opened(name) as file, np.load(file, allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def _read(name):
    with _opened(name) as file, gzip.open(file) as text:
        if content := text.read():
            return content
        raise EOFError('it is empty')


@contextmanager
def _opened(name):
    """A file of this folder, open for reading; where it is missing or damaged, the error names the remedy."""
    path = FOLDER / name
    try:
        file = open(path, 'rb')
    except OSError as error:
        raise FileNotFoundError(f'{path} cannot be read ({error.strerror}): {_REMEDY}') from error
    with file:
        try:
            yield file
        except (OSError, EOFError, ValueError, KeyError, zlib.error, zipfile.BadZipFile) as error:
            raise ValueError(f'{path} is damaged ({error}): {_REMEDY}') from error


_REMEDY = 'install nbutils again or, in a checkout of the book, run make data'
