"""The book as one PDF: `python -m nbutils.maintain.pdf`. Sphinx writes LaTeX, latexmk runs xelatex on it.

What LaTeX merely logs is an error here: a reference to nothing, a label given twice, a character that no font has.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = 'deep-learning-verified'
PACKAGES = ('texlive-xetex texlive-latex-extra texlive-fonts-recommended latexmk '  # of Debian and Ubuntu, also for .ci/run
            'fonts-texgyre fonts-texgyre-math fonts-dejavu-core librsvg2-bin')
MISSING = f"""the PDF is set by xelatex, its figures by rsvg-convert, and {{}} is not installed:
    Debian, Ubuntu:  sudo apt-get install --no-install-recommends {PACKAGES}
    macOS:           brew install librsvg && brew install --cask mactex"""
_FAULTS = (
    re.compile(r"(?:Hyper r|R)eference `[^']+'[^.]*?undefined[^.]*\."),
    re.compile(r"Citation `[^']+'[^.]*?undefined[^.]*\."),
    re.compile(r"Label `[^']+' multiply defined"),
    re.compile(r'Missing character: There is no .+? in font [^!]+!'),
)
_OVERFULL = re.compile(r'Overfull \\hbox \((\d+)\.\d+pt too wide\) [^\n]*?at lines (\d+)')


def missing() -> list[str]:
    """The programs that are needed and not there."""
    return [program for program in ('xelatex', 'latexmk', 'rsvg-convert') if not shutil.which(program)]


def write_latex(root: Path, out: Path) -> Path:
    """Let Sphinx write the LaTeX of the book in `root`, as strictly as the site; gives its folder, in `out`.

    `out` keeps its own doctrees: other builders are not disturbed. Raises CalledProcessError where a page has a fault.
    """
    command = [Path(sys.executable).with_name('jupyter-book'), 'build', root, '--path-output', out,
               '--builder', 'latex', '-q', '-W', '-n', '--keep-going']
    subprocess.run(command, check=True, cwd=root, env={**os.environ, 'SOURCE_DATE_EPOCH': changed(root)})
    return Path(out, '_build', 'latex')


def changed(root: Path) -> str:
    """When the book was last changed, in seconds since 1970, as text: the date on the title page."""
    command = ['git', '-C', str(root), 'log', '-1', '--format=%ct']
    told = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return os.environ.get('SOURCE_DATE_EPOCH') or told or str(int(time.time()))


def typeset(folder: Path, epoch: str) -> Path:
    """Run xelatex until references settle; gives the PDF. Raises CalledProcessError with LaTeX's last lines."""
    command = ['latexmk', '-xelatex', '-interaction=nonstopmode', '-halt-on-error', '-file-line-error', f'{NAME}.tex']
    environ = {**os.environ, 'SOURCE_DATE_EPOCH': epoch, 'FORCE_SOURCE_DATE': '1', 'max_print_line': '9999'}
    subprocess.run(command, cwd=folder, env=environ, check=True, text=True, errors='replace',
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return Path(folder, f'{NAME}.pdf')


def faults(log: str) -> list[str]:
    """What LaTeX has only logged and readers would meet, each once."""
    return sorted({' '.join(found.group().split()) for fault in _FAULTS for found in fault.finditer(log)})


def overfull(log: str) -> list[tuple[int, int]]:
    """(points, line of the .tex file) for everything that runs over the margin, the worst first."""
    return sorted(((int(points), int(line)) for points, line in _OVERFULL.findall(log)), reverse=True)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description='Make the book as one PDF.')
    parser.add_argument('--root', type=Path, default=ROOT, help='the folder of _config.yml')
    parser.add_argument('--packages', action='store_true', help='print the names of the packages that hold these programs')
    arguments = parser.parse_args(argv)
    if arguments.packages:
        return print(PACKAGES)
    root = arguments.root.resolve()
    if lacking := missing():
        sys.exit(f'Stopped: {MISSING.format(" and ".join(lacking))}')
    print('Sphinx writes the LaTeX', flush=True)
    try:
        folder = write_latex(root, root / '_build' / 'pdf')
    except subprocess.CalledProcessError:
        sys.exit('Stopped: mend what the warnings above name')
    print('xelatex sets the pages: some minutes', flush=True)
    try:
        made = typeset(folder, changed(root))
    except subprocess.CalledProcessError as error:
        sys.exit(f'{error.stdout[-3000:]}\nStopped: LaTeX failed, see above and {folder / NAME}.log')
    log = made.with_suffix('.log').read_text('utf-8', 'replace')
    if found := faults(log):
        sys.exit('\n'.join([*found, f'Stopped: LaTeX found the faults above, see {folder / NAME}.tex']))
    for points, line in overfull(log)[:10]:
        print(f'runs {points} pt over the margin: {folder / NAME}.tex:{line}')
    target = root / '_build' / made.name
    shutil.copyfile(made, target)
    print(f'The book is ready: {target} ({target.stat().st_size / 1e6:.0f} MB)')


if __name__ == '__main__':
    main()
