"""Every picture has words for those who cannot see it; one without is a warning, and so stops a strict build.

And each figure with a caption has an address that does not hang on what else is on its page: figure-1, figure-2 ...
"""
from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

_log = logging.getLogger(__name__)
_REMEDY = {
    'ipynb': 'begin its cell with  # %% mystnb={"image": {"alt": "what it shows"}}',
    'md': 'write ![what it shows](file)',
}


class Addresses(SphinxTransform):
    """Name the captioned figures of a page, before Sphinx gives those without a name one like id9."""
    default_priority = 205  # that is done at 210

    def apply(self, **options):
        captioned = [node for node in self.document.findall(nodes.figure) if node.next_node(nodes.caption)]
        for number, node in enumerate(captioned, 1):
            if not node['ids']:
                node['ids'] = [f'figure-{number}']
                self.document.note_implicit_target(node, node)


def check(app, doctree):
    """Warn about each image of a page without alternative text, with its file and its line or cell."""
    for image in doctree.findall(nodes.image):
        if not image.get('alt', '').strip():
            source = app.env.doc2path(app.env.docname, base=False)
            _log.warning(
                'a picture without alternative text: %s', _REMEDY.get(source.rsplit('.', 1)[-1], 'say what it shows'),
                location=_place(source, image), type='booksite', subtype='alt',
            )


def _place(source, image):
    """File and line; in a notebook file and cell: MyST-NB counts 10,000 lines a cell."""
    line, node = 0, image
    while node is not None:  # rows of tables have lines that are too small, so the largest is the nearest
        line, node = max(line, node.line or 0), node.parent
    if source.endswith('.ipynb'):
        return f'{source}:cell {line // 10_000}'
    return f'{source}:{line}'
