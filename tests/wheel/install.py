"""Build the wheel of nbutils, install it into a new environment and run smoke.py there: `python install.py [--lowest]`.

The Python that runs this is the one that is tried; it needs nothing installed. With --lowest every dependency has the lowest version
that pyproject.toml allows, else the newest.
"""
import argparse
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description='Try the wheel of nbutils in an environment of its own.')
    parser.add_argument('--lowest', action='store_true', help='with the lowest versions of its dependencies')
    lowest = parser.parse_args().lowest
    wanted = tomllib.loads((ROOT / 'pyproject.toml').read_text('utf-8'))['project']['dependencies']
    exact = [requirement.split(',')[0].replace('>=', '==') for requirement in wanted] if lowest else []
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder, 'venv'), with_pip=True)
        python = Path(folder, 'venv', 'bin', 'python')
        run(python, '-m', 'pip', 'wheel', '-q', '--no-deps', '-w', folder, ROOT)
        wheel, = Path(folder).glob('nbutils-*.whl')
        run(python, '-m', 'pip', 'install', '-q', '--only-binary=:all:', wheel, *exact)
        warnings = 'ignore' if lowest else 'error'  # old versions warn of what the newest of their own dependencies will drop
        run(python, '-I', '-W', warnings, Path(__file__).with_name('smoke.py').resolve(), cwd=folder)


def run(*command, cwd=None):
    done = subprocess.run([str(part) for part in command], cwd=cwd)
    if done.returncode:
        sys.exit(f'failed: {" ".join(str(part) for part in command)}')


if __name__ == '__main__':
    main()
