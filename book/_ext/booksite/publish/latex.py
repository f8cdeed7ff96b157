"""The book on paper: what the LaTeX builder gets wrong or does not know. The look is in book/_latex/paper.sty.

Everything here acts on the one document that Sphinx puts together from all pages; the website does not notice.
"""
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.latex import LaTeXTranslator
from sphinx_exercise.nodes import is_exercise_node, solution_node
from sphinx_proof.nodes import NODE_TYPES, proof_node, unenumerable_node
from sphinxcontrib.rsvgconverter import RSVGConverter

from ..page import svg_figures

_TEX = re.compile(r'\\[a-zA-Z]+|[{}^_]')  # what takes no room in a formula
_STYLED = ('checks', 'claims')  # lists and tables have no class in LaTeX: these get an environment around them
_STATEMENTS = (*NODE_TYPES.values(), unenumerable_node)


class Box(nodes.Element):
    """A definition, theorem, proof, exercise or solution: the environment `kind`, its title in the first child."""


class BoxTitle(nodes.TextElement):
    """The title of a box, an argument of its environment."""


class OnPaper(SphinxPostTransform):
    """Shape the whole document: its three parts, boxes, solutions at the end of their chapter, no code of figures."""
    formats = ('latex',)
    default_priority = 800  # after all references are resolved

    def run(self, **options):
        root = self.document
        for node in root.findall(nodes.Element):  # other extensions move children without telling them
            for child in node.children:
                child.parent = node
        for node in list(root.findall(lambda node: _is_hidden_code(node) or _is_unanswered(node) or _is_mark(node))):
            node.parent.remove(node)
        self.boxes(root)
        for node in list(root.findall(_needs_anchor)):
            _add_anchors(node, [f'{docname(node)}:{name}' for name in node['ids']])
        for table in root.findall(nodes.table):
            _let_break(table)
        for node in list(root.findall(lambda node: isinstance(node, (nodes.bullet_list, nodes.table)))):
            if name := next((name for name in node['classes'] if name in _STYLED), None):
                parent, place = node.parent, node.parent.index(node)
                parent[place] = nodes.container('', node, classes=[name])
        self.parts(root)

    def boxes(self, root):
        exercises = {node['label']: node for node in root.findall(is_exercise_node)}
        titles = {label: node[0].children for label, node in exercises.items()}
        solved = {node['target_label'] for node in root.findall(solution_node)}
        for node in list(root.findall(lambda node: isinstance(node, _STATEMENTS))):
            self.statement(node)
        for node in list(root.findall(proof_node)):
            opening, last = node[0][0], node[0][-1]
            opening[0:1] = [nodes.emphasis('', 'Proof.'), nodes.Text(opening[0].removeprefix('Proof.'))]
            if isinstance(last, nodes.paragraph):
                last += raw(r'\bookqed')
            node.replace_self(Box('', BoxTitle(), *node[0].children, kind='bookproof'))
        for node in list(root.findall(is_exercise_node)):
            self.exercise(node, node['label'] in solved)
        for node in list(root.findall(solution_node)):
            label = node['target_label']
            link = nodes.reference('', '', *(child.deepcopy() for child in titles[label]), internal=True,
                                   refuri=f'%{docname(exercises[label])}#{label}')
            made = Box('', BoxTitle('', '', link), *node[1:], kind='booksolution')
            made.insert(1, anchor(f'solution:{label}'))
            node.replace_self(made)

    def statement(self, node):
        page = docname(node)
        number = self.env.toc_fignumbers.get(page, {}).get(node['countertype'], {}).get(node['label'], ())
        number = '.'.join(map(str, number))
        title = [nodes.Text(f'{node["realtype"].title()} {number}'.strip()), *node[0].children]
        made = Box('', BoxTitle('', '', *title), *node[1].children, kind='bookstatement')
        made.insert(1, numbered(number, f'{page}:{node["label"]}'))
        node.replace_self(made)

    def exercise(self, node, is_solved):
        page, label, title = docname(node), node['label'], node[0]
        made = Box('', BoxTitle('', '', *title.children), *node[1:], kind='bookexercise')
        number = title.astext().split(' (')[0].removeprefix('Exercise ')
        made.insert(1, numbered(number, f'{page}:{label}'))
        made.insert(2, anchor(f'exercise:{label}'))
        if is_solved:
            made += raw(rf'\bookseesolution{{{label}}}')
        node.replace_self(made)

    def parts(self, root):
        """The landing page as a first chapter; unnumbered, numbered and unnumbered chapters; solutions after each."""
        top = next(node for node in root.children if isinstance(node, nodes.section))
        trees = [node for node in top.children if _is_toctree(node)]
        preface = nodes.section('', nodes.title('', 'About this book'), ids=['about-this-book'])
        preface += [node for node in top.children[1:] if node not in trees]
        for section in [node for node in preface.findall(nodes.section) if len(node.children) == 1]:
            section.parent.remove(section)  # a heading of cards, which paper has not
        top.children[1:] = []
        top += [preface, *trees]
        was_numbered = False
        for chapter in [chapter for tree in trees for chapter in tree.children if _is_page(chapter)]:
            is_numbered = bool(self.env.toc_secnumbers.get(chapter['docname']))
            if is_numbered != was_numbered:
                _before(chapter, raw(r'\mainmatter' if is_numbered else r'\backmatter'))
            was_numbered = is_numbered
            self.collect_solutions(chapter)

    def collect_solutions(self, chapter):
        found = [box for box in chapter.findall(Box) if box['kind'] == 'booksolution']
        if found:
            chapter += raw(r'\booksolutions')
        for box in found:
            page = addnodes.start_of_file('', docname=docname(box))  # links inside are relative to their page
            box.parent.remove(box)
            page += box
            chapter += page


