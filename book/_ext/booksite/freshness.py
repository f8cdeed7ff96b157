"""An incremental build is the cold build: what crosses pages is digested, and a change of a digest reaches all pages.

Sphinx builds again the pages whose source has changed. But a page shows more than its source: titles, numbers, the
glossary, the ledger. Six digests say what, as of the last build that ended well:

- `read`: what any page may take in when it is read. If it changed, all pages are read again;
- `shown`: what sections say of their checks and questions. If it changed, all pages but the sections are read again;
- `edition`: version and date of the book. If they changed, the first page is read again;
- `written`: what any page may show of others when it is written. If it changed, all pages are written again;
- `index`: the entries of the index of terms. If they changed, that page is written again;
- `cited`: who cites what. If that changed, the bibliography is written again.

Pages and pictures that are no more are taken out of the output.
"""
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from nbutils import ledger

from .build import book, page_of, title_of
from .finding.cited_in import BIBLIOGRAPHY, citing
from .finding.glossary import GLOSSARY
from .finding.index_of_terms import INDEX
from .publish import edition

FILE = 'booksite.json'  # beside the doctrees


def setup(app: Sphinx) -> None:
    app.connect('env-get-outdated', to_read)
    app.connect('env-get-updated', to_write, priority=900)  # when all numbers are given
    app.connect('build-finished', finish, priority=900)


def to_read(app: Sphinx, env: BuildEnvironment, added: set, changed: set, removed: set) -> Iterable[str]:
    """The pages to read again, beside those whose source has changed."""
    file = Path(app.doctreedir, FILE)
    app.booksite.last = json.loads(file.read_text('utf-8')) if file.is_file() else {}
    app.booksite.digests = {}
    shown = _changed(app, 'shown', book(env).shown)
    first = {app.config.root_doc} if _changed(app, 'edition', _edition(app)) else set()
    if _changed(app, 'read', read_by_all(app)):
        return env.found_docs
    return env.found_docs - set(map(page_of, book(env).sections)) if shown else first & env.found_docs


def to_write(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """The pages to write again, beside those that were read."""
    again = {
        INDEX: _changed(app, 'index', sorted(env.get_domain('index').entries.items())),
        BIBLIOGRAPHY: _changed(app, 'cited', citing(app)),
    }
    if _changed(app, 'written', written_by_all(app, env)):
        return env.found_docs
    return {page for page, changed in again.items() if changed} & env.found_docs


def read_by_all(app: Sphinx) -> list:
    """What pages take in when they are read, beside their own source."""
    env, config = app.env, app.config
    files = [Path(app.srcdir, name) for name in ('_toc.yml', f'{GLOSSARY}.md', *config.bibtex_bibfiles)]
    files += [ledger.FOLDER / f'{file}.yml' for file in ledger.FILES]
    theme = config.html_theme_options
    return [
        [path.read_bytes() for path in files if path.is_file()],
        [(page, title_of(env, page)) for page in sorted(env.found_docs)],
        sorted(book(env).needs.of.items()),
        [config.html_baseurl, theme.get('repository_url'), theme.get('repository_branch')],
    ]


def written_by_all(app: Sphinx, env: BuildEnvironment) -> list:
    """What pages show of others when they are written: headings, labels, numbers, citations; and the check sums of files."""
    std, math, cite = (env.get_domain(name) for name in ('std', 'math', 'cite'))
    exercises = getattr(env, 'sphinx_exercise_registry', {})
    return [
        [(page, [(link['anchorname'], link.astext()) for link in toc.findall(nodes.reference)])
         for page, toc in sorted(env.tocs.items())],
        sorted((page, sorted(said.get('myst_slugs', {}).items())) for page, said in env.metadata.items()),
        sorted(env.toc_secnumbers.items()),
        sorted((page, sorted(kinds.items())) for page, kinds in env.toc_fignumbers.items()),
        sorted(std.labels.items()), sorted(std.anonlabels.items()),
        sorted((label, place[0]) for label, place in math.equations.items()),
        sorted((label, proof['docname'], proof['realtype']) for label, proof in getattr(env, 'proof_list', {}).items()),
        sorted((label, kept['docname'], kept['node'].children[0].astext()) for label, kept in exercises.items()),
        [(citation.key, citation.citation_id, citation.formatted_entry.label) for citation in cite.citations],
        [(path.name, path.read_bytes()) for folder in app.config.html_static_path
         for path in sorted(Path(app.srcdir, folder).rglob('*')) if path.suffix in ('.css', '.js')],
    ]


def _edition(app):
    return edition.said(app.srcdir) if Path(app.srcdir, 'CITATION.cff').is_file() else ''


def finish(app: Sphinx, error: Exception | None) -> None:
    """Remove what is gone, and keep the digests of a build that ended well."""
    if error:
        return
    if app.builder.name == 'html':
        _remove_lost_pages(app)
        _remove_lost_pictures(app)
    Path(app.doctreedir, FILE).write_text(json.dumps({**app.booksite.last, **app.booksite.digests}), 'utf-8')


def _changed(app, name, content):
    digest = app.booksite.digests[name] = hashlib.sha256(repr(content).encode()).hexdigest()
    return app.booksite.last.get(name) != digest


def _remove_lost_pages(app):
    sources = Path(app.outdir, '_sources')
    for source in [path for path in sources.rglob('*') if path.is_file()]:
        page = source.relative_to(sources).with_suffix('').as_posix()
        if page not in app.env.found_docs:
            source.unlink()
            Path(app.builder.get_outfilename(page)).unlink(missing_ok=True)


def _remove_lost_pictures(app):
    shown = {Path(name).stem for _, name in app.env.images.values()}  # a drawing and its preview share their stem
    for path in Path(app.outdir, app.builder.imagedir).glob('*'):
        if path.stem not in shown:
            path.unlink()
