"""The table of contents beside each page: rendered by the theme once for all pages, marked for each page.

The theme resolves and parses the contents of the whole book again for every page, which costs a book of n pages n² steps.
Its HTML for another page differs only in the relative links and in the marks on the way to that page.
"""
import posixpath
import re

from pydata_sphinx_theme.toctree import add_toctree_functions

_TAG = re.compile(r'<(/?)(ul|li|details|a)\b([^>]*)>')
_HREF = re.compile(r'href="([^":#]*)"')  # of a page of the book
_MARKS = {  # what is written on the way to the page -> what the theme writes there
    'ul': lambda tag: tag.replace('<ul class="', '<ul class="current ').replace('<ul>', '<ul class="current">'),
    'li': lambda tag: re.sub(r'(toctree-l\d+)', r'\1 current active', tag),
    'details': lambda tag: '<details open="open">',
    'a': lambda tag: _HREF.sub('href="#"', tag.replace('class="', 'class="current ')),
}


class Contents:
    """The rendered contents of the book, `html`, in which links are relative to `page`; pages end in `suffix`."""

    def __init__(self, html, page, suffix):
        self.pieces = []
        self.links = {}  # number of a piece that is a link -> page that it leads to
        self.way = {}  # page -> (number of piece, name of element) for all that is marked on that page
        self._in_folder = {}
        opened, entries, end = [], {}, 0  # elements around the place; <li> -> its page
        for tag in _TAG.finditer(html):
            self.pieces += [html[end:tag.start()], tag[0]]
            end, piece = tag.end(), (len(self.pieces) - 1, tag[2])
            if tag[1]:
                if tag[2] != 'a':
                    opened.pop()
            elif tag[2] != 'a':
                if tag[2] == 'details' and opened[-1] in entries:  # they open on the page of their entry, too
                    self.way[entries[opened[-1]]].append(piece)
                opened.append(piece)
            elif found := _HREF.search(tag[0]):
                target = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[1])).removesuffix(suffix)
                self.links[piece[0]] = entries[opened[-1]] = target
                self.way[target] = [*opened, piece]
        self.pieces.append(html[end:])

    def beside(self, page, relative):
        """The HTML for a page; `relative(page, target)` gives the address of a page as seen from another."""
        folder = posixpath.dirname(page)
        if folder not in self._in_folder:
            pieces = self._in_folder[folder] = list(self.pieces)
            for number, target in self.links.items():
                address = relative(posixpath.join(folder, '.'), target)  # from any page of the folder
                pieces[number] = _HREF.sub(f'href="{address}"', pieces[number])
        pieces = list(self._in_folder[folder])
        for number, name in self.way.get(page, ()):
            pieces[number] = _MARKS[name](pieces[number])
        return ''.join(pieces)


def connect(app):
    """Put `once` right after the theme's own function: its next one renders the templates to see which are empty."""
    if app.builder.format != 'html':
        return
    app.connect('html-page-context', once)
    listeners = app.events.listeners['html-page-context']
    ours = listeners.pop()
    listeners.insert(1 + [listener.handler for listener in listeners].index(add_toctree_functions), ours)


def once(app, page, template, context, doctree):
    """Put `Contents` in the place of the theme's function, for the sidebar of every page."""
    theme = context.get('generate_toctree_html')
    if not theme:
        return
    builder, root = app.builder, app.config.root_doc
    kept = app.__dict__.setdefault('booksite_contents', {})  # for this build

    def contents(**options):
        if options.get('kind') != 'sidebar' or options.get('startdepth') != 0 or options.get('collapse'):
            return theme(**options)
        key = tuple(sorted(options.items()))
        if key not in kept:
            other = {**context, 'toctree': lambda **wanted: builder._get_local_toctree(root, **wanted)}
            add_toctree_functions(app, root, template, other, None)
            kept[key] = Contents(str(other['generate_toctree_html'](**options)), root, builder.link_suffix)
        return kept[key].beside(page, builder.get_relative_uri)

    context['generate_toctree_html'] = contents
