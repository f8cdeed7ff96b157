"""What folded code is, on the line that opens it: the imports, the code of a figure, what checks an answer."""
from docutils import nodes
from sphinx.application import Sphinx

CODE = 'cell_code'  # what myst-nb calls the container of a cell


def name(app: Sphinx, doctree: nodes.document) -> None:
    """Put the words where myst-nb keeps "Show source"; a handler of doctree-read."""
    cells = [node for node in doctree.findall(nodes.container) if node.get('nb_element') == CODE]
    for cell in cells:
        if cell.get('hide_mode') == 'input':
            cell['prompt_show'] = cell['prompt_hide'] = _words(cell, first=cell is cells[0])


def _words(cell, first):
    if first:
        return 'Imports'
    if next(cell.findall(nodes.image), None):
        return 'Code of this figure'
    if 'grade(' in cell.children[0].astext():
        return 'What checks your answer'
    return 'Code'
