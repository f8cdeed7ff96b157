"""What a build would do again and again: pybtex' search for its plugins, and Python's for garbage."""
import gc
from importlib.metadata import entry_points

from pybtex.plugin import register_plugin
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    # for each citation pybtex reads the metadata of all installed packages, 4 ms each time: it is told its plugins
    installed = entry_points()
    for kind in ('backends', 'style.formatting', 'style.labels', 'style.names', 'style.sorting'):
        for found in installed.select(group=f'pybtex.{kind}'):
            register_plugin(found.group, found.name, found.load(), force=True)
    # A build makes millions of nodes that live on. Looking through them for garbage took a tenth of a cold build, a quarter
    # of an incremental one, and three seconds at the end; not looking costs 40 MB.
    gc.disable()
    app.connect('build-finished', lambda app, error: gc.freeze(), priority=999)
