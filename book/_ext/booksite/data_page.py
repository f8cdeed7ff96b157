"""The page *Data*: `{data-set} name` shows what `make data` has written down about a set, and the sections that use it."""
import re

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .build import book, link, page_of, paragraph, table, title_of

FACTS, SOURCES = 'book/data.yml', 'nbutils/data/SOURCES.yml'


def setup(app: Sphinx) -> None:
    app.add_directive('data-set', DataSet)


class DataSet(SphinxDirective):
    """How a set is loaded, its shapes and units, first rows, baselines, source, licence, what was left out, its users."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name, the_book = self.arguments[0], book(self.env)
        facts, sources = (self.read(file).get(name) for file in (FACTS, SOURCES))
        if facts is None:
            return [self.state.document.reporter.error(f'{FACTS} has no data set {name}: make data', line=self.lineno)]
        found = [nodes.literal_block(facts['call'], f'from nbutils.data import {name}\n{facts["call"]}', language='python')]
        found += [paragraph(*_code(part)) for part in facts['says']]
        if rows := facts.get('rows'):
            found.append(table(rows[0], [[[paragraph(entry)] for entry in row] for row in rows[1:]], classes=['data-rows']))
        if baselines := facts.get('baselines'):
            found.append(table(['Reference line', 'Value'], [[[paragraph(what)], [paragraph(value)]] for what, value in
                                                             baselines.items()], widths=[4, 1]))
        items = []
        if sources:
            members = ', '.join(path.rsplit('/', 1)[-1] for path in sources['members'])
            items += [('Taken from', f'{members} in {sources["archive"]}'), ('By', sources['attribution']),
                      ('Licence', sources['licence']), ('Left out, changed', sources['left out'])]
        listed = nodes.bullet_list()
        listed += [nodes.list_item('', paragraph(nodes.strong('', f'{title}: '), text)) for title, text in items]
        found += [listed] if items else []
        users = [section for section in the_book.sections if self.uses(section, name)]
        if users:
            used = paragraph(nodes.strong('', 'Used in '))
            for i, section in enumerate(users):
                page = page_of(section)
                used += [nodes.Text(', ' if i else ''), link(self.env, page, title_of(self.env, page))]
            used += nodes.Text('.')
            found.append(used)
        else:
            found.append(paragraph(nodes.strong('', 'Used in '), 'no section yet.'))
        return found

    def read(self, file):
        path = book(self.env).root / file
        self.env.note_dependency(str(path))
        return yaml.safe_load(path.read_text('utf-8'))

    def uses(self, section, name):
        self.env.note_dependency(str(book(self.env).root / 'notebooks' / f'{section}.ipynb'))
        code = '\n'.join(''.join(cell['source']) for cell in book(self.env).cells(section) if cell['cell_type'] == 'code')
        return any(re.search(rf'\b{name}\b', names) for names in re.findall(r'^from nbutils\.data import (.*)$', code, re.M))


def _code(text):
    """Text with what stands between backticks as code."""
    return [nodes.literal('', part) if i % 2 else nodes.Text(part) for i, part in enumerate(text.split('`'))]
