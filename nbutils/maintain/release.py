"""Release a version: `python -m nbutils.maintain.release x.y.z` (`make release VERSION=x.y.z`).

Writes the version into `pyproject.toml`, the launch cells and `CITATION.cff`, today's date into the latter and into
`CHANGELOG.md`, commits and tags. It pushes nothing: that publishes, and is left to whoever releases.
"""
import datetime
import re
import subprocess
import sys

from nbutils.maintain import launch, notebooks


def git(*arguments):
    """What a git command prints. Raises CalledProcessError where it fails."""
    done = subprocess.run(['git', *arguments], cwd=notebooks.ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def refusal(version):
    """Why this version cannot be released now; None where it can."""
    if not re.fullmatch(r'\d+\.\d+\.\d+', version):
        return f'VERSION={version}: expected three numbers such as 1.2.3'
    if git('status', '--porcelain'):
        return 'the working tree has changes: commit them, or put them aside'
    if git('tag', '--list', f'v{version}'):
        return f'v{version} is released already'
    changes = (notebooks.ROOT / 'CHANGELOG.md').read_text('utf-8')
    entry = re.search(rf'^## \[{re.escape(version)}\] - Unreleased\n(.*?)(?=^## |\Z)', changes, re.M | re.S)
    if not (entry and entry[1].strip()):
        return f'CHANGELOG.md says nothing under "## [{version}] - Unreleased"'
    return None


def write(version, date):
    """Put version and date into all files that name them."""
    for name, pattern, new in (
        ('pyproject.toml', r'^version = ".*"$', f'version = "{version}"'),
        ('CITATION.cff', r'^version: .*$', f'version: {version}'),
        ('CITATION.cff', r'^date-released: .*$', f'date-released: {date}'),
        ('CHANGELOG.md', rf'^## \[{re.escape(version)}\] - Unreleased$', f'## [{version}] - {date}'),
    ):
        path = notebooks.ROOT / name
        text, found = re.subn(pattern, new, path.read_text('utf-8'), flags=re.M)
        if found != 1:
            raise ValueError(f'{name}: {found} lines like {pattern}, expected one')
        path.write_text(text, 'utf-8')
    launch.main()


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    version = argv[0] if len(argv) == 1 else ''
    if why := refusal(version):
        sys.exit(why)
    write(version, datetime.date.today().isoformat())
    git('commit', '--all', '--quiet', '--message', f'Release {version}')
    git('tag', '--annotate', f'v{version}', '--message', f'Version {version}')
    print(f'Version {version} is committed and tagged. make test, then: git push origin HEAD v{version}')


if __name__ == '__main__':
    main()
