"""What the comparison of outputs accepts and rejects: the teeth of the whole book."""
import base64
import copy
import functools
import io
import re
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib
import nbformat
import numpy as np
import pytest
from PIL import Image

from nbutils.maintain import compare, notebooks, record, svg

matplotlib.use('agg')


@pytest.mark.parametrize('got, stored', [
    ('loss  0.6931', 'loss 0.6932'), ('tensor([ 1.00, -2.00])', 'tensor([1.00, -2.00])'), ('ok', 'ok'),
    ('a = 0.5, b = 3', 'a = 0.5, b = 3'), ('<td>0.501</td>', '<td>0.50</td>'), (r'\frac{1}{2}', r'\frac{1}{2}'),
    # one unit of the last digit, and a thousandth; the smaller one of two tolerances
    ('3', '3'), ('0.974', '0.973'), ('-0.00', '0.00'), ('1.2346e-01', '0.12345'), ('1.0005', '1.0'), ('12345.6', '12346.1'),
    ('1e-3', '0.001'), ('−0.5', '-0.5'), ('3.', '3.0'), ('1.1', '1.0'), ('2.1e-3', '2.0e-3'), ('0.011', '0.012'), ('1.26e+03', '1.25e+03'),
])
def test_same_text(got, stored):
    assert compare.same_text(got, stored)


@pytest.mark.parametrize('got, stored', [
    ('holds in 200 cases', 'holds in 199 cases'), ('True', 'False'), ('x = 0.5', 'y = 0.5'), ('1.0 2.0', '1.0'),
    ('3 x 4', '3 x 5'), ('a\nb', 'a b'), ('p2 = 0.5', 'p3 = 0.5'), ('nan', '0.5'), ('0.5, 0.7', '0.7, 0.5'),
    (r'\frac{1}{2}', r'\frac{1}{3}'), ('', 'something'),
    ('3', '4'), ('0.975', '0.973'), ('-0.5', '0.5'), ('0.5', '1'), ('1.2346e-01', '1.2346e-02'), ('1000', '1001'),
    ('0.983', '0.973'), ('1e-3', '1e-5'), ('-3', '3'), ('3.', '4.'), ('1000.', '1001.'), ('0.0', '0.1'), ('0.9', '1.0'),
    ('1.0', '0.9'), ('2e-3', '3e-3'), ('1e-16', '2e-16'), ('0.', '1.'), ('0.05', '0.06'), ('1.2', '1.0'), ('0.00', '0.01'),
    ('1.28e+03', '1.25e+03'), ('2.3e-3', '2.1e-3'), ('3.1485', '3.1416'),
])
def test_other_text(got, stored):
    assert not compare.same_text(got, stored)


def draw(*, title='Error of descent', unit='m', scale=1.0, noise=0.0, color='C1', grid=False, start=0, label='sine', marks=50,
         matrix=lambda m: m, alpha=1.0, width=1.8, style='-', where=0.0, hatch='/', log=False, axis=4, swapped=False):
    """A figure with something of everything, as it is stored."""
    import matplotlib.pyplot as plt

    rng, t = np.random.default_rng(0), np.linspace(0, 6, 200)[start:]
    with plt.style.context('nbutils.book'):
        fig, (left, right) = plt.subplots(1, 2, figsize=(6, 3))
        left.plot(t, scale * np.sin(t) + noise * rng.normal(size=t.size) + where, label=label, alpha=alpha, lw=width, ls=style)
        left.plot(t, np.cos(t) - 2)
        if swapped:
            left.lines[0].set_color('C1'), left.lines[1].set_color('C0')
        left.scatter(*np.random.default_rng(2).normal(size=(2, 50))[:, :marks], color=color)
        left.set(title=title, xlabel=r'step $\lambda_1$', ylabel=f'error / {unit}', ylim=(-4, axis))
        left.set_yscale('symlog' if log else 'linear')
        left.fill_between([0, 1], [1, 2], hatch=hatch)
        left.legend()
        left.grid(grid)
        right.imshow(matrix(np.random.default_rng(1).normal(size=(12, 12))))
        file = io.BytesIO()
        fig.savefig(file, format='svg', bbox_inches='tight', dpi=240)
        plt.close(fig)
    return svg.normalized(file.getvalue().decode())


@pytest.fixture(scope='module')
def drawn():
    return draw()


@pytest.mark.parametrize('change', [{}, {'noise': 1e-7}, {'matrix': lambda m: m + 1e-3}, {'where': 1e-3}])
def test_same_figure(drawn, change):
    assert compare.same_figure(draw(**change), drawn)


