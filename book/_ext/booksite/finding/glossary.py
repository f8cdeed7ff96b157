"""The glossary: read from book/glossary.md, and its page finished with addresses and links. The reading needs no Sphinx."""
import re
import unicodedata
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment

from ..build import book, link, page_of, paragraph, title_of
from . import plain_text

GLOSSARY = 'book/glossary'
_HERE = re.compile(r'\.\. (?P<section>\w+/\w+)$')
_NOT_LINKED = '.. not linked:'
_WORD = re.compile(r'(?<![\w\-–])\w+')


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
        first.setdefault(letters_of(term.name)[0].upper(), defined(term))
        page = page_of(term.section)
        anchor = '' if env.app.builder.format == 'latex' else introduced(term)  # on paper the page will do
        place = link(env, page, f'{book(env).numbers.get(page, "")} {title_of(env, page)}'.strip(), anchor)
        body.children[-1] += [nodes.Text(' '), nodes.inline('', '', nodes.Text('→ '), place, classes=['introduced-in'])]
    for node in list(document.findall(addnodes.glossary)):
        node.parent.insert(node.parent.index(node), letters_bar(first))


def letters_bar(anchors: dict[str, str]) -> nodes.paragraph:
    """A line of links to where the letters begin; `anchors`: letter -> anchor on this page."""
    links = [nodes.reference('', letter, refuri=f'#{anchor}', internal=True) for letter, anchor in sorted(anchors.items())]
    return paragraph(*[part for link in links for part in (link, ' ')], classes=['letters'])


def letters_of(name: str) -> str:
    """What an entry is sorted by: letters without marks, whatever stands between them."""
    letters = re.sub(r'[^\w]+', ' ', unicodedata.normalize('NFKD', name.replace('Ł', 'L').replace('ł', 'l')).lower())
    return ''.join(letter for letter in letters if not unicodedata.combining(letter)).strip()
