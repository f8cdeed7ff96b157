"""What the comparison of outputs accepts and rejects: the teeth of the whole book."""
import base64
import copy
import io
import subprocess
import sys

import matplotlib
import nbformat
import numpy as np
import pytest

from nbutils.maintain import compare, notebooks, record

matplotlib.use('agg')


@pytest.mark.parametrize('got, stored', [
    ('3', '3'), ('0.974', '0.973'), ('-0.00', '0.00'), ('1.2346e-01', '0.12345'), ('1.0005', '1.0'), ('12345.6', '12346.1'),
    ('1e-3', '1e-3'), ('−0.5', '-0.5'),
])
def test_same_number(got, stored):
    assert compare.same_number(got, stored)


@pytest.mark.parametrize('got, stored', [
    ('3', '4'), ('0.975', '0.973'), ('-0.5', '0.5'), ('0.5', '1'), ('1.2346e-01', '1.2346e-02'), ('1000', '1001'),
    ('0.983', '0.973'), ('1e-3', '1e-5'), ('-3', '3'),
])
def test_other_number(got, stored):
    assert not compare.same_number(got, stored)


@pytest.mark.parametrize('got, stored', [
    ('loss  0.6931', 'loss 0.6932'), ('tensor([ 1.00, -2.00])', 'tensor([1.00, -2.00])'), ('ok', 'ok'),
    ('a = 0.5, b = 3', 'a = 0.5, b = 3'), ('<td>0.5001</td>', '<td>0.5</td>'), (r'\frac{1}{2}', r'\frac{1}{2}'),
])
def test_same_text(got, stored):
    assert compare.same_text(got, stored)


@pytest.mark.parametrize('got, stored', [
    ('holds in 200 cases', 'holds in 199 cases'), ('True', 'False'), ('x = 0.5', 'y = 0.5'), ('1.0 2.0', '1.0'),
    ('3 x 4', '3 x 5'), ('a\nb', 'a b'), ('p2 = 0.5', 'p3 = 0.5'), ('nan', '0.5'), ('0.5, 0.7', '0.7, 0.5'),
    (r'\frac{1}{2}', r'\frac{1}{3}'), ('', 'something'),
])
def test_other_text(got, stored):
    assert not compare.same_text(got, stored)


def draw(*, hinting='default', title='Error of descent', unit='m', scale=1.0, noise=0.0, color='C1', grid=False, start=0, swapped=False,
         matrix=lambda m: m):
    import matplotlib.pyplot as plt

    rng, t = np.random.default_rng(0), np.linspace(0, 6, 200)[start:]
    with plt.style.context(['nbutils.book', {'text.hinting': hinting}]):
        fig, (left, right) = plt.subplots(1, 2, figsize=(6, 3))
        left.plot(t, scale * np.sin(t) + noise * rng.normal(size=t.size), label='sine')
        left.plot(t, np.cos(t) - 2)
        if swapped:
            left.lines[0].set_color('C1'), left.lines[1].set_color('C0')
        left.scatter(*rng.normal(size=(2, 50)), color=color)
        left.set(title=title, xlabel='step', ylabel=f'error / {unit}', ylim=(-4, 4))
        left.grid(grid)
        right.imshow(matrix(np.random.default_rng(1).normal(size=(12, 12))))
        file = io.BytesIO()
        fig.savefig(file)
        plt.close(fig)
    return base64.b64encode(file.getvalue()).decode()


@pytest.mark.parametrize('change', [{}, {'noise': 1e-3}, {'matrix': lambda m: m + 1e-3}])
def test_same_picture(change):
    assert compare.same_picture(draw(**change), draw())


@pytest.mark.parametrize('fault', [
    {'title': 'Eror of descent'}, {'title': 'Error of descents'}, {'unit': 's'}, {'scale': -1.0}, {'scale': 1.05},
    {'matrix': np.transpose}, {'matrix': lambda m: m[::-1]}, {'matrix': lambda m: -m}, {'color': 'C2'}, {'start': 4},
    {'grid': True}, {'scale': 1.02}, {'title': 'Error of decent'}, {'title': 'Error of doscent'}, {'swapped': True},
], ids=lambda fault: next(iter(fault)))
def test_other_picture(fault):
    assert not compare.same_picture(draw(**fault), draw())


@pytest.mark.parametrize('hinting', ['no_hinting', 'force_autohint', 'no_autohint'])
def test_other_hinting_is_the_same_picture(hinting):
    assert compare.same_picture(draw(hinting=hinting), draw())


@pytest.mark.parametrize('fault', [
    {'scale': -1.0}, {'scale': 1.2}, {'matrix': np.transpose}, {'matrix': lambda m: -m}, {'color': 'C2'}, {'swapped': True},
    {'title': 'Descent'}, {'unit': 'second'},
], ids=lambda fault: next(iter(fault)))
def test_faults_are_seen_behind_other_hinting(fault):
    assert not compare.same_picture(draw(hinting='no_hinting', **fault), draw())


def test_a_pixel_more_is_no_fault_in_other_fonts_only():
    other, stored = draw(hinting='no_hinting'), draw()
    assert compare.same_picture(wider(other, 2), stored) and not compare.same_picture(wider(other, 9), stored)


