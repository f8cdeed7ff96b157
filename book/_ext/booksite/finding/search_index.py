"""What the search searches: the prose of each part of each page, the glossary, the claims, and what readers call things.
For _static/search.js."""
import json
from collections.abc import Iterator
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx

from ..build import CLAIMS_PAGE, check_anchor, claim_anchor, page_of, title_of
from . import glossary, plain_text
from .index_of_terms import INDEX

NAME = 'search_index.js'
_BEFORE, _AFTER = 'var bookIndex = ', ';\n'
WEIGHTS = {'notebooks/': 1, 'book/notation': .6, 'book/claims': .3, 'book/errata': .4, 'book/bibliography': .3, 'book/': .5}
ASKED = 'book/asked.yml'
ELSEWHERE = (glossary.GLOSSARY, INDEX)  # pages that the search knows by their entries


def start(app: Sphinx) -> None:
    """Take up the index of the last build, of which pages that have not changed keep their place; no stock search."""
    if app.builder.format != 'html':
        return
    app.builder.search = False
    path = Path(app.outdir, NAME)
    text = path.read_text('utf-8') if path.is_file() else ''
    app.booksite.search = json.loads(text[len(_BEFORE):-len(_AFTER)])['pages'] if text else {}


def collect(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take the prose of a page into the index."""
    if app.builder.format == 'html' and docname not in ELSEWHERE:
        top = next(doctree.findall(nodes.section), None)
        weight = next((weight for start, weight in WEIGHTS.items() if docname.startswith(start)), .5)
        app.booksite.search[docname] = {'weight': weight, 'parts': list(_parts(top)) if top else []}


def _parts(section, anchor='', heading=''):
    """Address, heading and prose of a section, then of the sections in it."""
    below = [child for child in section.children if isinstance(child, nodes.section) and not plain_text.is_hidden(child)]
    own = [child for child in section.children if child not in below and not isinstance(child, nodes.title)]
    yield [anchor, heading, ' '.join(filter(None, map(plain_text.text_of, own)))]
    for child in below:
        title = child.next_node(nodes.title)
        yield from _parts(child, child['ids'][0], plain_text.text_of(title) if title else '')


def pages(app: Sphinx) -> Iterator[tuple]:
    """The search page itself."""
    if app.builder.format == 'html':
        yield 'search', {}, 'search.html'


def finish(app: Sphinx, error: Exception | None) -> None:
    """Write the index of all pages that there are."""
    if error or app.builder.format != 'html':
        return
    found = {}
    for docname in sorted(app.env.found_docs):
        if docname not in app.booksite.search:
            app.env.get_and_resolve_doctree(docname, app.builder)  # which collects it
        if page := app.booksite.search.get(docname):
            title = plain_text.text(title_of(app.env, docname))
            found[docname] = {'title': f'{app.booksite.numbers.get(docname, "")} {title}'.strip(), **page}
    whole = {'pages': found, 'names': [*_terms(app), *_claims(app)], **_asked(app)}
    Path(app.outdir, NAME).write_text(f'{_BEFORE}{json.dumps(whole, ensure_ascii=False)}{_AFTER}', 'utf-8')


def _asked(app):
    """Pairs of a phrase and a page, and phrase -> what is planned, or absent, of book/asked.yml."""
    path = Path(app.srcdir, ASKED)
    read = yaml.safe_load(path.read_text('utf-8')) if path.is_file() else {}
    topics = {kind: {phrase: topic for topic, phrases in read.get(kind, {}).items() for phrase in [topic.lower(), *phrases]}
              for kind in ('planned', 'absent')}
    asked = [[phrase, page_of(section)] for section, phrases in read.get('asked', {}).items() for phrase in phrases]
    return {'asked': asked, **topics}


def _terms(app):
    """Each term: its names, its definition, links, and the page that introduces it."""
    for term in app.booksite.glossary.terms:
        page = page_of(term.section)
        name = f'{app.booksite.numbers.get(page, "")} {title_of(app.env, page)}'.strip()
        links = [[name, page, glossary.introduced(term)], ['Glossary', glossary.GLOSSARY, glossary.defined(term)]]
        yield {'names': term.names, 'text': glossary.shown(term), 'links': links}


def _claims(app):
    """Each claim of a section of the contents, named by its identifier."""
    if CLAIMS_PAGE not in app.env.found_docs:
        return
    for section in app.booksite.sections:
        for claim in app.booksite.claims.get(section, ()):
            links = [['Claims', CLAIMS_PAGE, claim_anchor(claim.id)]]
            if claim.id in app.booksite.checks:
                page = page_of(section)
                links.insert(0, [f'Check in {title_of(app.env, page)}', page, check_anchor(claim.id)])
            yield {'names': [claim.id], 'text': plain_text.formula(claim.correct or claim.notes), 'links': links}
