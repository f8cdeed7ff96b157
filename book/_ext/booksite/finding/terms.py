"""The terms of the glossary on the pages of sections: linked where they are first used, and noted for the index."""
import re
from itertools import groupby
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from ..build import book, link
from .glossary import GLOSSARY, Term, defined, finish_glossary, introduced, normal, shown, used

_log = logging.getLogger(__name__)


class Use(NamedTuple):
    """A name of a term in a text of a page."""
    text: nodes.Text
    match: re.Match
    term: Term


class Terms(SphinxTransform):
    """Link the first use of each term in a section to the glossary, and note all uses for the index."""
    default_priority = 845  # before Sphinx collects index entries

    def apply(self):
        glossary, section = book(self.env).glossary, self.env.docname.removeprefix('notebooks/')
        if self.env.docname == GLOSSARY:
            finish_glossary(self.env, self.document, glossary)
        elif section in book(self.env).sections:
            self.mark(glossary, section)

    def mark(self, glossary, section):
        join_lines(self.document)
        uses = [Use(text, match, term) for text in self.document.findall(nodes.Text) if is_prose(text)
                for match, term in glossary.found(text)]
        chosen = {}
        # the first use of each term; of those introduced here the first that stands out as *new word*
        own = [use for use in uses if use.term.section == section]
        for use in [*(use for use in own if isinstance(use.text.parent, nodes.emphasis)), *uses]:
            linked = use.term.section == section or use.term.name not in glossary.not_linked
            if linked and may_change(use.text):
                chosen.setdefault(use.term, use)
        for use in own:  # only in a heading, or in a solution: the paragraph is the place, or the first one below
            if use.term not in chosen and (place := paragraph_of(use.text)):
                place['ids'].append(introduced(use.term))
                chosen[use.term] = None
        for text in dict.fromkeys(use.text for use in chosen.values() if use):
            self.rewrite(text, [use for use in chosen.values() if use and use.text is text], section)
        for term in glossary.terms:
            if term.section == section and term not in {use.term for use in uses}:
                _log.warning('%s does not occur in the prose of notebooks/%s.ipynb', term.name, section,
                             location=glossary.place(term.line), type='booksite')
        self.note(glossary, own, chosen, section)

    def rewrite(self, text, uses, section):
        """Put a link, or a target for the index, around each of some names in a text."""
        made, end = [], 0
        for use in sorted(uses, key=lambda use: use.match.start()):
            word = use.match[0]
            made.append(nodes.Text(text[end:use.match.start()]))
            if use.term.section == section:
                made.append(nodes.inline('', word, ids=[introduced(use.term)]))
            else:
                reference = link(self.env, GLOSSARY, word, defined(use.term), ['term'])
                reference['ids'] = [used(use.term)]
                reference['reftitle'] = shown(use.term)
                made.append(reference)
            end = use.match.end()
        text.parent.replace(text, [*made, nodes.Text(text[end:])])

    def note(self, glossary, own, chosen, section):
        """Entries for the index: terms that are introduced or used, theorems and definitions with a title."""
        here = {use.term: '' for use in own} | {
            term: introduced(term) if term.section == section else used(term) for term in chosen}
        entries = [('single', term.name, anchor, 'main' if term.section == section else '', None)
                   for term, anchor in here.items()]
        for node in self.document.findall(nodes.Admonition):
            title = node.get('title', '').strip()[1:-1]  # sphinx-proof puts brackets around it
            term = glossary.forms.get(normal(title))
            if title and 'realtype' in node and not (term and term.section == section):
                entries.append(('single', f'{title} ({node["realtype"]})', node['ids'][0], '', None))
        self.document.insert(0, addnodes.index(entries=entries))


def join_lines(document: nodes.document) -> None:
    """Make one text of the lines of a paragraph: the parser makes one of each, and a name may run over the end of a line."""
    for parent in {text.parent for text in document.findall(nodes.Text) if is_prose(text)}:
        groups = groupby(parent.children, lambda node: isinstance(node, nodes.Text))
        parent.children = [node for is_text, group in groups
                           for node in ([nodes.Text(''.join(group))] if is_text else group)]
        for node in parent.children:
            node.parent = parent


def is_prose(text: nodes.Text) -> bool:
    """Whether a text is one of sentences: neither code nor mathematics."""
    return not any(isinstance(node, (nodes.literal, nodes.FixedTextElement, nodes.math, nodes.Invisible)) or
                   'cell' in node.get('classes', ()) for node in _around(text))


def may_change(text: nodes.Text) -> bool:
    """Whether a link may stand in a text: not in headings, links and captions, nor in the opening list, nor in solutions."""
    kept = (nodes.title, nodes.reference, addnodes.pending_xref, nodes.caption)
    for node in _around(text):
        if isinstance(node, kept) or 'solution' in node.get('classes', ()):
            return False
        if isinstance(node, nodes.bullet_list) and isinstance(node.parent.parent, nodes.document):
            return node.parent.first_child_matching_class(nodes.bullet_list) != node.parent.index(node)
    return True


def paragraph_of(text: nodes.Text) -> nodes.Element | None:
    """The paragraph in which a text stands, or the first one below a heading."""
    around = (node for node in _around(text) if isinstance(node, nodes.paragraph))
    return next(around, None) or text.parent.parent.next_node(nodes.paragraph)


def _around(text):
    node = text.parent
    while node is not None and not isinstance(node, nodes.document):
        yield node
        node = node.parent
