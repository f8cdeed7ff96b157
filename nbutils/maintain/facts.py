"""What the page *Data* says of each set: `python -m nbutils.maintain.facts` (`make data` runs it).

Writes `book/data.yml`, from what the loaders of `nbutils.data` say of themselves and give, and the pictures in `book/data/`.
The baselines are computed here; tests/unit/test_data_page.py computes them again.
"""
import inspect
import io
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import torch
import yaml
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.nn import functional as F

from nbutils import data
from nbutils.maintain import environment, notebooks, sources, svg

FACTS = notebooks.ROOT / 'book' / 'data.yml'
PICTURES = notebooks.ROOT / 'book' / 'data'
HEAD = '# Made by make data, from the loaders of nbutils.data: what the page Data shows of each set.\n'


# ---- baselines: what a method that knows little reaches ----

def bits_per_character(train, test, order):
    """Cross entropy of `test`, in bits per character, under counts of runs of up to `order` characters in `train`.

    Witten and Bell (1991): after a context seen n times with t different successors, the counts have weight n / (n + t), and
    the next shorter context has the rest; below the shortest, all characters of both texts are equally likely.
    """
    counts = [defaultdict(Counter) for _ in range(order)]
    for length in range(order):
        for i in range(length, len(train)):
            counts[length][train[i - length:i]][train[i]] += 1
    totals = [{context: (sum(after.values()), len(after)) for context, after in one.items()} for one in counts]
    uniform, bits = 1 / len(set(train) | set(test)), 0.0
    for i, symbol in enumerate(test):
        p = uniform
        for length in range(min(order, i + 1)):
            context = test[i - length:i]
            if context not in totals[length]:
                break
            n, t = totals[length][context]
            p = (counts[length][context][symbol] + t * p) / (n + t)
        bits -= np.log2(p)
    return bits / len(test)


def _text(loader, orders):
    train, test = loader('train'), loader('test')
    return {f'characters in runs of {order} counted (Witten and Bell), bits per character of the test part':
            f'{bits_per_character(train, test, order):.2f}' for order in orders}


def _pictures(loader, c):
    train, test = loader('train'), loader('test')
    linear = LogisticRegression(C=c, tol=1e-3, max_iter=200).fit(train.x, train.y)
    nearest = KNeighborsClassifier(1).fit(train.x, train.y)
    return {'chance': '0.10', 'logistic regression, share of the test part right': f'{linear.score(test.x, test.y):.2f}',
            'the nearest neighbour': f'{nearest.score(test.x, test.y):.2f}'}


def spoken(words, longest=20):
    """What the stored net says for each word, by its best phoneme at each step: strings of phonemes."""
    stored = data.spelling_to_sound()
    net = {name: torch.tensor(array) for name, array in stored.items() if name != 'phonemes'}

    def step(side, x, h):
        return torch.gru_cell(x, h, *(net[f'{side}_{part}'] for part in ('w_ih', 'w_hh', 'b_ih', 'b_hh')))

    letters = [[3 + ord(letter) - ord('a') for letter in word] + [2] for word in words]
    h = torch.zeros(len(words), 256)
    for t in range(max(map(len, letters))):
        at = [row[t] if t < len(row) else 0 for row in letters]
        going = torch.tensor([t < len(row) for row in letters])
        h = torch.where(going[:, None], step('enc', net['enc_emb'][at], h), h)
    last, said = torch.full([len(words)], 2), []
    for _ in range(longest):
        h = step('dec', net['dec_emb'][last], h)
        last = (h @ net['fc_w'].T + net['fc_b']).argmax(1)
        said.append(last.numpy())
    rows = [list(row[:np.append(row == 3, True).argmax()]) for row in np.array(said).T]
    return [' '.join(stored['phonemes'][row]) for row in rows]


def _spelling_to_sound():
    words = data.pronunciations('test')
    right = np.array(spoken(words['word'][:1000])) == words['phonemes'][:1000]
    return {'share of 1,000 words of pronunciations("test") without any error':
            f'{right.mean():.2f}'}