@pytest.mark.parametrize('fault', [
    {'title': 'Eror of descent'}, {'title': 'Error of descents'}, {'unit': 's'}, {'scale': -1.0}, {'scale': 1.03}, {'start': 4},
    {'matrix': np.transpose}, {'matrix': lambda m: m[::-1]}, {'matrix': lambda m: -m}, {'matrix': lambda m: m + (m == m.min())},
    {'color': 'C2'}, {'grid': True}, {'label': 'cosine'}, {'marks': 49}, {'where': 0.02}, {'axis': 5}, {'log': True},
    {'swapped': True}, {'alpha': 0.9}, {'width': 2}, {'style': '--'}, {'hatch': '.'},
], ids=lambda fault: next(iter(fault)))
def test_other_figure(drawn, fault):
    assert not compare.same_figure(draw(**fault), drawn)


@pytest.mark.parametrize('fault, line', [
    ({'title': 'Error of ascent'}, "axes 1, text 'Error of descent': now 'Error of ascent'"),
    ({'where': 0.1}, 'axes 1, line2d 1: moved by up to 2.'), ({'color': 'C2'}, 'axes 1, pathcollection 1: fill #d9720b, now #21a685'),
    ({'matrix': np.transpose}, 'axes 2: another picture'), ({'width': 2}, 'axes 1, line2d 1: other stroke-width by up to 0.2'),
])
def test_what_differs_is_said(drawn, fault, line):
    assert any(line in found for found in compare.figure_differences(draw(**fault), drawn))


def path(d):
    return f'<svg xmlns="http://www.w3.org/2000/svg"><g class="mpl-line2d"><path d="{d}"/></g></svg>'


@pytest.mark.parametrize('d', [
    'M0 0L5 5 10 10 20 10 20 0z', 'M0 0L10 10 20 10 20 10.1 20 0z', 'M10 10L20 10 20 0 0 0z', 'M0.1 0L10 10.1 20 10 20 5 20 0z',
    'M0 0L10 10 20 10M20 10L20 0 0 0',
], ids=['a vertex more', 'a short piece more', 'begun elsewhere', 'moved by a tenth', 'in two pieces'])
def test_a_path_may_be_cut_into_other_pieces(d):
    assert compare.same_figure(path(d), path('M0 0L10 10 20 10 20 0z'))


@pytest.mark.parametrize('d', [
    'M0 0L10 10 20 10 20 0', 'M0 0L20 10 10 10 20 0 0 0z', 'M0 0L10 10 20 10 20 0 10 0.5z', 'M0 0L10 10 20 10 20 0zM5 5L6 5',
    'M0 0Q10 10 20 10L20 0z',
], ids=['open', 'the same corners in another order', 'dented', 'a piece more', 'a curve'])
def test_a_path_that_covers_other_places_differs(d):
    assert not compare.same_figure(path(d), path('M0 0L10 10 20 10 20 0z'))


# ---- every kind of fault in the stored outputs of all sections ----

SECTIONS = {notebooks.name(path): path.with_suffix('.ipynb') for path in notebooks.sources()}


@functools.cache
def outputs(section):
    """The data of the stored outputs of a section."""
    cells = nbformat.read(SECTIONS[section], as_version=4).cells
    found = [output for cell in cells for output in cell.get('outputs', [])]
    return [output.get('data') or {'text/plain': output.get('text', '')} for output in found]


def labels(tree):
    """Each tick label that is a number is the next one."""
    ticks = [part for part in tree.iter() if 'tick' in part.get('class', '')]
    for part in [part for tick in ticks for part in tick.iter() if 'aria-label' in part.attrib]:
        part.set('aria-label', re.sub(r'\d+(?!.*\d)', lambda n: str(int(n[0]) + 1), part.get('aria-label'), count=1))


def glyphs(tree):
    """The labels say what they said, and the second of the glyphs is drawn as the first."""
    found = [part for part in tree[0] if part.get('transform') == 'scale(0.01562)']
    if len(found) > 1:
        found[1].set('d', found[0].get('d'))


def artists(tree):
    """What is drawn in axes: neither texts nor ticks."""
    axes = [part for part in tree.iter() if part.get('class') == 'mpl-axes']
    return [part for one in axes for part in one if re.search('line2d|collection|patch|quiver|poly', part.get('class', ''))]


def origin(tree):
    """What is drawn is shifted by a hundredth of the shorter side of the largest axes, as far as clips tell."""
    rectangles = [part for part in tree.iter() if part.tag.endswith('rect')]
    step = 0.01 * max((min(float(one.get('width')), float(one.get('height'))) for one in rectangles), default=100)
    for part in artists(tree):
        for one in part.iter():
            for name in {'d', 'x', 'y'} & one.attrib.keys():
                one.set(name, re.sub(r'-?\d+\.?\d*', lambda number: f'{float(number[0]) + step:.2f}', one.get(name)))


