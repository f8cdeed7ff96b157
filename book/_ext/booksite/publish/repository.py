"""The one address of the project: a fork's pages open the fork's notebooks."""
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

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


def address(configured: str, remote: str = '', environ: Mapping[str, str] = os.environ) -> str:
    """The address to link to: BOOK_REPO_URL, else the git remote, else the configured one.

    Any form that git takes is turned into https://host/owner/name, without user name or token. Raises ValueError
    where BOOK_REPO_URL is set to something that is not such an address; a remote of another kind is passed over.
    """
    chosen = environ.get('BOOK_REPO_URL')
    if chosen and not clean(chosen):
        raise ValueError(f'BOOK_REPO_URL={chosen}: expected an address such as https://github.com/owner/name')
    return clean(chosen) or clean(remote) or configured


def branch(configured: str, environ: Mapping[str, str] = os.environ) -> str:
    """The branch to link to: BOOK_BRANCH, else the configured one."""
    return environ.get('BOOK_BRANCH') or configured


def site(repository: str, environ: Mapping[str, str] = os.environ) -> str:
    """The address of the published site, with a slash at the end: BOOK_SITE_URL, else the Pages of the repository.

    Raises ValueError where BOOK_SITE_URL is no address.
    """
    if chosen := environ.get('BOOK_SITE_URL'):
        if not re.match(r'https?://[^/\s]+(/\S*)?$', chosen):
            raise ValueError(f'BOOK_SITE_URL={chosen}: expected an address such as https://owner.github.io/name/')
        return chosen.rstrip('/') + '/'
    found = _ADDRESS.match(repository)
    if not found:
        return ''
    host = f'{found["owner"]}.{found["host"].replace(".com", ".io")}'.lower()
    return f'https://{host}/' if found['name'].lower() == host else f'https://{host}/{found["name"]}/'


def clean(url: str | None) -> str:
    """https://host/owner/name without credentials, '' where the address is of another kind."""
    found = _ADDRESS.match(url or '')
    return f'https://{found["host"]}/{found["owner"]}/{found["name"]}' if found else ''


def remote(root: str | Path) -> str:
    """The address of the git remote `origin`, '' where there is none, or no git."""
    command = ['git', '-C', str(root), 'config', '--get', 'remote.origin.url']
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ''


def configure(app: Sphinx, config: Config) -> None:
    """Set the theme's repository address and branch before the theme reads them, and the address of the site."""
    options = config.html_theme_options
    try:
        options['repository_url'] = address(options.get('repository_url', ''), remote(app.confdir))
        config.html_baseurl = site(options['repository_url'])
    except ValueError as error:
        raise ConfigError(str(error)) from None
    options['repository_branch'] = branch(options.get('repository_branch', 'main'))
    if not options['repository_url'].startswith('https://github.com/'):
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
