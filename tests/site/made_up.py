"""A made-up book of small sections with the settings of this one, its build, and what the pages of a site weigh."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from nbutils.maintain.notebooks import ROOT


def own_bytes(folder):
    """Bytes of each section's page and of its figures, as they lie on the disk: {page: (html, figures)}."""
    from bs4 import BeautifulSoup
    found = {}
    for path in sorted(folder.glob('notebooks/**/*.html')):
        images = BeautifulSoup(path.read_text('utf-8'), 'html.parser').select('img[src*="_images/"]')
        files = {(path.parent / image['src']).resolve() for image in images}
        found[path.relative_to(folder).as_posix()] = path.stat().st_size, sum(file.stat().st_size for file in files)
    return found


def run_book(root, *options):
    """Build a book; gives the finished process."""
    return subprocess.run([Path(sys.executable).with_name('jupyter-book'), 'build', root, *options], cwd=root, text=True,
                          env=os.environ | {'NO_COLOR': '1'}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def made_up(root, number, sections=10):
    """Lay out a book of `number` small sections, `sections` to a chapter, with our settings; gives its folder."""
    shutil.rmtree(root, ignore_errors=True)
    (root / 'book').mkdir(parents=True)
    (root / 'notebooks').mkdir()
    for name in ('book/_ext', 'book/_static', 'book/claims', 'book/references.bib'):
        (root / name).symlink_to(ROOT / name)
    config = yaml.safe_load((ROOT / '_config.yml').read_text('utf-8'))
    config['sphinx']['extra_extensions'].remove('sphinxext.rediraffe')  # its redirects lead to pages of the whole book
    config['sphinx']['config'].pop('rediraffe_redirects')
    (root / '_config.yml').write_text(yaml.safe_dump(config), 'utf-8')
    kernel = {'kernelspec': {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}}
    chapters = []
    for i in range(number):
        if i % sections == 0:
            chapters.append({'file': f'book/c{i}', 'sections': []})
            (root / 'book' / f'c{i}.md').write_text(f'# Chapter {i}\n')
        chapters[-1]['sections'].append({'file': f'notebooks/s{i}'})
        text = (f'# Section {i}\n\n- **Question.** What?\n- **You need** nothing.\n\n'
                f'Let $x_{i} = {i}$.\n\n## Part\n\nSee [](s{max(i - 1, 0)}.ipynb).')
        cells = [{'cell_type': 'markdown', 'id': 'a', 'metadata': {}, 'source': text},
                 {'cell_type': 'code', 'id': 'b', 'metadata': {}, 'execution_count': 1, 'source': f'x = {i}', 'outputs': []}]
        whole = {'cells': cells, 'metadata': kernel, 'nbformat': 4, 'nbformat_minor': 5}
        (root / 'notebooks' / f's{i}.ipynb').write_text(json.dumps(whole))
    (root / 'book' / 'index.md').write_text('# A book\n')
    part = {'caption': 'Chapters', 'numbered': 2, 'chapters': chapters}
    toc = {'format': 'jb-book', 'root': 'book/index', 'parts': [part]}
    (root / '_toc.yml').write_text(yaml.safe_dump(toc))
    return root