def colours(tree):
    """Each colour is exchanged for another one of the figure."""
    uses = [(one, name) for part in artists(tree) for one in part.iter() for name in ('fill', 'stroke')
            if one.get(name, '').startswith('#')]
    known = sorted({one.get(name) for one, name in uses})
    other = dict(zip(known, known[1:] + known[:1], strict=True))
    for one, name in uses:
        one.set(name, other[one.get(name)])


def lost(tree):
    """The last part of the last artist is gone."""
    parts = [(part, child) for part in artists(tree) for child in part]
    for part, child in parts[-1:]:
        part.remove(child)


def pictures(change):
    """A fault that changes each picture, given as an array of grey levels."""
    def fault(tree):
        for part in tree.iter():
            if part.get('href', '').startswith('data:'):
                picture = Image.open(io.BytesIO(base64.b64decode(part.get('href').partition(',')[2]))).convert('RGB')
                file = io.BytesIO()
                Image.fromarray(change(np.array(picture))).save(file, 'PNG')
                part.set('href', 'data:image/png;base64,' + base64.b64encode(file.getvalue()).decode())
    return fault


def patch(picture):
    """A square of 8 pixels is brighter by 10 of 255 levels, or darker where it is bright."""
    part = picture[tuple(slice(n // 3, n // 3 + 8) for n in picture.shape[:2])]
    part[:] = np.where(part > 127, part - 10, part + 10)
    return picture


IN_PICTURES = pictures(np.invert), pictures(patch)


@pytest.mark.parametrize('fault', [labels, glyphs, origin, colours, lost, *IN_PICTURES])
def test_no_fault_in_figures_passes(fault):
    """Tried on every fourth figure of the book, and on all that hold pictures."""
    figures = [(section, data[svg.KIND]) for section in SECTIONS for data in outputs(section) if svg.KIND in data]
    tried, passed = 0, []
    for section, figure in [one for one in figures if 'data:image' in one[1]] if fault in IN_PICTURES else figures[::4]:
        tree = ElementTree.fromstring(figure)
        fault(tree)
        faulty = ElementTree.tostring(tree, 'unicode')
        if faulty != ElementTree.tostring(ElementTree.fromstring(figure), 'unicode'):
            tried += 1
            passed += [section] if compare.same_figure(faulty, figure) else []
    assert tried > 5 and not passed


def numbers(section):
    texts = [value for data in outputs(section) for kind, value in data.items() if kind.startswith('text/') and svg.KIND not in data]
    return {number for text in texts for number in compare._NUMBER.findall(text)}


def like(number, value):
    """The value printed as the number is."""
    mantissa, e, _ = number.lower().replace('−', '-').partition('e')
    digits = len(mantissa.partition('.')[2])
    return f'{value:.{digits}e}' if e else f'{value:.{digits}f}' + '.' * mantissa.endswith('.')


COARSE = 0.05  # a rule counts the numbers that are printed with a wider tolerance
IN_NUMBERS = {
    '10 % more': lambda x: 1.1 * x, '10 % less': lambda x: 0.9 * x, 'sign': lambda x: -x, 'twice': lambda x: 2 * x,
    'ten times': lambda x: 10 * x, '1 more': lambda x: x + 1, '1 less': lambda x: x - 1,
}


@pytest.mark.parametrize('name', IN_NUMBERS)
def test_no_fault_in_numbers_passes(name):
    """One more or less is tried on numbers that must be the same; numbers that are printed too coarsely are counted."""
    all_numbers = set().union(*map(numbers, SECTIONS))
    coarse = {number for number in all_numbers if compare.relative_tolerance(number) > COARSE}
    tried, passed = 0, set()
    for number in all_numbers - coarse:
        stored = compare._value(number)
        faulty = like(number, IN_NUMBERS[name](stored))
        if float(faulty) != stored and ('1 ' not in name or compare.relative_tolerance(number) == 0):
            tried += 1
            passed |= {number} if compare.same_number(faulty, number) else set()
    print(f'{name}: {len(passed)} of {tried} pass, {len(coarse)} are printed too coarsely')
    assert tried > 100 and not passed


CELLS = ['import math\nimport matplotlib.pyplot as plt', 'print("pi is", round(math.pi, 4), "about", 3)', 'math.e',
         'fig, ax = plt.subplots(figsize=(3, 2))\nax.plot([0, 1, 4, 9])\nax.set_title("squares");',
         'from IPython.display import HTML, Latex\nHTML("<b>0.5123</b> of 7")', r'Latex(r"$\frac{1}{2} = 0.5000$")']


@pytest.fixture(scope='module')
def good(tmp_path_factory):
    """A small notebook, recorded."""
    path = tmp_path_factory.mktemp('chapter') / 'good.py'
    path.write_text('\n\n'.join(f'# %%\n{cell}' for cell in CELLS) + '\n')
    return record.executed(path)


def stored(cell, data):
    """A fault in what is stored of a cell, its first output."""
    return lambda nb: nb.cells[cell].outputs[0].data.update(data)


def edited(old, new):
    """A fault in the code of the figure."""
    return lambda nb: nb.cells[3].update(source=nb.cells[3].source.replace(old, new))


FAULTS = {
    'digit': lambda nb: nb.cells[1].outputs[0].update(text='pi is 3.1516 about 3\n'),
    'integer': lambda nb: nb.cells[1].outputs[0].update(text='pi is 3.1416 about 4\n'),
    'sign': stored(2, {'text/plain': '-2.718281828459045'}),
    'title': edited('squares', 'sqares'), 'curve': edited('[0, 1', '[1, 1'),
    'html': stored(4, {'text/html': '<b>0.5123</b> of 8'}), 'html_tag': stored(4, {'text/html': '<i>0.5123</i> of 7'}),
    'latex': stored(5, {'text/latex': r'$\frac{1}{3} = 0.5000$'}),
    'lost_latex': lambda nb: nb.cells[5].outputs[0].data.pop('text/latex'),
    'new_picture': lambda nb: stored(2, {svg.KIND: nb.cells[3].outputs[0].data[svg.KIND]})(nb),
    'lost_picture': lambda nb: nb.cells[3].outputs[0].data.pop(svg.KIND),
    'extra_output': lambda nb: nb.cells[3].outputs.append(nbformat.v4.new_output('stream', text='more')),
    'lost_outputs': lambda nb: nb.cells[1].update(outputs=[]),
}


def test_nbval_sees_every_fault_and_accepts_the_rest(good, tmp_path):
    notebook, places = copy.deepcopy(good), {}
    for name, fault in FAULTS.items():  # each in a cell of its own, behind those that are as they should be
        faulty = copy.deepcopy(good)
        fault(faulty)
        cell, = (new for new, old in zip(faulty.cells, good.cells, strict=True) if new != old)
        places[name] = len(notebook.cells)
        notebook.cells.append(nbformat.from_dict(cell | {'id': name}))
    nbformat.write(notebook, tmp_path / 'faulty.ipynb')
    run = subprocess.run(
        [sys.executable, '-m', 'pytest', '-p', 'nbutils.maintain.rerun', '--nbval', '--nbval-current-env', '-q', '--color=no',
         '-p', 'no:cacheprovider', '--rootdir', str(tmp_path), str(tmp_path)],
        capture_output=True, text=True, cwd=tmp_path)
    failed = [int(cell) for cell in re.findall(r'^FAILED faulty.ipynb::Cell (\d+)', run.stdout, re.M)]
    assert failed == [*places.values()], run.stdout
    left = {p.name.removeprefix(f'{tmp_path.name}-faulty-') for p in (tmp_path / '_build' / 'differences').iterdir()}
    assert {f'cell{places["title"]}-0-got.svg', f'cell{places["title"]}-0-stored.svg',
            f'cell{places["lost_picture"]}-0-got.svg', f'cell{places["new_picture"]}-0-stored.svg'} <= left
    assert "text 'squares': now 'sqares'" in run.stdout and 'axes 1, line2d 1: moved by up to ' in run.stdout
    assert '1 of 2 numbers beyond tolerance; largest relative gap 3.2e-03: stored 3.1516, now 3.1416' in run.stdout


def stream(text):
    return [nbformat.v4.new_output('stream', text=text)]


@pytest.mark.parametrize('got, stored, lines', [
    ('a 0.5 b 3', 'a 0.25 b 4', ['2 of 2 numbers beyond tolerance; largest relative gap 1.0e+00: stored 0.25, now 0.5',
                                 'stored           0.25   now            0.5   relative gap 1.0e+00',
                                 'stored              4   now              3   relative gap 2.5e-01']),
    ('a\nb 0.1', 'a\nc 0.1', ['--- stored', '+++ now', '@@ -1,2 +1,2 @@', ' a', '-c 0.1', '+b 0.1']),
    ('1.0 nan', '1.0 0.5', ['--- stored', '+++ now', '@@ -1 +1 @@', '-1.0 0.5', '+1.0 nan']),
    ('1.5', '0.0', ['1 of 1 numbers beyond tolerance; largest relative gap inf: stored 0.0, now 1.5',
                    'stored            0.0   now            1.5   relative gap inf']),
])
def test_texts_that_differ_are_shown(got, stored, lines, tmp_path):
    assert list(compare.differences(stream(got), stream(stored), tmp_path, 'x')) == ['stdout:', *('  ' + x for x in lines)]
    assert list(compare.differences(stream(got), stream(got), tmp_path, 'x')) == []
