"""Write the repository's address and the version of the book into the launch cell of every notebook.

The address stands in `_config.yml`, the version in `pyproject.toml`. Both files of a pair are written: the launch cell
prints nothing, so what is stored stays true.
"""
import re

from nbutils.maintain import notebooks, record, rules

_CELL = re.compile(r'(?<=^# %% tags=\["remove-cell"\]\n)try:\n    import nbutils.*?check=True\)$', re.M | re.S)


def rewrite(path, cell):
    """Make `cell` the launch cell of the `.py` at `path` and of the `.ipynb` beside it; gives whether anything changed.

    Where the two differ in other code, too, the `.ipynb` waits for `make record` anyway. Raises ValueError where there is no
    launch cell.
    """
    old = path.read_text('utf-8')
    new, found = _CELL.subn(lambda _: cell, old)
    if not found:
        raise ValueError(f'{notebooks.name(path)}: no launch cell; add it as the first code cell (see CONTRIBUTING.md)')
    path.write_text(new, 'utf-8')
    try:
        return record.reworded(path) != record.UNCHANGED or new != old
    except record.Refused:
        return new != old


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
