"""Write the repository's address and the version of the book into the launch cell of every notebook.

The address stands in `_config.yml`, the version in `pyproject.toml`. Both files of a pair are written: the launch cell
prints nothing, so what is stored stays true.
"""
import re

import nbformat

from nbutils.maintain import notebooks, rules

_CELL = re.compile(r'(?<=^# %% tags=\["remove-cell"\]\n)try:\n    import nbutils.*?check=True\)$', re.M | re.S)


def rewrite(path, cell):
    """Make `cell` the launch cell of the `.py` at `path` and of the `.ipynb` beside it; gives whether anything changed.

    Raises ValueError where there is no launch cell.
    """
    old = path.read_text('utf-8')
    new, found = _CELL.subn(lambda _: cell, old)
    if not found:
        raise ValueError(f'{notebooks.name(path)}: no launch cell; add it as the first code cell (see CONTRIBUTING.md)')
    if new != old:
        path.write_text(new, 'utf-8')
    return store(path, cell) or new != old


def store(path, cell):
    """Make `cell` the launch cell of the `.ipynb` beside a `.py` where the two differ in that alone; gives whether they did.

    Where they differ in more, the notebook waits for `make record` anyway.
    """
    target = path.with_suffix('.ipynb')
    if not target.is_file():
        return False
    source, stored = notebooks.read(path), nbformat.read(target, as_version=4)
    if len(source.cells) != len(stored.cells):
        return False
    both = zip(source.cells, notebooks.cells_of(source), notebooks.cells_of(stored), strict=True)
    if [now.source for now, wanted, there in both if wanted != there] != [cell]:
        return False
    for was, now in zip(stored.cells, source.cells, strict=True):
        was.source, was.id = now.source, now.id
    notebooks.replace(target, nbformat.writes(stored, version=nbformat.NO_CONVERT) + '\n')
    return True


def main():
    cell = rules.launch_cell()
    for path in notebooks.sources():
        try:
            if rewrite(path, cell):
                print(f'{notebooks.name(path)}: changed')
        except ValueError as error:
            print(error)


if __name__ == '__main__':
    main()
