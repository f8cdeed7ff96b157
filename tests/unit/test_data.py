import gzip
import hashlib

import numpy as np
import pytest
import yaml

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


# ---- files ----

def test_each_file_has_the_digest_and_size_that_are_listed():
    listed = yaml.safe_load((data.FOLDER / 'SOURCES.yml').read_text('utf-8'))
    files = {name: known for source in listed.values() for name, known in source['files'].items()}
    there = {p.relative_to(data.FOLDER).as_posix() for p in data.FOLDER.rglob('*') if p.is_file() and p.suffix not in ('.py', '.pyc')}
    assert there == {*files, 'SOURCES.yml'}
    for name, known in files.items():
        content = (data.FOLDER / name).read_bytes()
        assert known == {'bytes': len(content), 'sha256': hashlib.sha256(content).hexdigest()}, f'{name}: make data'
    assert sum(known['bytes'] for known in files.values()) < 6.5e6


@pytest.mark.parametrize('loader, width', [(data.mnist, 784), (data.mnist_1d, 40)])
def test_parts_of_pictures_are_stratified_and_apart(loader, width):
    train, test, both = (loader(part) for part in ('train', 'test', 'all'))
    assert train.x.shape == (4000, width) and test.x.shape == (1000, width) and both.x.shape == (5000, width)
    assert train.x.dtype == float and train.y.dtype == np.int64
    assert (np.bincount(train.y) == 400).all() and (np.bincount(test.y) == 100).all()
    assert len(np.unique(both.x, axis=0)) == 5000 and (both.x == np.concatenate([train.x, test.x])).all()
    assert (train.y[:10] == np.arange(10)).all()


def test_mnist_is_ink_on_paper():
    x, y, _ = data.mnist()
    assert x.min() == 0 and x.max() == 1 and 0.1 < x.mean() < 0.2
    zeros, ones = (x[y == digit].mean(0).reshape(28, 28) for digit in (0, 1))
    assert zeros[14, 14] < 0.05 and ones[14, 14] > 0.7  # upright: a zero has a hole, a one has none
    assert ones[5:23, 14].mean() > 2 * ones[14, 5:23].mean()


def test_mnist_1d_is_a_formula_of_its_seed():
    a, b, other = data.mnist_1d('all'), data.mnist_1d('all'), data.mnist_1d('all', seed=1)
    assert (a.x == b.x).all() and abs(a.x - other.x).max() > 1
    assert abs(a.x.mean()) < 1e-12 and abs(a.x.std() - 1) < 1e-12


@pytest.mark.parametrize('loader, begins, words', [(data.alice, 'chapter i. down', 26_376), (data.bible, 'in the beginning god', 337_242)])
def test_texts(loader, begins, words):
    text = loader()
    assert text.startswith(begins) and len(text.split()) == words and '  ' not in text and len(set(text)) == 37
    assert loader('train') + loader('test') == text and len(loader('test')) == len(text) - len(text) * 9 // 10
    assert 'gutenberg' not in text


def test_columns_have_the_kinds_that_are_documented():
    names, words, quakes, spots = data.first_names(), data.pronunciations(), data.earthquakes(), data.sunspots()
    assert names['percent'].dtype == float and set(names['sex']) == {'female', 'male'} and (np.diff(names['percent']) <= 0).all()
    assert all(word.isascii() and word.islower() for word in names['name'])
    assert len(words['word']) == 22_919 and len({p.rstrip('012') for row in words['phonemes'] for p in row.split()}) == 39
    assert len(quakes['time']) == 596 and (np.diff(quakes['time']) >= np.timedelta64(0)).all()
    assert abs(quakes['latitude']).max() < 10 and 110 < quakes['longitude'].min() and quakes['longitude'].max() < 140
    assert str(quakes['time'][0]).startswith('2024-04-01') and str(quakes['time'][-1]).startswith('2024-07-31') and quakes['magnitude'].min() == 4
    assert (spots['year'] == np.arange(1700, 2009)).all() and spots['number'].min() == 0


def test_pronunciations_come_in_parts():
    whole, train, test = (data.pronunciations(part)['word'] for part in ('all', 'train', 'test'))
    assert len(test) == len(whole) // 10 and not {*train} & {*test} and {*train} | {*test} == {*whole}


def test_compas_is_without_names_and_its_parts_are_alike():
    whole, train, test = (data.compas(part) for part in ('all', 'train', 'test'))
    assert list(whole) == ['age', 'sex', 'race', 'priors', 'juvenile_felonies', 'juvenile_misdemeanors', 'juvenile_others', 'charge',
                           'decile', 'again']
    assert len(whole['age']) == 6172 == len(train['age']) + len(test['age'])
    for race in ('African-American', 'Caucasian', 'Hispanic', 'Other'):
        shares = [part['again'][part['race'] == race].mean() for part in (train, test)]
        assert abs(shares[0] - shares[1]) < 0.01
    assert set(whole['decile']) == set(range(1, 11)) and set(whole['charge']) == {'F', 'M'}


def test_fico_has_the_same_scores_in_each_group():
    rows = data.fico()
    for group in set(rows['group']):
        here = rows['group'] == group
        assert here.sum() == 198 and (np.diff(rows['below'][here]) >= 0).all() and rows['below'][here][-1] == 1
        assert rows['default'][here][0] > 0.9 > 0.1 > rows['default'][here][-1]


def test_portraits():
    for name, shape in (('collins', (256, 256, 3)), ('hopper', (600, 512, 3))):
        pixels = data.portrait(name)
        assert pixels.shape == shape and pixels.dtype == float and 0 <= pixels.min() < 0.1 and 0.9 < pixels.max() <= 1
    with pytest.raises(ValueError, match="'lenna': choose 'collins' or 'hopper'"):
        data.portrait('lenna')


def test_trained_models_have_the_shapes_that_are_documented():
    net, eye = data.spelling_to_sound(), data.face_detector()
    assert len(net['phonemes']) == 74 and net['dec_emb'].shape == (74, 256) and net['enc_w_hh'].shape == (768, 256)
    assert sum(array.size for array in eye.values()) == 6632 and eye['conv1.weight'].shape == (10, 3, 3, 3)


@pytest.mark.parametrize('loader', [data.mnist, data.mnist_1d, data.alice, data.bible, data.pronunciations, data.compas])
def test_there_is_no_other_part(loader):
    with pytest.raises(ValueError, match="'valid': choose 'train', 'test' or 'all'"):
        loader('valid')


@pytest.mark.parametrize('loader, file', [(data.mnist, 'mnist.npz'), (data.alice, 'alice.txt.gz'), (data.sunspots, 'sunspots.csv.gz')])
def test_a_file_that_is_missing_or_damaged_is_named_with_the_remedy(loader, file, tmp_path, monkeypatch):
    content = (data.FOLDER / file).read_bytes()
    monkeypatch.setattr(data, 'FOLDER', tmp_path)
    with pytest.raises(FileNotFoundError, match=f'{file} cannot be read .* install nbutils again'):
        loader()
    for damaged in (content[:len(content) // 2], b'', b'no archive at all'):
        (tmp_path / file).write_bytes(damaged)
        with pytest.raises(ValueError, match=f'{file} is damaged .* make data'):
            loader()


def test_nothing_is_unpickled(tmp_path, monkeypatch):
    monkeypatch.setattr(data, 'FOLDER', tmp_path)
    np.savez(tmp_path / 'mnist.npz', x=np.array([print], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match='mnist.npz is damaged .*allow_pickle=False'):
        data.mnist()


def test_the_device_has_float64():
    import torch
    assert torch.ones(2, dtype=torch.float64, device=device.best()).sum() == 2
