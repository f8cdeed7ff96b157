"""How the book reaches readers: its addresses, what links to a page show, the sitemap, lost addresses, paper."""
from sphinx.application import Sphinx

from . import edition, front, latex, not_found, opengraph, repository, sitemap


def setup(app: Sphinx) -> None:
    app.add_role('edition', edition.Edition())
    app.add_role('repository', repository.RepositoryFile())
    app.add_role('published', repository.PublishedFile())
    app.connect('config-inited', repository.configure, priority=100)
    app.connect('html-page-context', opengraph.add_tags, priority=950)
    app.connect('env-updated', sitemap.check_addresses)
    app.connect('build-finished', sitemap.write)
    app.connect('build-finished', front.put_first, priority=990)  # as the page is at last
    app.connect('html-collect-pages', not_found.pages)
    latex.setup(app)
