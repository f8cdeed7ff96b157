"""The index of terms: filled from what Sphinx has collected from all pages, when its page is written."""
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ..build import book, link, page_of, paragraph, title_of
from .glossary import defined, letters_bar, letters_of

INDEX = 'book/index_of_terms'


class index_of_terms(nodes.General, nodes.Element):
    """Where the index of terms goes once all pages are read."""


class IndexOfTerms(SphinxDirective):
    """All terms, theorems and definitions, with the sections that introduce and use them: {index-of-terms}."""

    def run(self) -> list[nodes.Node]:
        return [index_of_terms()]


def fill_index(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the index from what Sphinx has collected from all pages."""
    for place in list(doctree.findall(index_of_terms)):
        place.replace_self(index_nodes(app, docname))


def index_nodes(app: Sphinx, docname: str) -> list[nodes.Node]:
    env, found = app.env, {}
    other = {name: term for term in book(env).glossary.terms for name in term.names[1:]}
    order = {page: i for i, page in enumerate(map(page_of, book(env).sections))}
    for page, entries in env.get_domain('index').entries.items():
        for _, name, anchor, main, _ in entries:
            found.setdefault(name, []).append((order.get(page, -1), page, anchor, main))
    letters = {}
    for name in sorted(found, key=lambda name: (letters_of(name), name)):
        item = _index_item(env, docname, name, sorted(found[name]), other.get(name))
        letters.setdefault(letters_of(name)[:1].upper(), []).append(item)
    made = [] if app.builder.format == 'latex' else [letters_bar({letter: f'index-{letter}' for letter in letters})]
    for letter, items in letters.items():
        made.append(nodes.rubric('', letter, ids=[f'index-{letter}']))
        made.append(nodes.bullet_list('', *items, classes=['index-of-terms']))
    return made


def _index_item(env, docname, name, places, term=None):
    """A name, linked to its definition or to the first place, and the numbers of the sections where it stands.

    A further name of a term gets the name under which its sections are listed.
    """
    def to(page, anchor, text):
        return link(env, page, text, '' if env.app.builder.format == 'latex' else anchor, source=docname)

    _, page, anchor, _ = places[0]
    line = paragraph(to(page, anchor, name))
    numbers = nodes.inline(classes=['index-places'])
    if term:
        numbers += [nodes.Text(' see '), to(page, defined(term), term.name)]
    for order, page, anchor, main in places:
        if order >= 0:
            reference = to(page, anchor, book(env).numbers.get(page, ''))
            reference['reftitle'] = title_of(env, page) + (', introduced here' if main else '')
            numbers += [nodes.Text(' '), nodes.strong('', '', reference) if main else reference]
    line += numbers
    return nodes.list_item('', line)
