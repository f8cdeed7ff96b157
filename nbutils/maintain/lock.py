"""Pin everything that is installed, with its hashes: `python -m nbutils.maintain.lock` (`make lock`).

From the versions in requirements*.txt it makes `requirements.lock` and `requirements-site.lock`, for all systems and Pythons
at once, and `constraints.txt`, the same versions without hashes. Versions that are locked already stay where they can.

torch and what it brings for graphics cards stand in no lock: its wheels differ from index to index, for one version.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAD = '# Made by make lock from requirements*.txt, so that next year gives the same.\n'
_OF_TORCH = re.compile(r'(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==')


def compiled(requirements, known):
    """The lock of a text of requirements: one string a package, hashes included.

    Versions of `known`, the text of another lock, are preferred. Raises CalledProcessError where there is no network, or no
    set of versions that fit.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked, lock = Path(folder, 'asked.txt'), Path(folder, 'lock.txt')
        asked.write_text(requirements, 'utf-8')
        lock.write_text(known, 'utf-8')
        options = ['--quiet', '--universal', '--python-version', '3.11', '--generate-hashes', '--no-annotate', '--no-header']
        subprocess.run([sys.executable, '-m', 'uv', 'pip', 'compile', *options, asked, '-o', lock], check=True)
        packages = re.split(r'^(?=\S)', lock.read_text('utf-8'), flags=re.M)
    return [package for package in packages if package and not _OF_TORCH.match(package)]


def direct(name):
    """What a file of requirements asks for itself: without other files, and without nbutils."""
    return ''.join(line for line in (ROOT / name).read_text('utf-8').splitlines(True) if not line.startswith('-'))


def main():
    everything = ROOT / 'requirements.lock'
    site = direct('requirements-site.txt')
    known = everything.read_text('utf-8') if everything.is_file() else ''
    packages = compiled(site + direct('requirements.txt'), known)
    everything.write_text(HEAD + ''.join(packages), 'utf-8')
    (ROOT / 'requirements-site.lock').write_text(HEAD + ''.join(compiled(site, ''.join(packages))), 'utf-8')
    versions = [package.split(' \\\n')[0] for package in packages]
    versions += re.findall(r'^torch==\S+', direct('requirements.txt'), re.M)
    (ROOT / 'constraints.txt').write_text(HEAD + '\n'.join(versions) + '\n', 'utf-8')


if __name__ == '__main__':
    main()
