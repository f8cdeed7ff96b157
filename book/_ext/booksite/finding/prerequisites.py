"""What each section needs, read from the item **You need** in the opening of its notebook. Nothing here needs Sphinx."""
import posixpath
import re
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

_ITEM = re.compile(r'\*\*You need\b\.?\*\*(?P<text>.*?)(?=\n\s*[-*] \*\*|\n\s*\n|\Z)', re.S)
_LINK = re.compile(r'\]\((?P<target>[^)#\s:]+)(?:#[^)]*)?\)')


class Prerequisites:
    """Which page needs which others. Pages are named as in the table of contents: 'notebooks/linear_algebra/norms'.

    `problems` lists (place, message) for all that must stop a build: a section without the item, a link to a page that
    is not in the contents, a cycle.
    """

    def __init__(self, book):
        self.book = book
        self.pages = [page for pages in book.chapters.values() for page in pages]
        self.chapter = {page: chapter for chapter, pages in book.chapters.items() for page in pages}
        self.problems = []
        self.places = {}  # page, need -> where the link stands
        self.of = {page: self._read(page) for page in self.pages}
        self._report_cycle()

    @cached_property
    def implied(self) -> dict[str, set[str]]:
        """Page -> all that it needs, directly or through others."""
        found = {}
        for page in self.in_order:
            found[page] = {need for direct in self.of[page] for need in (direct, *found[direct])}
        return found

    @cached_property
    def in_order(self) -> list[str]:
        """All pages, each after what it needs, otherwise as in the table of contents."""
        sorter, place, ordered = TopologicalSorter(self.of), self.pages.index, []
        sorter.prepare()
        while sorter.is_active():
            ready = sorted(sorter.get_ready(), key=place)
            ordered += ready
            sorter.done(*ready)
        return ordered

    def inside(self, page: str, pages: list[str]) -> list[str]:
        """What a page needs, directly or through others, among `pages`, less what follows from the rest of it."""
        near = [need for need in pages if need in self.implied[page]]
        return [need for need in near if not any(need in self.implied[other] for other in near)]

    def outside(self, page: str, pages: list[str]) -> list[str]:
        """What a page needs directly from elsewhere, less what follows from its other needs."""
        return [need for need in self.of[page] if need not in pages
                and not any(need in self.implied[other] for other in self.of[page])]

    def needed_by(self, page: str) -> list[str]:
        """The pages that name this page among their needs."""
        return [other for other in self.pages if page in self.of[other]]

    def _read(self, page):
        cells = self.book.cells(page.removeprefix('notebooks/'))
        if not cells:  # the table of contents reports a missing notebook
            return []
        opening = ''.join(cells[0]['source'])
        item = _ITEM.search(opening)
        if item is None:
            self.problems.append((f'{page}.ipynb:cell 1', 'the opening has no item **You need**'))
            return []
        needs = []
        for link in _LINK.finditer(opening, item.start('text'), item.end('text')):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link['target']))
            need, suffix = posixpath.splitext(target)
            line = opening.count('\n', 0, link.start('target')) + 1
            place = f'{page}.ipynb:cell 1, line {line}'
            if suffix != '.ipynb' or need not in self.pages:
                self.problems.append((place, f'**You need** links to {link["target"]}, which is no section of _toc.yml'))
            elif need not in needs:
                needs.append(need)
                self.places[page, need] = place
        return needs

    def _report_cycle(self):
        """Report a cycle where one of its links stands, and drop that link, until there is none."""
        while True:
            try:
                TopologicalSorter(self.of).prepare()
                return
            except CycleError as error:
                need, page, *_ = cycle = error.args[1]  # each is needed by the next
                names = ' needs '.join(name.removeprefix('notebooks/') for name in reversed(cycle))
                self.problems.append((self.places[page, need], f'**You need** closes a cycle: {names}'))
                self.of[page] = [other for other in self.of[page] if other != need]
