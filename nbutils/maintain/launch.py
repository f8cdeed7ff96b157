"""Write the repository address of `_config.yml` into the launch cell of every notebook's `.py`."""
import re

from nbutils.maintain import notebooks, rules

_CELL = re.compile(r'(?<=^# %% tags=\["remove-cell"\]\n)try:\n    import nbutils.*?check=True\)$', re.M | re.S)


def main():
    cell = rules.launch_cell()
    for path in notebooks.sources():
        old = path.read_text('utf-8')
        new, found = _CELL.subn(lambda _: cell, old)
        if not found:
            print(f'{notebooks.name(path)}: no launch cell; add it as the first code cell (see CONTRIBUTING.md)')
        elif new != old:
            path.write_text(new, 'utf-8')
            print(f'{notebooks.name(path)}: changed; make record')


if __name__ == '__main__':
    main()