def wider(png, columns):
    """The picture with transparent columns at its right."""
    from PIL import Image, ImageOps

    file = io.BytesIO()
    ImageOps.expand(Image.open(io.BytesIO(base64.b64decode(png))), (0, 0, columns, 0), (0, 0, 0, 0)).save(file, 'PNG')
    return base64.b64encode(file.getvalue()).decode()


def test_pictures_of_different_size_differ():
    small = base64.b64encode(record_png((3, 3))).decode()
    assert not compare.same_picture(small, draw()) and compare.picture_distance(small, draw()) == (np.inf, np.inf)


def record_png(size):
    from PIL import Image
    file = io.BytesIO()
    Image.new('RGBA', size).save(file, 'PNG')
    return file.getvalue()


CELLS = ['import math\nimport matplotlib.pyplot as plt', 'print("pi is", round(math.pi, 4), "about", 3)', 'math.e',
         'fig, ax = plt.subplots(figsize=(3, 2))\nax.plot([0, 1, 4, 9])\nax.set_title("squares");',
         'from IPython.display import HTML, Latex\nHTML("<b>0.5123</b> of 7")', r'Latex(r"$\frac{1}{2} = 0.5000$")']


@pytest.fixture(scope='module')
def good(tmp_path_factory):
    """A small notebook, recorded."""
    path = tmp_path_factory.mktemp('chapter') / 'good.py'
    path.write_text('\n\n'.join(f'# %%\n{cell}' for cell in CELLS) + '\n')
    return record.execute(notebooks.read(path), path)


def digit(nb):
    nb.cells[1].outputs[0].text = 'pi is 3.1516 about 3\n'


def integer(nb):
    nb.cells[1].outputs[0].text = 'pi is 3.1416 about 4\n'


def sign(nb):
    nb.cells[2].outputs[0].data['text/plain'] = '-2.718281828459045'


def title(nb):
    nb.cells[3].source = nb.cells[3].source.replace('squares', 'sqares')


def shifted_curve(nb):
    nb.cells[3].source = nb.cells[3].source.replace('[0, 1', '[1, 1')


def html(nb):
    nb.cells[4].outputs[0].data['text/html'] = '<b>0.5123</b> of 8'


def html_tag(nb):
    nb.cells[4].outputs[0].data['text/html'] = '<i>0.5123</i> of 7'


def latex(nb):
    nb.cells[5].outputs[0].data['text/latex'] = r'$\frac{1}{3} = 0.5000$'


def lost_latex(nb):
    del nb.cells[5].outputs[0].data['text/latex']


def new_picture(nb):
    nb.cells[2].outputs[0].data['image/png'] = nb.cells[3].outputs[0].data['image/png']


def lost_picture(nb):
    del nb.cells[3].outputs[0].data['image/png']


def extra_output(nb):
    nb.cells[3].outputs.append(nbformat.v4.new_output('stream', text='more'))


def lost_outputs(nb):
    nb.cells[1].outputs = []


FAULTS = [digit, integer, sign, title, shifted_curve, lost_picture, new_picture, extra_output, lost_outputs, html, html_tag,
          latex, lost_latex]


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.__name__)
def test_align_leaves_a_fault_visible(good, fault):
    faulty = copy.deepcopy(good)
    fault(faulty)
    if fault in (title, shifted_curve):  # the code changed, not the stored outputs
        return
    pairs = [(a.outputs, b.outputs) for a, b in zip(good.cells, faulty.cells, strict=True)]
    assert any(compare.align(got, stored) != stored for got, stored in pairs)
    assert all(compare.align(got, got) == got for got, _ in pairs)


def test_nbval_sees_every_fault_and_accepts_the_rest(good, tmp_path):
    nbformat.write(good, tmp_path / 'good.ipynb')
    for fault in FAULTS:
        faulty = copy.deepcopy(good)
        fault(faulty)
        nbformat.write(faulty, tmp_path / f'{fault.__name__}.ipynb')
    run = subprocess.run(
        [sys.executable, '-m', 'pytest', '-p', 'nbutils.maintain.compare', '--nbval', '--nbval-current-env', '-q', '-n', '2',
         '--dist', 'loadfile', '--color=no', '-p', 'no:cacheprovider', '--rootdir', str(tmp_path), str(tmp_path)],
        capture_output=True, text=True, cwd=tmp_path)
    failed = {line.split('::')[0].removeprefix('FAILED ') for line in run.stdout.splitlines() if line.startswith('FAILED')}
    assert {name.rsplit('/', 1)[-1] for name in failed} == {f'{fault.__name__}.ipynb' for fault in FAULTS}, run.stdout
    left = {p.name.removeprefix(f'{tmp_path.name}-') for p in (tmp_path / '_build' / 'differences').iterdir()}
    assert {'title-cell3-0-got.png', 'title-cell3-0-stored.png', 'title-cell3-0-difference.png'} <= left
    assert {'lost_picture-cell3-0-got.png', 'new_picture-cell2-0-stored.png'} <= left
    assert 'in one place by' in run.stdout
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
