"""The book to take along: `python -m nbutils.maintain.bundle`, run when the site is built (`make zip`).

Packs all notebooks, and the site itself for reading from a folder, into archives beside the pages; the PDF joins them
where it was made. Then the page that names them by their published address links to the files themselves, with their
size. The archives hold the same bytes whenever their contents are the same.
"""
import re
import shutil
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PDF, SITE, NOTEBOOKS = 'deep-learning-verified.pdf', 'deep-learning-verified-site.zip', 'notebooks.zip'
FILES = (PDF, SITE, NOTEBOOKS)
PAGE = 'book/how_to_read.html'  # where a reader finds them
README = """# The notebooks of 'Deep Learning, Verified'

With Python 3.11 or newer, in this folder:

    python3 -m venv .venv
    .venv/bin/pip install -r requirements.txt
    .venv/bin/jupyter lab notebooks

On Windows it is `.venv\\Scripts\\` in place of `.venv/bin/`. On Linux without a GPU, install torch for the CPU first,
which is much smaller: https://pytorch.org/get-started/locally/ has the command.

Outputs are stored, so the notebooks can be read without running anything; all cells run from the first to the last,
and none needs a network or a GPU. `nbutils/` is what they import and `book/claims/` the statements that they check.

Text and figures: CC BY 4.0; code: BSD 3-Clause (LICENSE). The book, and where to report a mistake: {address}
"""
# `.` is nbutils with what it needs; the versions are those of constraints.txt
REQUIREMENTS = '\n'.join(['-c constraints.txt', '.', 'torch', 'ipykernel', 'jupyterlab', 'jupyterlab-myst', 'jupytext', ''])
_LEFT_OUT = {'maintain', '__pycache__', '.ipynb_checkpoints'}


def pack(target: Path, files: dict[str, bytes]) -> None:
    """Write a zip archive; `files` maps names in it to their content. Sorted, without times: same content, same bytes."""
    with zipfile.ZipFile(target, 'w') as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.external_attr, entry.create_system = 0o644 << 16, 3
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def notebooks() -> dict[str, bytes]:
    """What notebooks.zip holds, as {name: content}: the notebooks with outputs and all that they need to run."""
    paths = [ROOT / name for name in ('pyproject.toml', 'hatch_build.py', 'constraints.txt', 'LICENSE')]
    for folder in ('notebooks', 'nbutils', 'book/claims'):
        paths += [path for path in ROOT.glob(f'{folder}/**/*') if path.is_file()]
    names = {path.relative_to(ROOT): path for path in paths}
    found = {name.as_posix(): path.read_bytes() for name, path in names.items() if not _LEFT_OUT & {*name.parts}}
    address = re.search(r'^ +url: (\S+)', (ROOT / '_config.yml').read_text('utf-8'), re.M)[1]
    found['README.md'] = README.format(address=address).encode()
    found['requirements.txt'] = REQUIREMENTS.encode()
    return {f'deep-learning-verified/{name}': content for name, content in found.items()}


def site(folder: Path) -> dict[str, bytes]:
    """What the archive of the site holds, as {name: content}: every page and what it shows, not the archives."""
    paths = [path for path in folder.rglob('*') if path.is_file() and path.name not in (*FILES, '.buildinfo')]
    kept = (path for path in paths if path.relative_to(folder).parts[0] != 'reports')
    return {f'deep-learning-verified/{path.relative_to(folder).as_posix()}': as_file(path) for path in kept}


def as_file(path: Path) -> bytes:
    """A file of the site for reading from a folder, where browsers refuse to fetch fonts ahead of need, and log it."""
    content = path.read_bytes()
    return re.sub(rb'\s*<link rel="preload" as="font"[^>]*>', b'', content) if path.suffix == '.html' else content


def offer(folder: Path) -> None:
    """Link to the files that exist, with their size, where the page names them by their published address."""
    page = folder / PAGE
    text = page.read_text('utf-8')
    for name in FILES:
        if (file := folder / name).is_file():
            link = re.compile(rf'href="(?:[^"]*/)?{re.escape(name)}">([^<]*)</a>(?: \([\d.]+ MB\))?')
            size = file.stat().st_size / 1e6
            text = link.sub(rf'href="../{name}">\1</a> ({size:.{0 if size >= 10 else 1}f} MB)', text)
    page.write_text(text, 'utf-8')


def main() -> None:
    folder = ROOT / '_build' / 'html'
    if not (folder / PAGE).is_file():
        sys.exit(f'There is no website in {folder}: make site')
    pack(folder / NOTEBOOKS, notebooks())
    pack(folder / SITE, site(folder))
    if (ROOT / '_build' / PDF).is_file():
        shutil.copyfile(ROOT / '_build' / PDF, folder / PDF)
    offer(folder)
    for path in (folder / name for name in FILES):
        print(f'{path} ({path.stat().st_size / 1e6:.1f} MB)' if path.is_file() else f'{path.name} is not there: make pdf')


if __name__ == '__main__':
    main()
