"""How long a section takes to read, and how hard its exercises are, counted from the page: a line below its opening."""
from docutils import nodes
from sphinx.application import Sphinx

from ..build import book, page_of, paragraph

WORDS = 200  # a minute: slow for prose, which adults read at about 240, as it is of formulas in words
SECONDS = {nodes.math_block: 15, nodes.figure: 20}  # looked at, not only seen
LINE = 5  # seconds a line of code in view
_FOLDED = {'dropdown', 'exercise', 'tag_checks', 'tag_hide-cell'}


def add(app: Sphinx, doctree: nodes.document) -> None:
    """Put a quiet line below what the section has written of what it needs and builds; what it runs in moves there, too."""
    opening = next(doctree.findall(nodes.bullet_list), None)
    if opening is None or app.env.docname not in map(page_of, book(app.env).sections):
        return
    said = f'About {minutes(doctree)} minutes to read'
    if stars := sorted(count for part in doctree.findall(nodes.Element) if 'exercise' in part.get('classes', ())
                       if (count := part.astext()[:60].count('★'))):
        levels = '★' * stars[0] + (f' to {"★" * stars[-1]}' if stars[0] < stars[-1] else '')
        said += f', and {len(stars)} exercises ({levels})'
    foot = paragraph(said + '. ', classes=['opening-foot'])
    for item in list(opening):
        if item.astext().startswith('Runs in'):
            opening.remove(item)
            foot += item.children[0].children
    opening.parent.insert(opening.parent.index(opening) + 1, foot)


def minutes(doctree: nodes.document) -> int:
    """The time for what is not folded, without exercises, to the next five minutes."""
    seconds = 0
    for part in doctree.findall(lambda node: isinstance(node, (nodes.paragraph, nodes.literal_block, *SECONDS))):
        around = _around(part)
        if _FOLDED & around:
            continue
        if isinstance(part, nodes.paragraph):
            seconds += len(part.astext().split()) * 60 / WORDS
        elif isinstance(part, nodes.literal_block):
            if 'cell_input' in around and 'tag_hide-input' not in around:
                seconds += LINE * (1 + part.astext().count('\n'))
        else:
            seconds += SECONDS[type(part)]
    return max(5, 5 * round(seconds / 300))


def _around(part):
    """The classes of all that a part stands in."""
    names = set()
    while (part := part.parent) is not None:
        if not isinstance(part, nodes.document):
            names.update(part.get('classes', ()))
    return names
