"""Small books for the tests of builds: notebooks of a few cells, as they are stored."""
import json

KERNEL = {'kernelspec': {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}}
GOOD = '✓ dl.chain.sum holds in 9 cases; would notice: says no (x = 1)\n'
TOC = '''
format: jb-book
root: book/index
parts:
  - caption: Chapters
    numbered: 2
    chapters:
      - file: book/calculus
        sections:
          - file: notebooks/calculus/chain_rule
  - caption: Last
    chapters:
      - file: book/claims
      - file: book/errata
'''


def markdown(source):
    return {'cell_type': 'markdown', 'metadata': {}, 'source': source}


def code(source, *outputs, **metadata):
    return {'cell_type': 'code', 'execution_count': 1, 'metadata': metadata, 'source': source, 'outputs': list(outputs)}


def printed(text):
    """What a cell has printed."""
    return {'output_type': 'stream', 'name': 'stdout', 'text': text}


def figure(width=120):
    """A figure that a cell has drawn."""
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 60" width="{width}pt" height="60pt">'
           f'<path d="M0 0L{width} 60" stroke="#0d68ff" /></svg>')
    return {'output_type': 'display_data', 'metadata': {}, 'data': {'image/svg+xml': svg}}


def write(path, *cells):
    """Write a notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [cell | {'id': f'c{number}'} for number, cell in enumerate(cells)]
    path.write_text(json.dumps({'cells': cells, 'metadata': KERNEL, 'nbformat': 4, 'nbformat_minor': 5}))
