"""The exercises of a section: where each begins, what it asks, and how it is solved.

`{exercise}`, `{solution-start}` and `{solution-end}` in Markdown cells say so, for the code cells between them.
"""
import ast
import hashlib
import re
from typing import NamedTuple

from nbutils.maintain import lint

OPTIONS = {'same', 'without', 'lines', 'tries', 'atol', 'rtol'}  # the keywords of grade that name no argument


class Exercise(NamedTuple):
    """An exercise: its name and title, its code cells, each a `sections.Code`, before and in the solution, and whether there
    is a solution.
    """
    label: str
    title: str
    asked: list
    solved: list
    is_solved: bool = False

    @property
    def calls(self):
        """The calls of grade before the solution, as syntax trees."""
        return [call for code in self.asked for call in lint.calls(code.nodes, {'grade'})]

    @property
    def drawn(self):
        """Whether some cases of its grader are drawn: they are given as keywords."""
        return any(len(call.args) < 3 and call.keywords for call in self.calls) or any(
            keyword.arg not in (*OPTIONS, None) for call in self.calls for keyword in call.keywords)

    @property
    def digest(self):
        """Changes with the code of its cells, not with comments."""
        codes = [ast.unparse(code.tree) for code in (*self.asked, *self.solved)]
        return hashlib.sha256('\n'.join(codes).encode()).hexdigest()[:12]


def written(cells, code_cells):
    """All exercises among the cells of a notebook, of which the code cells are given once more, each as `sections.Code`."""
    found, into, code_cells = [], None, iter(code_cells)  # into: the list that takes the next code cells
    for cell in cells:
        if cell.cell_type == 'code':
            code = next(code_cells)
            if into is not None:
                into.append(code)
            continue
        for line in cell.source.splitlines():
            if begins := re.match(r'`{3,}\{exercise\} *(.*)', line):
                found.append(Exercise('', begins[1], into := [], []))
            elif line.startswith(':label:') and found and not found[-1].label:
                found[-1] = found[-1]._replace(label=line.split()[1])
            elif found and line.startswith('```{solution-start}') and line.split()[1] == found[-1].label:
                into = found[-1].solved
            elif found and line.startswith('```{solution-end}') and into is found[-1].solved:
                found[-1], into = found[-1]._replace(is_solved=True), None
    return found
