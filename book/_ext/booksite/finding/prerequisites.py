"""What each section needs, read from the item **You need** in the opening of its notebook. Nothing here needs Sphinx."""
import posixpath
import re
from functools import cached_property

_ITEM = re.compile(r'\*\*You need\b\.?\*\*(?P<text>.*?)(?=\n\s*[-*] \*\*|\n\s*\n|\Z)', re.S)
_LINK = re.compile(r'\]\((?P<target>[^)#\s:]+)(?:#[^)]*)?\)')


class Prerequisites:
    """Which page needs which others. Pages are named as in the table of contents: 'notebooks/linear_algebra/norms'.

    `problems` lists (place, message) for all that must stop a build: a section without the item, a link to a page that
    is not in the contents, or comes later there.
    """

    def __init__(self, book):
        self.book = book
        self.pages = [page for pages in book.chapters.values() for page in pages]
        self.chapter = {page: chapter for chapter, pages in book.chapters.items() for page in pages}
        self.problems = []
        self.of = {page: self._read(page) for page in self.pages}

    @cached_property
    def implied(self) -> dict[str, set[str]]:
        """Page -> all that it needs, directly or through others."""
        found = {}
        for page in self.pages:  # each after what it needs
            found[page] = {need for direct in self.of[page] for need in (direct, *found[direct])}
        return found

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
            elif self.pages.index(need) >= self.pages.index(page):
                self.problems.append((place, f'**You need** links to {link["target"]}, which does not come earlier in '
                                             '_toc.yml: reorder the sections, or say here what is needed'))
            elif need not in needs:
                needs.append(need)
        return needs
