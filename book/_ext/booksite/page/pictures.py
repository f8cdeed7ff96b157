"""Each figure with a caption has an address that does not hang on what else is on its page: figure-1, figure-2 ..."""
from docutils import nodes
from sphinx.transforms import SphinxTransform


class Addresses(SphinxTransform):
    """Name the captioned figures of a page, before Sphinx gives those without a name one like id9."""
    default_priority = 205  # that is done at 210

    def apply(self, **options):
        captioned = [node for node in self.document.findall(nodes.figure) if node.next_node(nodes.caption)]
        for number, node in enumerate(captioned, 1):
            if not node['ids']:
                node['ids'] = [f'figure-{number}']
                self.document.note_implicit_target(node, node)
