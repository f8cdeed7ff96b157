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
    if new == old:
        return False
    target = path.with_suffix('.ipynb')
    stored = nbformat.read(target, as_version=4) if target.is_file() else None
    up_to_date = stored is not None and notebooks.cells_of(notebooks.read(path)) == notebooks.cells_of(stored)
    path.write_text(new, 'utf-8')
    if up_to_date:  # else it waits for make record anyway
        for was, now in zip(stored.cells, notebooks.read(path).cells, strict=True):
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
