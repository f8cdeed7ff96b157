"""The one address of the project: a fork's pages open the fork's notebooks."""
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError
from sphinx.util.docutils import ReferenceRole, SphinxRole

from nbutils.maintain import bundle

_ADDRESS = re.compile(
    r'(?:git@|ssh://git@|https?://(?:[^@/]*@)?)(?P<host>github\.com|gitlab\.com)[:/]'
    r'(?P<owner>[^/]+)/(?P<name>[^/]+?)(?:\.git)?/?$',
)


class Addresses(NamedTuple):
    """Where this build's project lies, which branch of it, and where its site is published ('' where nobody knows)."""
    repository: str
    branch: str
    site: str


def addresses(root: str | Path, repository: str, branch: str) -> Addresses:
    """The addresses of a build of the book in `root`: BOOK_REPO_URL, else the git remote, else the configured `repository`;
    BOOK_BRANCH, else `branch`; BOOK_SITE_URL, else the Pages of the repository.

    Any form that git takes is turned into https://host/owner/name, without user name or token. Raises ValueError
    where a variable is no such address; a remote of another kind is passed over.
    """
    chosen, site = os.environ.get('BOOK_REPO_URL'), os.environ.get('BOOK_SITE_URL')
    if chosen and not _clean(chosen):
        raise ValueError(f'BOOK_REPO_URL={chosen}: expected an address such as https://github.com/owner/name')
    if site and not re.match(r'https?://[^/\s]+(/\S*)?$', site):
        raise ValueError(f'BOOK_SITE_URL={site}: expected an address such as https://owner.github.io/name/')
    repository = _clean(chosen) or _clean(_remote(root)) or repository
    site = site.rstrip('/') + '/' if site else _pages(repository)
    return Addresses(repository, os.environ.get('BOOK_BRANCH') or branch, site)


def _clean(url):
    """https://host/owner/name without credentials, '' where the address is of another kind."""
    found = _ADDRESS.match(url or '')
    return f'https://{found["host"]}/{found["owner"]}/{found["name"]}' if found else ''


def _remote(root):
    """The address of the git remote `origin`, '' where there is none, or no git."""
    command = ['git', '-C', str(root), 'config', '--get', 'remote.origin.url']
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ''


def _pages(repository):
    """Where GitHub, or GitLab, publishes the pages of a repository."""
    found = _ADDRESS.match(repository)
    if not found:
        return ''
    host = f'{found["owner"]}.{found["host"].replace(".com", ".io")}'.lower()
    return f'https://{host}/' if found['name'].lower() == host else f'https://{host}/{found["name"]}/'


def configure(app: Sphinx, config: Config) -> None:
    """Set the theme's repository address and branch before the theme reads them, and the address of the site."""
    options = config.html_theme_options
    try:
        found = addresses(app.confdir, options.get('repository_url', ''), options.get('repository_branch', 'main'))
    except ValueError as error:
        raise ConfigError(str(error)) from None
    options['repository_url'], options['repository_branch'], config.html_baseurl = found
    if not found.repository.startswith('https://github.com/'):
        options['launch_buttons'] = {**options.get('launch_buttons', {}), 'colab_url': ''}  # it opens only GitHub's


class PublishedFile(ReferenceRole):
    """A file of the published site that this build has not: {published}`the book as a PDF <deep-learning-verified.pdf>`."""

    def run(self) -> tuple[list[nodes.Node], list]:
        if self.target not in bundle.FILES:
            known = ', '.join(bundle.FILES)
            message = self.inliner.reporter.error(f'{self.target} is none of {known}', line=self.lineno)
            return [], [message]
        return [nodes.reference('', self.title, refuri=self.config.html_baseurl + self.target)], []


class RepositoryFile(SphinxRole):
    """A file of the project, linked to where this build's repository shows it: {repository}`CONTRIBUTING.md`."""

    def run(self) -> tuple[list[nodes.Node], list]:
        options = self.config.html_theme_options
        if not os.path.exists(os.path.join(self.env.srcdir, self.text)):
            message = self.inliner.reporter.error(f'{self.text} is not in the repository', line=self.lineno)
            return [], [message]
        uri = f'{options["repository_url"]}/blob/{options["repository_branch"]}/{self.text}'
        return [nodes.reference('', self.text, refuri=uri)], []
