"""What pybtex would compute again for each citation, kept for a build; and no search for garbage while it runs."""
import functools
import gc
from importlib.metadata import entry_points

from pybtex.plugin import register_plugin
from pybtex.style.formatting import BaseStyle
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    # pybtex reads the metadata of all installed packages for each of its plugins and citations: it is told them once
    for kind in ('backends', 'style.formatting', 'style.labels', 'style.names', 'style.sorting'):
        for found in entry_points(group=f'pybtex.{kind}'):
            register_plugin(found.group, found.name, found.load(), force=True)
    BaseStyle.format_entry = _once(BaseStyle.format_entry)
    # A build makes millions of nodes that live on. Looking through them for garbage took a tenth of a cold build, a quarter
    # of an incremental one, and three seconds at the end; not looking costs 40 MB.
    gc.disable()
    app.connect('build-finished', lambda app, error: gc.freeze(), priority=999)


def _once(format_entry):
    """A work is formatted for the bibliography and again, in the same way, for the tooltips of its citations."""
    made = {}

    @functools.wraps(format_entry)
    def formatted(style, label, entry, bib_data=None):
        key = style, label, entry.key
        if key not in made:
            made[key] = format_entry(style, label, entry, bib_data)
        return made[key]

    return formatted