def _compas():
    def inputs(rows):
        numbers = [rows[name] for name in ('age', 'priors', 'juvenile_felonies', 'juvenile_misdemeanors', 'juvenile_others')]
        return np.stack([*numbers, rows['sex'] == 'Male', rows['charge'] == 'F'], 1).astype(float)

    train, test, everyone = data.compas('train'), data.compas('test'), data.compas()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(inputs(train), train['again'])
    risk = model.predict_proba(inputs(test))[:, 1]
    found = {
        'nobody offends again, share of the test part right': f'{(test["again"] == 0).mean():.2f}',
        'the COMPAS score, 5 or more': f'{((test["decile"] >= 5) == test["again"]).mean():.2f}',
        'logistic regression without race': f'{model.score(inputs(test), test["again"]):.2f}',
        'area under the curve of the COMPAS score': f'{roc_auc_score(test["again"], test["decile"]):.2f}',
        'area under the curve of the regression': f'{roc_auc_score(test["again"], risk):.2f}',
    }
    for race in ('African-American', 'Caucasian'):
        innocent = (everyone['race'] == race) & (everyone['again'] == 0)
        found[f'false alarms of the COMPAS score, 5 or more, {race}'] = f'{(everyone["decile"][innocent] >= 5).mean():.3f}'
    return found


def _fico():
    rows, found = data.fico(), {}
    for group in dict.fromkeys(rows['group']):
        here = rows['group'] == group
        found[f'share that repays, {group}'] = f'{np.diff(rows["below"][here], prepend=0) @ (1 - rows["default"][here]):.2f}'
    return found


def _sunspots():
    number, lags, start = data.sunspots()['number'], 9, 1920 - 1700 + 1
    lagged = np.stack([number[lags - k - 1:-k - 1] for k in range(lags)] + [np.ones(len(number) - lags)], 1)
    split = start - lags
    weights, *_ = np.linalg.lstsq(lagged[:split], number[lags:start], rcond=None)
    def error(guess):
        return f'{np.sqrt(np.mean((number[start:] - guess)**2)):.1f}'

    return {'the year before, root mean square error from 1921 on': error(number[start - 1:-1]),
            'a linear function of the last nine years, fitted up to 1920': error(lagged[split:] @ weights)}


def _first_names():
    rows = data.first_names()
    last = {'female': Counter(), 'male': Counter()}
    for name, sex in zip(rows['name'], rows['sex'], strict=True):
        last[sex][name[-1]] += 1
    right = sum(max(last['female'][letter], last['male'][letter]) for letter in last['female'] | last['male'])
    return {'all are female, share that is right': f'{(rows["sex"] == "female").mean():.2f}',
            'the more frequent sex for the last letter': f'{right / len(rows["sex"]):.2f}'}


def faces(picture):
    """The greatest probability of a face that the stored detector gives at any place, at sizes from 12 pixels of 48 on."""
    net = {name: torch.tensor(array) for name, array in data.face_detector().items()}
    x, most = torch.tensor(picture * 255, dtype=torch.float32).permute(2, 0, 1)[None], 0.0
    for scale in 0.25 * 0.7**np.arange(8):
        size = [round(side * scale) for side in x.shape[2:]]
        if min(size) < 12:
            break
        h = (F.interpolate(x, size, mode='area') - 127.5) / 128
        for i in (1, 2, 3):
            h = F.prelu(F.conv2d(h, net[f'conv{i}.weight'], net[f'conv{i}.bias']), net[f'prelu{i}.weight'])
            h = F.max_pool2d(h, 2, ceil_mode=True) if i == 1 else h
        most = max(most, F.conv2d(h, net['conv4_1.weight'], net['conv4_1.bias']).softmax(1)[0, 1].max().item())
    return most


def _face_detector():
    shown = {'Eileen Collins': data.portrait('collins'), 'Grace Hopper': data.portrait('hopper'),
             'the temple, where there is none': data.photograph('china'), 'the dahlia': data.photograph('flower')}
    return {f'greatest probability of a face, {who}': f'{faces(picture):.2f}' for who, picture in shown.items()}


BASELINES = {
    'mnist': lambda: _pictures(data.mnist, 0.05), 'mnist_1d': lambda: _pictures(data.mnist_1d, 1.0),
    'alice': lambda: _text(data.alice, (1, 3, 5)), 'bible': lambda: _text(data.bible, (3,)), 'first_names': _first_names,
    'compas': _compas, 'fico': _fico, 'sunspots': _sunspots, 'spelling_to_sound': _spelling_to_sound,
    'face_detector': _face_detector,
}


# ---- what is listed ----

def loaders():
    """The loaders of nbutils.data by their names, in their order."""
    found = [function for _, function in inspect.getmembers(data, inspect.isfunction)
             if function.__module__ == data.__name__ and not function.__name__.startswith('_')]
    return {function.__name__: function for function in sorted(found, key=lambda f: f.__code__.co_firstlineno)}


