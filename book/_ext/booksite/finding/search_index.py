"""What the search searches: the words of each part of each page, the glossary, the claims, and what readers call things.

For _static/search.js. It shows excerpts of the prose, which lies in a file for each page, fetched when it is shown.
"""
import json
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx

from ..build import CLAIMS_PAGE, check_anchor, claim_anchor, page_of, title_of
from . import glossary, plain_text
from .index_of_terms import INDEX

NAME = 'search_index.js'
TEXTS = 'search'  # the folder of the texts
_INDEX, _TEXT, _AFTER = 'var bookIndex = ', 'bookTexts[{}] = ', ';\n'
SILENT = """a an and are as at be by can do does for from how i in is it my of on or our should so than that the this to into
need onto we what when where which why with you your its their them they but also has have had was were been would could may
such these those there here who whose will because if us me am""".split()  # words that nobody looks for
_WORD = re.compile(  # 'k-means', 'top-k', 'nn.Linear'; no single letter
    r'[^\W_]-[^\W_]{2,}|[^\W_]{2,}(?:-[^\W_]\b|(?:\.[^\W_]+)*)')
_CALLED = re.compile(r'(?<=\.)[a-z]\w{3,}(?=\()|\b[a-z]+_\w+(?==[^=])')  # in code: functions, and arguments with a name
_FIRST = 0x30  # the sign of the most frequent word
WEIGHTS = {'notebooks/': 1, 'book/notation': .6, 'book/claims': .3, 'book/errata': .4, 'book/bibliography': .3, 'book/': .5}
ASKED = 'book/asked.yml'
ELSEWHERE = (glossary.GLOSSARY, INDEX)  # pages that the search knows by their entries


def start(app: Sphinx) -> None:
    """Take up the index of the last build, of which pages that have not changed keep their place; no stock search."""
    if app.builder.format != 'html':
        return
    app.builder.search = False
    app.booksite.search = {}
    folder = Path(app.outdir, TEXTS)
    for path in folder.rglob('*.js'):
        page, text = path.relative_to(folder).with_suffix('').as_posix(), path.read_text('utf-8')
        app.booksite.search[page] = json.loads(text[len(_text_of(page)):-len(_AFTER)])


def collect(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take the prose of a page into the index."""
    if app.builder.format == 'html' and docname not in ELSEWHERE:
        top = next(doctree.findall(nodes.section), None)
        app.booksite.search[docname] = {'parts': list(_parts(top)), 'code': _functions(top)} if top else {}


def _functions(top):
    """The functions that the code of a page calls: readers type their names."""
    code = (block.astext() for block in top.findall(nodes.literal_block) if 'cell_input' in block.parent.get('classes', ()))
    return sorted({name for text in code for name in _CALLED.findall(text)})


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
    shutil.rmtree(Path(app.outdir, TEXTS), ignore_errors=True)
    for docname in sorted(app.env.found_docs):
        if docname not in app.booksite.search:
            app.env.get_and_resolve_doctree(docname, app.builder)  # which collects it
        if page := app.booksite.search.get(docname):
            found[docname] = _searched(app, docname, **page)
            path = Path(app.outdir, TEXTS, f'{docname}.js')
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'{_text_of(docname)}{_packed(page)}{_AFTER}', 'utf-8')
    known = _number(found)
    whole = {'words': known, 'silent': SILENT, 'pages': found, 'names': [*_terms(app), *_claims(app)], **_asked(app)}
    Path(app.outdir, NAME).write_text(f'{_INDEX}{_packed(whole)}{_AFTER}', 'utf-8')


def _searched(app, docname, parts, code):
    """What the index has of a page."""
    title = plain_text.text(title_of(app.env, docname))
    return {
        'title': f'{app.booksite.numbers.get(docname, "")} {title}'.strip(),
        'weight': next((weight for start, weight in WEIGHTS.items() if docname.startswith(start)), .5),
        'parts': [[anchor, heading, words(text)] for anchor, heading, text in parts],
        'code': [name.replace('_', ' ').strip() for name in code],
    }


def words(text: str) -> list[str]:
    """The words of a text that one can search for, as _static/search.js writes those of a query; no symbols of formulas."""
    letters = unicodedata.normalize('NFKD', text)
    plain = ''.join(letter for letter in letters if not unicodedata.category(letter).startswith('M'))
    found = _WORD.findall(re.sub(r"[’']s\b", '', plain).lower())
    return [word.replace('-', ' ') for word in found if word not in SILENT and re.search(r'[^\W\d]', word)]


def _number(pages):
    """Write each word of the pages as one sign, which packs to two thirds; gives the words in the order of their signs."""
    lists = [said for page in pages.values() for said in (page['code'], *(words for _, _, words in page['parts']))]
    counts = Counter(word for said in lists for word in said)
    known = sorted(counts, key=lambda word: (-counts[word], word))
    signs = {word: chr(_FIRST + number) for number, word in enumerate(known)}
    for page in pages.values():
        page['code'] = ''.join(signs[word] for word in page['code'])
        page['parts'] = [[*place, ''.join(signs[word] for word in said)] for *place, said in page['parts']]
    return known


def _text_of(page):
    return _TEXT.format(json.dumps(page))


def _packed(what):
    return json.dumps(what, ensure_ascii=False, separators=(',', ':'))


def _asked(app):
    """Pairs of a phrase and a page, and phrase -> what is planned, or absent, of book/asked.yml."""
    path = Path(app.srcdir, ASKED)
    read = yaml.safe_load(path.read_text('utf-8')) if path.is_file() else {}
    topics = {kind: {phrase: topic for topic, phrases in read.get(kind, {}).items() for phrase in [topic.lower(), *phrases]}
              for kind in ('planned', 'absent')}
    asked = [[phrase, section if section.startswith('book/') else page_of(section)]
             for section, phrases in read.get('asked', {}).items() for phrase in phrases]
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
