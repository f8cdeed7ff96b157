"""The way back from the bibliography: below each work the sections that cite it, each linked to the place."""
from docutils import nodes
from sphinx.application import Sphinx

from ..build import book, link, page_of, paragraph, title_of

BIBLIOGRAPHY = 'book/bibliography'


def citing(app: Sphinx) -> dict[str, dict[str, str]]:
    """Key of a work -> {page that cites it: identifier of the first place}, the pages in the order of the book."""
    order = {page: i for i, page in enumerate(map(page_of, book(app.env).sections))}
    found = {}
    for reference in app.env.get_domain('cite').citation_refs:
        for target in reference.targets:
            found.setdefault(target.key, {}).setdefault(reference.docname, reference.citation_ref_id)
    return {key: dict(sorted(places.items(), key=lambda place: (order.get(place[0], -1), place[0])))
            for key, places in sorted(found.items())}


def add(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Add the ways back to a page with a bibliography; paper has the index for that."""
    works = list(doctree.findall(nodes.citation))
    if not works or app.builder.format == 'latex':
        return
    env, places = app.env, citing(app)
    keys = {citation.citation_id: citation.key for citation in env.get_domain('cite').citations}
    for work in works:
        line = paragraph('Cited in', classes=['cited-in'])
        for i, (page, anchor) in enumerate(places.get(keys[work['ids'][0]], {}).items()):
            name = f'{book(env).numbers.get(page, "")} {title_of(env, page)}'.strip()
            line += [nodes.Text(', ' if i else ' '), link(env, page, name, anchor, source=docname)]
        if len(line) > 1:
            work += line
