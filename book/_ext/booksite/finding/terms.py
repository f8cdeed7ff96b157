"""The terms of the book: read from book/glossary.md, linked where a page first uses them, and collected in the index."""
import re
import unicodedata
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from ..build import book, link, page_of, paragraph, title_of
from . import plain_text

GLOSSARY = 'book/glossary'
INDEX = 'book/index_of_terms'
_HERE = re.compile(r'\.\. (?P<section>\w+/\w+)$')
_NOT_LINKED = '.. not linked:'
_WORD = re.compile(r'(?<![\w\-–])\w+')
_log = logging.getLogger(__name__)


class Term(NamedTuple):
    """An entry of the glossary: its names, the section that introduces it, its definition as written, and its line."""
    names: tuple
    section: str
    definition: str
    line: int

    @property
    def name(self):
        return self.names[0]

    @property
    def slug(self):
        return nodes.make_id(self.name.replace('+', ' plus'))


class Glossary:
    """The entries of book/glossary.md. Comments in the list name the section of the entries below them.

    `problems` lists (place, message) for all that must stop a build.
    """

    def __init__(self, the_book):
        self.path = Path(the_book.root, f'{GLOSSARY}.md')
        self.problems, self.not_linked = [], set()
        lines = self.path.read_text('utf-8').splitlines() if self.path.is_file() else []
        self.terms = list(self._read(lines, the_book.sections))
        self.forms = self._forms()

    def place(self, line):
        return f'{GLOSSARY}.md:{line}'

    def _read(self, lines, sections):
        section, names, definition, start = None, [], [], 0
        inside = False
        for number, text in enumerate([*lines, '```'], 1):
            if text.startswith('```'):
                inside = '{glossary}' in text
            if definition and not text.startswith(' '):
                yield Term(tuple(names), section, ' '.join(definition), start)
                names, definition = [], []
            if found := _HERE.match(text):
                section = found['section']
                if section not in sections:
                    self.problems.append((self.place(number), f'{section} is no section of _toc.yml'))
            elif text.startswith(_NOT_LINKED):
                self.not_linked |= {name.strip() for name in text.removeprefix(_NOT_LINKED).split(',')}
            elif inside and text.startswith(' '):
                definition.append(text.strip())
            elif inside and text and not text.startswith((':', '.', '`')):
                names.append(text)
                start = number if len(names) == 1 else start
                if section is None:
                    self.problems.append((self.place(number), f'no section is named above {text}'))

    def _forms(self):
        """Form of a name, plurals included, as `normal` writes it -> its term."""
        found = {}
        for term in self.terms:
            for name in term.names:
                for form in plurals(normal(name)):
                    if found.setdefault(form, term) is not term:
                        self.problems.append((self.place(term.line), f'{form} is also a name of {found[form].name}'))
        return found

    @cached_property
    def patterns(self):
        """First word of names -> what finds those names, the longest first."""
        forms = {}
        for form in sorted(self.forms, key=len, reverse=True):
            written = re.escape(form).replace(r'\ ', r'[\s\-–]+').replace("'", "['’]")
            forms.setdefault(re.match(r'\w*', form)[0], []).append(written)
        return {first: re.compile(rf'(?:{"|".join(written)})(?!\w)', re.I) for first, written in forms.items()}

    def found(self, text):
        """Pairs of a match and its term, for all names in a text."""
        pairs, end = [], 0
        for word in _WORD.finditer(text):
            pattern = self.patterns.get(word[0].lower())
            if pattern and word.start() >= end and (match := pattern.match(text, word.start())):
                pairs.append((match, self.forms[normal(match[0])]))
                end = match.end()
        return pairs


def normal(text: str) -> str:
    """A name with small letters, spaces for hyphens and dashes, and the plain apostrophe."""
    return re.sub(r'[\s\-–]+', ' ', text.lower()).replace('’', "'")


