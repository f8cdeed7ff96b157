import gzip
import hashlib

import numpy as np
import pytest

from nbutils import data, device


def test_digits():
    x, y, _ = data.digits()
    assert x.shape == (1797, 64) and y.shape == (1797,) and x.dtype == float and y.dtype == np.int64
    assert x.min() == 0 and x.max() == 1 and set(y) == set(range(10))


def test_diabetes_is_in_its_own_units():
    x, y, names = data.diabetes()
    assert x.shape == (442, 10) and y.shape == (442,) and len(names) == 10
    age, sex = x[:, names.index('age')], x[:, names.index('sex')]
    assert 18 <= age.min() and age.max() < 100 and set(sex) == {1, 2} and (y.min(), y.max()) == (25, 346)


@pytest.mark.parametrize('name', ['china', 'flower'])
def test_photograph(name):
    pixels = data.photograph(name)
    assert pixels.shape == (427, 640, 3) and pixels.dtype == float and (pixels.min(), pixels.max()) == (0, 1)


def test_there_is_no_other_photograph():
    with pytest.raises(ValueError, match="'cat': choose 'china' or 'flower'"):
        data.photograph('cat')


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A small Fashion-MNIST behind a real HTTP server; gives (its address, its folder)."""
    import threading

    from nbutils.maintain.serve import server

    folder = tmp_path / 'shop'
    folder.mkdir()
    x, y = np.arange(3 * 784, dtype=np.uint8), np.array([7, 0, 9], np.uint8)
    for stem in ('train', 't10k'):
        (folder / f'{stem}-images-idx3-ubyte.gz').write_bytes(gzip.compress(bytes(16) + x.tobytes()))
        (folder / f'{stem}-labels-idx1-ubyte.gz').write_bytes(gzip.compress(bytes(8) + y.tobytes()))
    known = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.iterdir()}
    monkeypatch.setattr(data, '_FASHION_SHA256', known)
    running = server(folder, 0)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f'http://127.0.0.1:{running.server_port}/', folder
    running.shutdown()
    running.server_close()


def test_fashion_mnist_is_fetched_once(shop, tmp_path):
    address, folder = shop
    x, y, _ = data.fashion_mnist('test', source=address, folder=tmp_path / 'cache')
    assert x.shape == (3, 784) and x[0, 51] == 0.2 and x[0, 255] == 1 and y.tolist() == [7, 0, 9] and y.dtype == np.int64
    for file in folder.iterdir():
        file.unlink()
    again = data.fashion_mnist('test', source=address, folder=tmp_path / 'cache')
    assert (again.x == x).all()


def test_fashion_mnist_lies_in_the_user_s_cache(shop, tmp_path, monkeypatch):
    import pooch

    monkeypatch.setattr(pooch, 'os_cache', lambda project: tmp_path / project)
    data.fashion_mnist('test', source=shop[0])
    assert len(list((tmp_path / 'deep-learning-verified').iterdir())) == 2


def test_a_corrupt_download_is_refused_and_not_kept(shop, tmp_path):
    address, folder = shop
    (folder / 'train-images-idx3-ubyte.gz').write_bytes(b'half of it')
    with pytest.raises(ValueError, match='train-images-idx3-ubyte.gz from .* is corrupt .* Try again later'):
        data.fashion_mnist(source=address, folder=tmp_path / 'cache')
    assert list((tmp_path / 'cache').iterdir()) == []


def test_without_network_the_remedy_is_named(tmp_path):
    with pytest.raises(OSError, match='could not be fetched .* put the file there by hand'):
        data.fashion_mnist(source='http://127.0.0.1:9/', folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_cache_is_named(shop, tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(OSError, match='could not be fetched .* folder can be written'):
        data.fashion_mnist(source=shop[0], folder=tmp_path / 'file' / 'cache')


def test_fashion_mnist_has_two_parts():
    with pytest.raises(ValueError, match="'valid': choose 'train' or 'test'"):
        data.fashion_mnist('valid')


def test_the_device_has_float64():
    import torch
    assert torch.ones(2, dtype=torch.float64, device=device.best()).sum() == 2