def facts(name):
    """What the page shows of one set: how it is loaded, what the loader says, first rows, baselines."""
    loader = loaders()[name]
    given = [str(p) for p in inspect.signature(loader).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    says = [' '.join(part.split()) for part in inspect.getdoc(loader).split('\n\n')]
    found = {'call': f'{name}({", ".join(given)})', 'says': says}
    if name in ('first_names', 'pronunciations', 'compas', 'fico', 'earthquakes', 'sunspots'):
        columns = loader()
        found['rows'] = [list(columns), *([str(column[i]) for column in columns.values()] for i in range(3))]
    elif name in ('alice', 'bible'):
        text = loader()
        row = [f'{len(text):,}', str(len(set(text))), f'{len(text.split()):,}', text[:95].rpartition(' ')[0] + ' …']
        found['rows'] = [['characters', 'different', 'words', 'beginning'], row]
    elif name == 'diabetes':
        x, y, names = loader()
        found['rows'] = [[*names, 'y'], *([f'{value:g}' for value in (*x[i], y[i])] for i in range(3))]
    if name in BASELINES:
        found['baselines'] = BASELINES[name]()
    return found


# ---- pictures ----

def _images(axes, pictures, **options):
    for ax, picture in zip(np.ravel(axes), pictures, strict=True):
        ax.imshow(picture, interpolation='none', **options)
        ax.axis('off')


def _digits(plt):
    figure, axes = plt.subplots(2, 10, figsize=(6.5, 1.4))
    pictures = [*data.digits().x[:10].reshape(-1, 8, 8), *data.mnist().x[:10].reshape(-1, 28, 28)]
    _images(axes, pictures, cmap='gray_r', vmin=0, vmax=1)
    return figure


def _signals(plt):
    figure, axes = plt.subplots(1, 10, figsize=(6.5, 1.3), sharey=True)
    signals = data.mnist_1d()
    for i, ax in enumerate(axes):
        ax.plot(signals.x[i], np.arange(40), lw=1.2)
        ax.set(title=str(signals.y[i]), xticks=[], yticks=[], ylim=(40, -1))
    return figure


def _photographs(plt):
    figure, axes = plt.subplots(1, 4, figsize=(6.5, 1.6), width_ratios=[1.5, 1.5, 1, 0.85])
    pictures = [data.photograph('china'), data.photograph('flower'), data.portrait('collins'), data.portrait('hopper')]
    _images(axes, [picture[::step, ::step] for picture, step in zip(pictures, (4, 4, 2, 4), strict=True)])
    return figure


def _map(plt):
    rows = data.earthquakes()
    figure, ax = plt.subplots(figsize=(5, 2.6))
    for deep, label in ((False, '70 km or less'), (True, 'deeper')):
        here = (rows['depth'] > 70) == deep
        ax.plot(rows['longitude'][here], rows['latitude'][here], '.', ms=4, label=label)
    ax.set(xlabel='longitude (degrees)', ylabel='latitude (degrees)', aspect='equal')
    ax.legend(title='depth', loc='center left', bbox_to_anchor=(1, 0.5))
    return figure


def _cycle(plt):
    rows = data.sunspots()
    figure, ax = plt.subplots(figsize=(6, 1.8))
    ax.plot(rows['year'], rows['number'])
    ax.set(xlabel='year', ylabel='sunspots')
    return figure


def _scores(plt):
    rows = data.fico()
    figure, ax = plt.subplots(figsize=(4.5, 2.4))
    for group in dict.fromkeys(rows['group']):
        here = rows['group'] == group
        ax.plot(rows['score'][here], rows['default'][here], label=group)
    ax.set(xlabel='score', ylabel='share late')
    ax.legend()
    return figure


DRAWN = {'digits': _digits, 'signals': _signals, 'photographs': _photographs, 'earthquakes': _map, 'sunspots': _cycle,
         'fico': _scores}


@cache
def _matplotlib():
    import matplotlib

    matplotlib.use('svg')
    import matplotlib.pyplot as plt

    plt.style.use('nbutils.book')
    plt.rcParams['svg.hashsalt'] = 'data'
    return plt


def drawn(name):
    """One picture of the page, as SVG in the form of the book's figures."""
    plt = _matplotlib()
    figure, written = DRAWN[name](plt), io.StringIO()
    figure.savefig(written, format='svg', **environment.INLINE_BACKEND['print_figure_kwargs'], metadata={'Date': None})
    plt.close(figure)
    return svg.normalized(written.getvalue())


def text():
    """The content of book/data.yml."""
    return HEAD + yaml.safe_dump({name: facts(name) for name in loaders()}, sort_keys=False, allow_unicode=True, width=120)


def main():
    PICTURES.mkdir(exist_ok=True)
    for name in DRAWN:
        sources.replace(PICTURES / f'{name}.svg', drawn(name).encode())
    sources.replace(FACTS, text().encode())


if __name__ == '__main__':
    main()