def plurals(name: str) -> list[str]:
    """The name and the forms that its plural may have."""
    endings = {'y': ('y', 'ies'), 'is': ('is', 'es'), 'ix': ('ix', 'ices'), 'x': ('x', 'xes'), 's': ('s',)}
    for end in ('is', 'ix', 'y', 'x', 's'):
        if name.endswith(end):
            return [name.removesuffix(end) + other for other in endings[end]]
    return [name, f'{name}s']


class Use(NamedTuple):
    """A name of a term in a text of a page."""
    text: nodes.Text
    match: re.Match
    term: Term


class Terms(SphinxTransform):
    """Link the first use of each term in a section to the glossary, and note all uses for the index."""
    default_priority = 845  # before Sphinx collects index entries

    def apply(self):
        glossary, page = book(self.env).glossary, self.env.docname
        if page == GLOSSARY:
            finish_glossary(self.env, self.document, glossary)
        elif page in needed(self.env):
            self.mark(glossary, page.removeprefix('notebooks/'))

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


def needed(env: BuildEnvironment) -> list[str]:
    return [page_of(section) for section in book(env).sections]


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


def defined(term: Term) -> str:
    return f'glossary-{term.slug}'  # the glossary's own begin with term-


def introduced(term: Term) -> str:
    return f'introduced-{term.slug}'


def used(term: Term) -> str:
    return f'used-{term.slug}'


def shown(term: Term) -> str:
    """The definition as plain text, for a tooltip."""
    return plain_text.text(term.definition)


def finish_glossary(env: BuildEnvironment, document: nodes.document, glossary: Glossary) -> None:
    """Give each entry of the glossary an address that other pages know, and a link to the section that introduces it."""
    terms, first = {term.name: term for term in glossary.terms}, {}
    for item in document.findall(nodes.definition_list_item):
        head, body = item.children[0], item.children[-1]
        term = terms[head.rawsource]
        if defined(term) not in head['ids']:
            head['ids'].append(defined(term))
        first.setdefault(_letters(term.name)[0].upper(), defined(term))
        page = page_of(term.section)
        anchor = '' if env.app.builder.format == 'latex' else introduced(term)  # on paper the page will do
        place = link(env, page, f'{book(env).numbers.get(page, "")} {title_of(env, page)}'.strip(), anchor)
        body.children[-1] += [nodes.Text(' '), nodes.inline('', '', nodes.Text('→ '), place, classes=['introduced-in'])]
    for node in list(document.findall(addnodes.glossary)):
        node.parent.insert(node.parent.index(node), letters_bar(first))


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
    order = {page: i for i, page in enumerate(needed(env))}
    for page, entries in env.get_domain('index').entries.items():
        for _, name, anchor, main, _ in entries:
            found.setdefault(name, []).append((order.get(page, -1), page, anchor, main))
    letters = {}
    for name in sorted(found, key=lambda name: (_letters(name), name)):
        item = _index_item(env, docname, name, sorted(found[name]), other.get(name))
        letters.setdefault(_letters(name)[:1].upper(), []).append(item)
    made = [] if app.builder.format == 'latex' else [letters_bar({letter: f'index-{letter}' for letter in letters})]
    for letter, items in letters.items():
        made.append(nodes.rubric('', letter, ids=[f'index-{letter}']))
        made.append(nodes.bullet_list('', *items, classes=['index-of-terms']))
    return made


def letters_bar(anchors: dict[str, str]) -> nodes.paragraph:
    """A line of links to where the letters begin; `anchors`: letter -> anchor on this page."""
    links = [nodes.reference('', letter, refuri=f'#{anchor}', internal=True) for letter, anchor in sorted(anchors.items())]
    return paragraph(*[part for link in links for part in (link, ' ')], classes=['letters'])


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


def _letters(name):
    """What an entry is sorted by: letters without marks, whatever stands between them."""
    letters = re.sub(r'[^\w]+', ' ', unicodedata.normalize('NFKD', name.replace('Ł', 'L').replace('ł', 'l')).lower())
    return ''.join(letter for letter in letters if not unicodedata.combining(letter)).strip()
