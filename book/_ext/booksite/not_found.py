"""The page for addresses that do not exist. A server shows it at any depth, so it must not use relative links."""


def pages(app):
    """Add 404.html to the pages of the site."""
    if app.builder.format != 'html':
        return
    yield '404', {'title': 'Page not found', 'project_name': _name(app)}, 'not_found.html'


def _name(app):
    """The last part of the repository address: where GitHub Pages puts the site of a project."""
    return app.config.html_theme_options['repository_url'].rstrip('/').rsplit('/', 1)[-1]
