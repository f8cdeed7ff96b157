"""How readers find their way: contents, maps of what needs what, glossary, index of terms, search, excerpts, citations."""
from sphinx.application import Sphinx

from . import cited_in, contents, excerpts, index_of_terms, maps, reading_time, search_index, terms


def setup(app: Sphinx) -> None:
    app.add_directive('check-lines', excerpts.CheckLines)
    app.add_directive('figure-excerpt', excerpts.FigureExcerpt)
    app.add_directive('section-cards', excerpts.SectionCards)
    app.add_directive('chapter-map', maps.ChapterMap)
    app.add_directive('book-map', maps.BookMap)
    app.add_directive('index-of-terms', index_of_terms.IndexOfTerms)
    app.add_node(index_of_terms.index_of_terms)
    app.add_transform(terms.Terms)
    app.connect('doctree-read', maps.add_foot, priority=400)  # above what `claims` says there
    app.connect('doctree-read', reading_time.add, priority=300)  # before folded checks are put together
    app.connect('doctree-resolved', index_of_terms.fill_index)
    app.connect('doctree-resolved', cited_in.add)
    app.connect('html-page-context', contents.add)
    app.connect('builder-inited', search_index.start)
    app.connect('doctree-resolved', search_index.collect)
    app.connect('html-collect-pages', search_index.pages)
    app.connect('build-finished', search_index.finish)