def _is_hidden_code(node):
    return (isinstance(node, nodes.container) and 'cell_input' in node['classes']
            and 'tag_hide-input' in node.parent.get('classes', ()))


def _is_unanswered(node):
    """What the grader of an exercise says as long as nobody has tried it."""
    return (isinstance(node, nodes.container) and 'cell_output' in node['classes']
            and node.astext().strip() == 'not attempted yet')


def _is_mark(node):
    """A link between a statement and the line of its check, which stand near each other on paper."""
    return isinstance(node, nodes.reference) and {'check-badge', 'check-back'} & {*node['classes']}


def _is_toctree(node):
    return isinstance(node, nodes.compound) and 'toctree-wrapper' in node['classes']


def _is_page(node):
    return isinstance(node, addnodes.start_of_file)


def _needs_anchor(node):
    return isinstance(node, (nodes.row, nodes.list_item, nodes.container)) and node['ids']


def _add_anchors(node, names):
    place = next(node.findall(nodes.paragraph), None)
    made = [anchor(name) for name in names]
    if place is None:
        node[0:0] = made
    else:
        place[0:0] = made


def _let_break(table):
    """A table of more than a few rows may break across pages; then its columns need widths."""
    rows = [row for body in table.findall(nodes.tbody) for row in body.children]
    if len(rows) < 10 and 'claims' not in table['classes']:
        return
    columns = list(table.findall(nodes.colspec))
    if len({column['colwidth'] for column in columns}) == 1:  # none were given
        for place, column in enumerate(columns):
            longest = max(len(_TEX.sub('', row[place].astext())) for row in rows)
            column['colwidth'] = min(30, max(12, longest))
    table['classes'] = [name for name in table['classes'] if name != 'colwidths-auto'] + ['longtable', 'colwidths-given']


def _before(node, new):
    node.parent.insert(node.parent.index(node), new)


def docname(node: nodes.Node) -> str:
    """The page from which a node of the whole document comes."""
    while not ('docname' in node and isinstance(node, (addnodes.start_of_file, nodes.document))):
        node = node.parent
    return node['docname']


def raw(latex: str) -> nodes.raw:
    return nodes.raw('', latex, format='latex')


def anchor(name: str) -> nodes.raw:
    return raw(rf'\bookanchor{{{name}}}')


def numbered(number: str, name: str) -> nodes.raw:
    """An anchor that \\ref gives a number for."""
    return raw(rf'\booknumbered{{{number}}}{{{name}}}')


def visit_box(self, node):
    self.body.append(f'\n\n\\begin{{{node["kind"]}}}')


def depart_box(self, node):
    self.body.append(f'\n\\end{{{node["kind"]}}}\n')


class OnWhite(RSVGConverter):
    """Stored figures in the colours of the white page; it comes before the converter that it is made of."""
    default_priority = RSVGConverter.default_priority - 1

    def convert(self, _from, _to):
        coloured = Path(_to).with_suffix('.svg')
        coloured.write_text(svg_figures.on_white(Path(_from).read_text('utf-8')), 'utf-8')
        return super().convert(coloured, _to)


def visit_title(self, node):
    if not node.children:
        raise nodes.SkipNode
    self.body.append('{')


def depart_title(self, node):
    self.body.append('}\n')


def visit_image(self, node):
    """A picture as Sphinx sets it, with its alternative text for programs that read a PDF aloud."""
    start = len(self.body)
    LaTeXTranslator.visit_image(self, node)
    picture = ''.join(self.body[start:]).replace(r'\noindent', '').strip()
    text = (b'\xfe\xff' + node.get('alt', '').encode('utf-16-be')).hex()
    self.body[start:] = [f'\n\\bookpicture{{{text}}}{{{picture}}}\n']


def depart_image(self, node):
    pass


def setup(app: Sphinx) -> None:
    app.add_node(Box, latex=(visit_box, depart_box))
    app.add_node(BoxTitle, latex=(visit_title, depart_title))
    app.add_node(nodes.image, override=True, latex=(visit_image, depart_image))
    app.add_post_transform(OnPaper)
    app.add_post_transform(OnWhite)
