# ---
# jupyter:
#   book:
#     functions:
#       Order: "Order(5, 5, 0).next().sort().values"
#       read_safetensors: "len(read_safetensors((2).to_bytes(8, 'little') + b'{}'))"
#       checkpoint: "checkpoint({'layer': nn.Linear(2, 3)})['layer']['bias'].shape"
#       restore: "restore(one := {'layer': nn.Linear(2, 3)}, checkpoint({'layer': nn.Linear(2, 3)})) or len(one)"
#     main: parameters-step
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Parameters and saving
#
# A computer restarts in the middle of a long training. The program had saved the parameters of the model, so it loads them
# and goes on. There is no error, but the loss jumps up to more than ten times what it was. What else has to be in the file, so that the training
# goes on as if it had never stopped?
#
# - **You need** [layers and modules](modules.ipynb), [training in minibatches](../regression/minibatch_training.ipynb) and
#   [Adam](../optimization/adaptive_methods.ipynb).
# - **You build** a checkpoint from which a training goes on with the same bits, a reader of safetensors files, and a
#   module for the stored weights of a network that reads English words aloud.
# - **Runs in** 8 seconds. Tensors are float64 where no other type is named.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import copy
import io
import json
import pickle
import tempfile
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import safetensors.numpy
import safetensors.torch
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parameters_to_vector
from torch.optim.lr_scheduler import CosineAnnealingLR

from nbutils import data, weights
from nbutils.cases import integers, seeds
from nbutils.checks import below, close, grade, verify
from nbutils.figures import GREY, panels
from nbutils.training import fit

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
plt.style.use('nbutils.book')
keep = tempfile.TemporaryDirectory()
folder = Path(keep.name)                # where this page stores its files
digits = data.digits()
X, y = torch.tensor(digits.x), torch.tensor(digits.y)   # (1797, 64)
X_test, y_test, X, y = X[1297:], y[1297:], X[:1297].clone(), y[:1297].clone()

# %% [markdown]
# ## Resume training: what a checkpoint has to contain
#
# We train a network for digits of $8 \times 8$ pixels with Adam, on all 1297 digits at once. After 100 steps we save its
# state dictionary, which holds its parameters by name, and train on. Then we imitate the restart: the same code builds the network, loads the file
# and trains on.

# %%
def start(seed, lr):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    return model, torch.optim.Adam(model.parameters(), lr=lr)

def losses(model, optimizer, steps):    # the loss before each step
    return fit(model, F.cross_entropy, optimizer, [(X, y)] * steps)

# %%
model, optimizer = start(seed=0, lr=0.03)
losses(model, optimizer, 100)
torch.save(model.state_dict(), folder / 'model.pt')
print('not stopped:', losses(model, optimizer, 6).numpy().round(4))

model, optimizer = start(seed=0, lr=0.03)               # after the restart
model.load_state_dict(torch.load(folder / 'model.pt'))
print('resumed:    ', losses(model, optimizer, 6).numpy().round(4))

# %% [markdown]
# The first losses are equal, so the parameters came back. But the step after them is another one, and two steps later the loss is more than ten
# times as large. The reason is that a step reads more than the parameters $\mathbf{w}_t$. Gradient descent with momentum, for example, computes
#
# ```{math}
# :label: parameters-step
# \mathbf{w}_{t+1} = \mathbf{w}_t - \eta_t \, (\beta\,\mathbf{v}_t + \mathbf{g}_t) .
# ```

# %%
def step(w, v, g, eta, beta):
    return w - eta * (beta * v + g)

# %% [markdown]
# Whatever stands on the right has to be known for the next step. Only $\beta$ stands in the program, so the rest has to be
# saved. The velocity $\mathbf{v}_t$ sums up earlier gradients, and it lives in the
# optimizer. The learning rate $\eta_t$ may come from a schedule, which has to know the number of the step. The gradient
# $\mathbf{g}_t$ depends on which rows are in the batch and, with [dropout](../neural_networks/dropout.ipynb), on random numbers.

# %% mystnb={"image": {"alt": "On the left five boxes below one another: order, generator, model, optimizer, schedule. Arrows lead from order, generator and model to a round box with the gradient g, labelled rows, dropout and w. Arrows lead from the gradient, from the model and from the optimizer to a box with the next parameters on the right; the last is labelled v and eta. An arrow leads from schedule up to optimizer, labelled next eta."}} tags=["hide-input"]
fig, ax = panels(1, height=2.7)
places = {'order': (0, 0), 'generator': (0, -1), 'model': (0, -2), 'optimizer': (0, -3), 'schedule': (0, -4),
          r'gradient $\mathbf{g}_t$': (1.3, -1), r'$\mathbf{w}_{t+1}$': (2.5, -2)}
for words, (x, row) in places.items():
    ax.text(x, row, words, ha='center', va='center', fontsize=9.5,
            bbox={'boxstyle': 'round,pad=0.3', 'fc': 'none', 'ec': GREY if x == 1.3 else 'C0'})
arrows = [((0.3, 0), (0.95, -0.8), 'rows', (0.68, -0.2)), ((0.37, -1), (0.93, -1), 'dropout', (0.65, -0.85)),
          ((0.3, -1.9), (0.98, -1.22), '', (0, 0)), ((0.3, -2), (2.28, -2), r'$\mathbf{w}_t$', (1.3, -1.87)),
          ((0.37, -3), (2.28, -2.15), r'$\mathbf{v}_t$, $\eta_t$', (1.3, -2.98)), ((1.67, -1.1), (2.28, -1.85), '', (0, 0)),
          ((0, -3.72), (0, -3.28), r'next $\eta$', (0.3, -3.62))]
for start_, end, words, (x, row) in arrows:
    ax.annotate('', end, start_, arrowprops={'arrowstyle': '->', 'color': GREY})
    ax.text(x, row, words, ha='center', va='bottom', fontsize=9)
ax.set(xlim=(-0.45, 2.8), ylim=(-4.4, 0.4))
ax.axis('off');

# %% [markdown] tags=["caption"]
# One step of training. The five boxes on the left have a state, and each belongs in the file from which a training is to go on.

# %% [markdown]
# ### Why Adam jumps
#
# Adam has two memories in place of $\mathbf{v}_t$: a mean of the gradients and a mean of their squares. Its step is the first mean, divided by the root of the second.
# A new Adam has seen one gradient only, so both means come from it. Adam also divides each mean by the sum of its weights,
# so after one step they are $g_{t,i}$ and $g_{t,i}^2$. Without weight decay, the first step of parameter $i$ is
#
# ```{math}
# :label: parameters-first
# w_{t+1,i} - w_{t,i} = -\eta \, \frac{g_{t,i}}{|g_{t,i}| + \epsilon} .
# ```
#
# PyTorch's $\epsilon$ is far smaller than most gradients. So almost every parameter that has a gradient moves by $\eta$, however small this gradient has
# become. For three learning rates and three seeds, we measure the mean size of this step, over the parameters that move. We also print
# the largest ratio of the two losses, resumed to not stopped, within the next 20 steps:

# %% tags=["hide-input"]
def resumed(seed, lr):                  # losses and mean size of the first step: not stopped, resumed
    model, optimizer = start(seed, lr)
    losses(model, optimizer, 100)
    new, fresh = start(seed, lr)
    new.load_state_dict(model.state_dict())
    w, found = parameters_to_vector(new.parameters()).detach(), []
    for net, stepper in ((model, optimizer), (new, fresh)):
        first = losses(net, stepper, 1)
        moved = parameters_to_vector(net.parameters()).detach() - w
        found += [torch.cat([first, losses(net, stepper, 20)]), moved[moved != 0].abs().mean().item()]
    return found

# %%
found = {lr: [resumed(seed, lr) for seed in range(3)]
         for lr in (0.003, 0.01, 0.03)}
for lr, runs in found.items():
    ratios = [(again / on).max().item() for on, _, again, _ in runs]
    sizes = np.mean([run[1::2] for run in runs], axis=0)
    print(f'rate {lr:5}: mean step {sizes[0]:.5f}, resumed {sizes[1]:.5f},'
          f' ratio {min(ratios):.2f} to {max(ratios):.2f}')

# %% mystnb={"image": {"alt": "The loss on a logarithmic axis against the number of the step. Three grey curves fall slowly. Three orange curves begin at the same points, jump up within two steps to ten times as much and more, and come down in waves over twenty steps."}} tags=["hide-input"]
fig, ax = panels(1, height=2.5)
for on, _, again, _ in found[0.03]:
    ax.semilogy(range(101, 122), on, color=GREY)
    ax.semilogy(range(101, 122), again, 'C1')
ax.text(117.6, 0.0024, 'not stopped', color=GREY, fontsize=9)
ax.text(107, 0.13, 'resumed without the state of Adam', color='C1', fontsize=9)
ax.set(xlabel='step', ylabel='loss on 1297 digits', ylim=(0.0018, 0.4), xticks=[101, 105, 110, 115, 120]);

# %% [markdown] tags=["caption"]
# The loss after the restart, for three seeds and the learning rate 0.03. The resumed runs have the same parameters at step 101, but an Adam without memory.

# %% [markdown]
# At each rate the resumed step is about as long as the rate, and longer than the step of the other run. At the rate 0.003 this does no harm: no loss is above that of the other run. At 0.03
# the loss rises more than tenfold, for each seed.
#
# ### A checkpoint of all parts
#
# Now we add what most trainings have: batches, dropout and a schedule. The order of the rows gets a class of its own, because it has a state: the rows that are
# left in this epoch, and the generator of the next one.

# %%
class Order:
    """Each row once in an epoch, in random order."""
    def __init__(self, n, size, seed):
        self.n, self.size, self.left = n, size, torch.empty(0).long()
        self.generator = torch.Generator().manual_seed(seed)

    def next(self):
        if len(self.left) == 0:
            self.left = torch.randperm(self.n, generator=self.generator)
        rows, self.left = self.left[:self.size], self.left[self.size:]
        return rows

    def state_dict(self):
        return {'left': self.left, 'generator': self.generator.get_state()}

    def load_state_dict(self, state):
        self.left = state['left']
        self.generator.set_state(state['generator'])

# %%
kinds = {'SGD': lambda p: torch.optim.SGD(p, lr=0.5),
         'momentum': lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
         'Adam': lambda p: torch.optim.Adam(p, lr=0.01)}

def begin(seed, kind, drop=0.2):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(),
                          nn.Dropout(drop), nn.Linear(32, 10))
    optimizer = kinds[kind](model.parameters())
    schedule = CosineAnnealingLR(optimizer, T_max=60)
    return {'model': model, 'optimizer': optimizer,
            'schedule': schedule, 'order': Order(1297, 100, seed)}

# %% [markdown]
# The model, the optimizer and the schedule of PyTorch have the methods `state_dict` and `load_state_dict`, like our `Order`. Dropout draws from PyTorch's global generator,
# whose state is a tensor:

# %%
def checkpoint(run):
    state = {name: part.state_dict() for name, part in run.items()}
    return state | {'generator': torch.get_rng_state()}

def restore(run, state, forgotten=None):
    for name, part in run.items():
        if name != forgotten:
            part.load_state_dict(state[name])
    if forgotten != 'generator':
        torch.set_rng_state(state['generator'])

# %%
def advance(run, steps):                # the loss before each step
    rows = (run['order'].next() for _ in range(steps))
    pairs = ((X[i], y[i]) for i in rows)
    return fit(run['model'], F.cross_entropy, run['optimizer'], pairs,
               scheduler=run['schedule'])

# %%
run = begin(0, 'Adam')
advance(run, 20)                        # into the second epoch
torch.save(checkpoint(run), folder / 'run.pt')
on, run = advance(run, 8), begin(0, 'Adam')             # the restart
restore(run, torch.load(folder / 'run.pt'))
print('the next 8 losses are equal:', torch.equal(advance(run, 8), on))

# %% [markdown]
# They are equal in every bit, on the same computer with the same programs. Another computer may round differently. Write
# such a file under another name first, and rename it with `os.replace` when it is complete. Otherwise a computer that
# stops while it writes leaves half a file in the place of the last good one. PyTorch's `DataLoader` has no
# `state_dict`, which is why we wrote `Order`. The package torchdata has a `StatefulDataLoader`.
#
# ### Leaving out one part at a time
#
# What if a part is missing in the file? Again we stop after 20 steps, in the middle of the second epoch. The dictionary of an
# optimizer has two parts, so we forget them separately: `state` holds the moments, that is, $\mathbf{v}_t$ or
# the two means of Adam, and `param_groups` holds the learning rate. In the row "rounded" the parameters are saved as float32.

# %% tags=["hide-input"]
def stopped(seed, kind, forgotten, drop=0.2):   # losses after step 20: not stopped, resumed
    run = begin(seed, kind, drop)
    advance(run, 20)
    torch.save(checkpoint(run), folder / 'run.pt')
    on = advance(run, 8)
    run, state = begin(seed, kind, drop), torch.load(folder / 'run.pt')
    if forgotten == 'moments':
        state['optimizer']['state'] = {}
    elif forgotten == 'rate':
        state['optimizer']['param_groups'] = run['optimizer'].state_dict()['param_groups']
    elif forgotten == 'rounded':
        state['model'] = {name: tensor.float() for name, tensor in state['model'].items()}
    restore(run, state, forgotten)
    return on, advance(run, 8)

def parted(on, again):                  # the first loss that differs in any bit
    return next((i + 1 for i, same in enumerate(on == again) if not same), 'never')

# %%
cases = ['nothing', 'model', 'rounded', 'moments', 'rate',
         'schedule', 'order', 'generator']
runs = {(case, kind): [stopped(seed, kind, case) for seed in range(3)]
        for case in cases for kind in kinds}
print(f'{"forgotten":10}', *[f'{kind:>9}' for kind in kinds])
for case in cases:
    first = [parted(*runs[case, kind][0]) for kind in kinds]
    print(f'{case:10}', *[f'{step:>9}' for step in first])

# %% [markdown]
# Each number says which loss after the stop is the first to differ, in any bit. The table is the same for three seeds. With nothing forgotten, the eight losses never differ. Without the
# parameters, the rows or the random numbers, the first loss is another one. The moments and the rate act on the first step, so
# they show in the second loss. A forgotten schedule shows in the third loss: the optimizer remembers the rate of the first step, and the
# schedule sets a wrong one after it.
#
# The restarted program sets its seed again, as at every start. So without the state of the order it repeats the rows of its first epoch.
# Plain SGD has no moments, so it does not matter whether they are saved. But its learning rate is in the optimizer, too. A model without dropout
# does not need the global generator.
#
# :::{admonition} A tempting mistake
# :class: warning
# `best = model.state_dict()` copies nothing. The tensors are those of the model, and they go on changing while it trains. To keep the
# best state in memory, write `best = copy.deepcopy(model.state_dict())`.
# :::

# %% [markdown]
# ```{exercise} ★★ Experiment: forget the buffers
# :label: parameters-buffers
# `nn.BatchNorm1d(32)` shifts and scales each unit. In training mode it uses the mean and the deviation of the batch. In
# evaluation mode it uses running averages of them, which are buffers. A network with such a layer is trained for 60 steps and stopped. The
# program had saved the parameters and the optimizer, but not the buffers. It goes on. First predict: which loss after the stop
# is the first to differ, a number or `'never'`? And does the network, in evaluation mode, read fewer digits right after
# loading than before? Then try.
# ```

# %%
def predicted_buffers():
    """(step, worse): an int or 'never', and True or False."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@torch.no_grad()
def share_right(model):
    return (model.eval()(X_test).argmax(1) == y_test).double().mean().item()

def normed(seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 10))
    return model, torch.optim.Adam(model.parameters(), lr=0.01)

@cache
def without_buffers(seed):              # (first loss that differs, share right before, after loading)
    model, optimizer = normed(seed)
    losses(model, optimizer, 60)
    before = share_right(model)
    state, moments = copy.deepcopy((dict(model.named_parameters()), optimizer.state_dict()))
    on = losses(model, optimizer, 8)
    model, optimizer = normed(seed)
    model.load_state_dict(state, strict=False)
    optimizer.load_state_dict(moments)
    after = share_right(model)
    return parted(on, losses(model, optimizer, 8)), before, after

def is_measured(said):
    first, before, after = without_buffers(0)
    if said[0] != first:
        raise ValueError('the losses part at another step; try it')
    if said[1] != (after < before):
        raise ValueError('the share of right digits changes otherwise; try it')
    return True

grade(lambda: is_measured(predicted_buffers()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} parameters-buffers
# :class: dropdown
# ```
# In training mode the layer does not read its buffers, so no loss differs. In evaluation mode it reads them. Right after loading
# they are those of a new layer, mean 0 and deviation 1, and the network gets worse. So a training that looks perfect may have lost a part of
# its model. `load_state_dict` would have raised an error without `strict=False`.

# %% jupyter={"source_hidden": true}
for seed in range(3):
    first, before, after = without_buffers(seed)
    print(f'first loss that differs: {first}; right before: {before:.2f}, after loading: {after:.2f}')
assert grade(lambda: is_measured(('never', True)), lambda: True, [()])
assert not grade(lambda: is_measured(('never', False)), lambda: True, [()])
assert not grade(lambda: is_measured((1, True)), lambda: True, [()])
assert not grade(lambda: is_measured((2, True)), lambda: True, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def momentum_step(beta):                # ((w, v, g, eta), the w that follows)
    w = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=beta)
    for _ in range(2):
        before = w.detach().clone()
        v = optimizer.state[w].get('momentum_buffer', torch.zeros(2)).clone()
        w.grad = torch.tensor([3.0, 1.0]) * w.detach()
        optimizer.step()
    return (before, v, w.grad, 0.1), w.detach()

verify(
    'a step of momentum in PyTorch is the step of the formula',
    lambda beta: close(step(*momentum_step(beta)[0], beta), momentum_step(beta)[1]),
    slip=('forgets the velocity', lambda beta: close(step(*momentum_step(beta)[0], 0), momentum_step(beta)[1])),
    beta=[0.5, 0.9],
)
verify(
    'with nothing forgotten the losses are equal to the last bit',
    lambda seed, kind, case: parted(*runs[case, kind][seed]) == 'never',
    slip=('says so without the moments',
          lambda seed, kind, case: parted(*runs['moments', kind][seed]) == 'never'),
    seed=[0, 1, 2], kind=list(kinds), case=['nothing'],
)
first_lost = {'model': 1, 'rounded': 1, 'moments': 2, 'rate': 2, 'schedule': 3, 'order': 1, 'generator': 1}
verify(
    'each forgotten part shows at its step for three seeds, the moments of plain SGD never',
    lambda seed, kind, case: parted(*runs[case, kind][seed])
    == ('never' if (case, kind) == ('moments', 'SGD') else first_lost[case]),
    slip=('lets SGD need its moments', lambda seed, kind, case: parted(*runs[case, kind][seed]) == first_lost[case]),
    seed=[0, 1, 2], kind=list(kinds), case=list(first_lost),
)
verify(
    'without dropout the global generator may be forgotten',
    lambda seed, drop: parted(*stopped(seed, 'Adam', 'generator', drop=drop)) == 'never',
    slip=('says so with dropout', lambda seed, drop: parted(*stopped(seed, 'Adam', 'generator')) == 'never'),
    seed=[0, 1], drop=[0.0],
)
def with_state(seed, lr):               # losses if not stopped, and if resumed with the state of Adam
    model, optimizer = start(seed, lr)
    losses(model, optimizer, 100)
    kept, (new, again) = copy.deepcopy((model.state_dict(), optimizer.state_dict())), start(seed, lr)
    new.load_state_dict(kept[0])
    again.load_state_dict(kept[1])
    return losses(model, optimizer, 9), losses(new, again, 9)

verify(
    'a forgotten Adam raises the loss more than tenfold at the rate 0.03, and one with its state gives the same losses',
    lambda seed, lr: (found[lr][seed][2] / found[lr][seed][0]).max() > 10 and torch.equal(*with_state(seed, lr)),
    slip=('says so of the rate 0.003', lambda seed, lr: (found[0.003][seed][2] / found[0.003][seed][0]).max() > 10),
    seed=[0, 1, 2], lr=[0.03],
)
verify(
    'the resumed step is larger than the other one at each rate, and at 0.003 no loss is above the other run',
    lambda lr, seed: found[lr][seed][3] > found[lr][seed][1]
    and (found[0.003][seed][2] <= found[0.003][seed][0]).all(),
    slip=('says so of the loss at 0.01', lambda lr, seed: (found[0.01][seed][2] <= found[0.01][seed][0]).all()),
    lr=list(found), seed=[0, 1, 2],
)

# %% tags=["checks"]
def epochs(seed, n, size, stop, kept):  # the rows of two epochs, with a restart before batch number stop
    order, rows = Order(n, size, seed), []
    while sum(map(len, rows)) < 2 * n:
        if len(rows) == stop:
            state, order = order.state_dict(), Order(n, size, seed)
            if kept:
                order.load_state_dict(state)
        rows.append(order.next())
    return torch.cat(rows).tolist()

def is_dealt(seed, n, size, stop, kept):
    rows = epochs(seed, n, size, stop, kept)
    return rows == epochs(seed, n, size, -1, True) and sorted(rows[:n]) == sorted(rows[n:]) == list(range(n))

verify(
    'an order gives each row once in an epoch, and goes on after a restart as without one',
    lambda seed, n, size, stop: is_dealt(seed, n, size, stop, True),
    slip=('begins anew after the restart', lambda seed, n, size, stop: is_dealt(seed, n, size, stop, False)),
    seed=seeds(), n=integers(3, 9), size=integers(1, 4), stop=integers(1, 3), tries=40,
)
model, optimizer = start(seed=0, lr=0.03)
states = {'best': model.state_dict(), 'copied': copy.deepcopy(model.state_dict())}
losses(model, optimizer, 10)
verify(
    'a state dictionary is no copy, and a deep copy of it is one; a DataLoader has none',
    lambda name: torch.equal(model[0].weight, states[name]['0.weight']) == (name == 'best')
    and not hasattr(torch.utils.data.DataLoader, 'state_dict'),
    slip=('expects a copy', lambda name: torch.equal(model[0].weight, states[name]['0.weight']) == (name != 'best')),
    name=list(states),
)
verify(
    'without the buffers no loss differs, and the network reads fewer digits',
    lambda seed: without_buffers(seed)[0] == 'never'  # by more than two standard errors of a difference
    and without_buffers(seed)[1] - without_buffers(seed)[2] > 2 * (0.5 * 0.25 / 500)**0.5,
    slip=('expects the losses to part', lambda seed: without_buffers(seed)[0] == 1),
    seed=[0, 1, 2],
)

# %% [markdown]
# ## torch.save, weights_only and safetensors: files that run no code
#
# `torch.save` writes a file in Python's format **pickle**. Such a file is a small program that builds objects. An object can even say, by its method
# `__reduce__`, which function is to be called when it is read:

# %%
class Greeting:
    def __reduce__(self):
        return print, ('this was printed while the file was read',)

torch.save({'w': torch.ones(3), 'note': Greeting()}, folder / 'note.pt')
torch.load(folder / 'note.pt', weights_only=False);

# %% [markdown]
# In place of `print`, it could be a function that deletes your files. So `torch.load` refuses this by default, with
# `weights_only=True`. It builds tensors, numbers, strings, lists and dictionaries, and calls only a few functions of PyTorch that do this:

# %%
things = {'note': {'w': torch.ones(3), 'note': Greeting()},
          'model': model, 'state': model.state_dict()}
for name, thing in things.items():
    torch.save(thing, folder / f'{name}.pt')
    try:
        print(f'{name}: {len(torch.load(folder / f"{name}.pt"))} tensors')
    except pickle.UnpicklingError as error:
        print(f'{name}: refused,', str(error).split('GLOBAL ')[1].split()[0])

# %% [markdown]
# The whole model is refused as well, because its file calls the classes of its layers. It has another drawback: it
# can only be read where the code of these classes is the same. So save `model.state_dict()`, and build the model by its own code.
#
# `torch.load` puts each tensor on the device from which it was saved. For a file from a computer with a GPU, `torch.load(path, map_location='cpu')` brings
# all tensors to the CPU instead.
#
# ### A safetensors file read by hand
#
# It is safer to use a format that cannot hold code. **safetensors** is such a format, and many published weights use it. The first
# 8 bytes are a whole number $h$, with the lowest byte first. Then come $h$ bytes of text in the format JSON, the header. It gives the type, the shape and the
# place of each tensor. The rest are the numbers. If tensor $j$ has $n_j$ numbers of $b_j$ bytes each, the file has the size
#
# ```{math}
# :label: parameters-size
# S = 8 + h + \sum_{j=1}^{J} n_j b_j .
# ```

# %%
def read_safetensors(raw):              # bytes -> tensors by name
    types = {'F64': torch.float64, 'F32': torch.float32,
             'BF16': torch.bfloat16, 'U8': torch.uint8}
    h = int.from_bytes(raw[:8], 'little')
    header, numbers = json.loads(raw[8:8 + h]), raw[8 + h:]
    header.pop('__metadata__', None)    # texts for people
    tensors = {}
    for name, about in header.items():
        first, last = about['data_offsets']
        flat = torch.frombuffer(bytearray(numbers[first:last]),
                                dtype=types[about['dtype']])
        tensors[name] = flat.reshape(about['shape'])
    return tensors

# %% [markdown]
# We read a file of this book. It holds the state of a training that took minutes: a recurrent network for the text of *Alice in
# Wonderland*, with the moments of Adam and the generator.

# %%
raw = (weights.FOLDER / 'alice_gru.safetensors').read_bytes()
tensors, library = read_safetensors(raw), safetensors.torch.load(raw)
h = int.from_bytes(raw[:8], 'little')
size = 8 + h + sum(t.numel() * t.itemsize for t in tensors.values())
print(f'h = {h}, size by the formula {size}, and of the file {len(raw)}')
same = [torch.equal(tensors[name], library[name]) for name in library]
print('equal to the library:', sum(same), 'of', len(same), 'tensors')

# %% mystnb={"image": {"alt": "A bar of four boxes in a row: 8 bytes with the number h; the header of h bytes; bias, 8 bytes, places 0 to 8; weight, 24 bytes, places 8 to 32. Below the header stands its text in JSON with name, type, shape and data_offsets of both tensors."}} tags=["hide-input"]
layer = nn.Linear(3, 2, dtype=torch.float32)
small = safetensors.torch.save(layer.state_dict())
inside = json.loads(small[8:8 + int.from_bytes(small[:8], 'little')])
fig, ax = panels(1, height=2.1)
boxes = [('8 bytes', f'h = {int.from_bytes(small[:8], "little")}', 0, 1.3),
         ('h bytes', 'header', 1.3, 4.2)]
for name, about in inside.items():
    first, last = about['data_offsets']
    left = boxes[-1][3]
    boxes.append((f'bytes {first} to {last}', name, left, left + 1 + (last - first) / 20))
for words, name, left, right in boxes:
    ax.add_patch(plt.Rectangle((left, 0), right - left, 1, fill=False, ec='C0', lw=1.2))
    ax.text((left + right) / 2, 0.5, name, ha='center', va='center', fontsize=9.5)
    ax.text((left + right) / 2, 1.2, words, ha='center', va='bottom', fontsize=9, color='C0')
for row, (name, about) in enumerate(inside.items()):
    text = json.dumps({name: about}).replace(' ', '')[1:-1]
    ax.text(1.3, -0.35 - 0.55 * row, text, va='top', fontsize=9, family='monospace')
ax.set(xlim=(-0.1, boxes[-1][3] + 0.1), ylim=(-1.5, 1.8))
ax.axis('off');

# %% [markdown] tags=["caption"]
# A safetensors file with the parameters of `nn.Linear(3, 2)` in float32. Below the header stands its text. The places in it count from the end of the header.

# %% [markdown]
# The type of the numbers decides the size. Here are the files of the digits network:

# %%
for dtype in (torch.float64, torch.float32, torch.bfloat16):
    state = {name: v.to(dtype) for name, v in model.state_dict().items()}
    print(f'{str(dtype)[6:]:8} {len(safetensors.torch.save(state)):6,} bytes')

# %% [markdown]
# ```{exercise} ★★ Program: write a safetensors file
# :label: parameters-write
# Write `write_safetensors(arrays)`, which gives the bytes of a safetensors file with these arrays, in their order. The arrays are of the type
# float32, of any shape, and their numbers are stored row by row. The library must be able to read the file. *Hint*: `array.tobytes()` gives the
# numbers row by row.
# ```

# %%
def write_safetensors(arrays):
    """The bytes of a file: dict of str -> float32 array, to bytes.

    write_safetensors({}) may have 10 bytes, the last two b'{}'.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def drawn(seed):
    rng = np.random.default_rng(seed)
    shapes = [(), (3,), (2, 3), (3, 2, 2), (1, 4)]
    arrays = {}
    for name in ('weight', 'a', 'bias')[:rng.integers(4)]:
        array = rng.integers(-9, 9, shapes[rng.integers(5)]).astype(np.float32)
        arrays[name] = array.T if rng.random() < 0.5 else array
    return arrays

def read_by_library(writing, arrays):
    back = safetensors.numpy.load(writing(arrays))
    return [(name, list(a.shape), a.tolist()) for name, a in sorted(back.items())]

def as_given(arrays):
    return [(name, list(a.shape), a.tolist()) for name, a in sorted(arrays.items())]

def equal(got, want):
    return got == want

write_cases = dict(arrays=seeds().map(drawn))
grade(lambda arrays: read_by_library(write_safetensors, arrays), as_given, same=equal, tries=40, **write_cases)

# %% [markdown]
# ```{solution-start} parameters-write
# :class: dropdown
# ```
# The places count from the end of the header, and the next array begins where the last one ended. The wrong answers let the places count from the
# beginning of the file, write the length with the highest byte first, and store a transposed array column by column.

# %% jupyter={"source_hidden": true}
def write_solution(arrays):
    header, numbers = {}, b''
    for name, a in arrays.items():
        first = len(numbers)
        numbers += a.tobytes()
        header[name] = {'dtype': 'F32', 'shape': a.shape, 'data_offsets': [first, len(numbers)]}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, 'little') + text + numbers

def absolute(arrays):
    raw = write_solution(arrays)
    h = int.from_bytes(raw[:8], 'little')
    header = json.loads(raw[8:8 + h])
    for about in header.values():
        about['data_offsets'] = [8 + h + place for place in about['data_offsets']]
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, 'little') + text + raw[8 + h:]

def highest_first(arrays):
    raw = write_solution(arrays)
    return raw[7::-1] + raw[8:]

def by_columns(arrays):
    return write_solution({name: a.ravel('K').reshape(a.shape) for name, a in arrays.items()})

assert grade(lambda arrays: read_by_library(write_solution, arrays), as_given, same=equal, tries=40, **write_cases)
assert not grade(lambda arrays: read_by_library(absolute, arrays), as_given, same=equal, tries=40, **write_cases)
assert not grade(lambda arrays: read_by_library(highest_first, arrays), as_given, same=equal, tries=40, **write_cases)
assert not grade(lambda arrays: read_by_library(by_columns, arrays), as_given, same=equal, tries=40, **write_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def loads(thing):
    stored = io.BytesIO()
    torch.save(thing, stored)
    stored.seek(0)
    try:
        torch.load(stored)
    except pickle.UnpicklingError:
        return False
    return True

verify(
    'torch.load reads a state dictionary and a checkpoint, and refuses an object that calls a function, and a module',
    lambda name: loads({**things, 'checkpoint': checkpoint(begin(0, 'Adam'))}[name]) == (name in ('state', 'checkpoint')),
    slip=('expects it to read everything',
          lambda name: loads({**things, 'checkpoint': checkpoint(begin(0, 'Adam'))}[name])),
    name=['note', 'model', 'state', 'checkpoint'],
)

def random_tensors(seed):
    g = torch.Generator().manual_seed(seed)
    found = {}
    for number, dtype in enumerate((torch.float64, torch.float32, torch.bfloat16, torch.uint8)):
        shape = torch.randint(1, 4, (int(torch.randint(4, (), generator=g)),), generator=g).tolist()
        found[f'tensor {number}'] = torch.randint(0, 99, shape, generator=g).to(dtype)
    return found

def reads(seed, from_the_file=False):
    given = random_tensors(seed)
    raw = safetensors.torch.save(given, {'about': 'random numbers'})
    if from_the_file:
        raw = raw[:8 + int.from_bytes(raw[:8], 'little')] + raw
    back = read_safetensors(raw)
    return all(torch.equal(back[name], t) and back[name].dtype == t.dtype for name, t in given.items())

verify(
    'the reader gives the names, types, shapes and numbers that the library has written',
    lambda seed: reads(seed),
    slip=('counts the places from the beginning of the file', lambda seed: reads(seed, True)),
    seed=seeds(), tries=40,
)
verify(
    'the stored training is read as the library reads it',
    lambda tensors_more: sum(same) == len(library) == len(tensors) + tensors_more,
    slip=('expects one more tensor', lambda tensors_more: sum(same) == len(tensors) + tensors_more + 1),
    tensors_more=[0],
)

# %% [markdown]
# ## load_state_dict: names, strict, requires_grad and tied weights
#
# Somebody has trained a network that says how an English word is pronounced {cite}`park2019g2p`. Its weights are twelve arrays without
# code. We write a module for them. `nn.Embedding(29, 256)` is a table with a row for each letter and three marks. `nn.GRU` reads or writes a
# sequence; how it works does not matter here.

# %%
class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(29, 256)
        self.reader = nn.GRU(256, 256)
        self.sounds = nn.Embedding(74, 256)
        self.writer = nn.GRU(256, 256)
        self.scores = nn.Linear(256, 74)

    def forward(self, word):            # a word -> numbers of its sounds
        codes = torch.tensor([ord(c) - 94 for c in word] + [2])
        _, h = self.reader(self.letters(codes))         # (1, 256)
        said = [2]                                      # 2 begins
        while said[-1] != 3 and len(said) < 20:         # 3 ends
            o, h = self.writer(self.sounds(torch.tensor(said[-1:])), h)
            said.append(self.scores(o[0]).argmax().item())
        return said[1:]

# %% [markdown]
# `named_parameters` gives each parameter with its name. The first five are:

# %%
speaker = Speaker()
for name, p in list(speaker.named_parameters())[:5]:
    print(f'{name:20} {tuple(p.shape)}')

# %% [markdown]
# The twelve arrays have other names: `enc_emb`, `enc_w_ih` and so on. `load_state_dict` goes by names and shapes alone, so
# we give each array the name of the parameter that it becomes:

# %% tags=["hide-input"]
new = {'enc_emb': 'letters.weight', 'dec_emb': 'sounds.weight',
       'fc_w': 'scores.weight', 'fc_b': 'scores.bias'}
for end in ('w_ih', 'w_hh', 'b_ih', 'b_hh'):
    full = end.replace('w', 'weight').replace('b', 'bias') + '_l0'
    new[f'enc_{end}'], new[f'dec_{end}'] = f'reader.{full}', f'writer.{full}'
arrays = data.spelling_to_sound()
sounds = arrays['phonemes']             # the names of the 74 sounds
old = {name: torch.tensor(arrays[name]) for name in new}
state = {new[name]: tensor for name, tensor in old.items()}

# %% [markdown]
# `load_state_dict` is strict: every name must fit, and every shape. We spoil one of each:

# %%
spoilt = state | {'scores.weight': state['scores.weight'].T}
spoilt['bias'] = spoilt.pop('scores.bias')
try:
    speaker.load_state_dict(spoilt)
except RuntimeError as error:
    print(str(error).replace(': copy', ':\n\tcopy').replace(', t', ',\n\tt'))

# %% [markdown]
# With `strict=False`, names that do not fit are skipped; a wrong shape is still an error. Suppose we forget to rename, and silence the error in this way. We let both models
# pronounce 200 words of a dictionary, and count those without a mistake:

# %% tags=["hide-input"]
words, spoken = (data.pronunciations('test')[column][:200] for column in ('word', 'phonemes'))

@torch.no_grad()
def pronounced(model, word):
    return ' '.join(sounds[k] for k in model(word) if k != 3)

def share_spoken(model):
    return np.mean([pronounced(model, word) == said for word, said in zip(words, spoken, strict=True)])

# %%
skipped = speaker.load_state_dict(old, strict=False)
share_random = share_spoken(speaker)
print(f'strict=False: {len(skipped.missing_keys)} names missing,'
      f' {share_random:.2f} of the words right')
print(speaker.load_state_dict(state))
share_loaded = share_spoken(speaker)
print(f'renamed: {share_loaded:.2f} of the words right')
print('wonderland:', pronounced(speaker, 'wonderland'))

# %% [markdown]
# With `strict=False` nothing was loaded, there was no error, and no word came out right. If you need this setting, look at
# `missing_keys` and `unexpected_keys` of what the call returns. The arrays are float32 and the module is float64: loading copies the
# numbers into the parameters, so these keep their own type and device.
#
# ### Freezing a part with requires_grad
#
# To adapt the network to another dialect, you might train only the part that writes. The part that reads is **frozen**: with
# `requires_grad_(False)` its parameters get no gradients, and an optimizer for the others keeps no moments for them.

# %%
for part in (speaker.letters, speaker.reader):
    part.requires_grad_(False)
trained = [p for p in speaker.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(trained)
total = sum(p.numel() for p in speaker.parameters())
count = sum(p.numel() for p in trained)
print(f'{total:,} parameters, {count:,} of them trained;'
      f' a checkpoint with Adam has {total + 2 * count:,} numbers')

# %% [markdown]
# ### Tied weights: one tensor, two names
#
# The table `sounds` and the layer `scores` both have a row of 256 weights for each sound. Many language models use one matrix for both
# {cite}`press2017using`. We tie a table for the 26 letters to a layer that scores the next letter:

# %%
table, scores = nn.Embedding(26, 8), nn.Linear(8, 26, bias=False)
scores.weight = table.weight            # tied
tied = nn.Sequential(table, scores)
F.cross_entropy(tied(torch.tensor([16])), torch.tensor([20])).backward()
print('parameters:', sum(p.numel() for p in tied.parameters()))
print('names in the state dictionary:', *tied.state_dict())

# %% [markdown]
# Here the letter number $k = 16$, counted from 0, is a q, and the next letter is number 20, a u. The row $\mathbf{w}_k$ of the table gives the scores
# $\mathbf{W}\mathbf{w}_k$. Let $\mathbf{g}$ be the gradient of the loss with respect to the scores, and $\mathbf{e}_k$ the vector with a single 1 at place $k$. The
# gradient with respect to the tied matrix is the sum over its two uses, first as the layer and then as the table:
#
# ```{math}
# :label: parameters-tied
# \mathbf{G} = \mathbf{g}\,\mathbf{w}_k^\top + \mathbf{e}_k\,\mathbf{g}^\top \mathbf{W} .
# ```

# %%
W, k = table.weight.detach(), 16
g = (W @ W[k]).softmax(0) - torch.eye(26)[20]       # of cross-entropy
as_scores = torch.outer(g, W[k])
as_table = torch.outer(torch.eye(26)[k], g @ W)
for name, use in {'scores': as_scores, 'table': as_table}.items():
    print(f'as {name}: rows with a gradient: {use.any(1).sum()}')
largest = (as_scores + as_table - table.weight.grad).abs().max()
print('largest difference from the library:', below(largest))

# %% [markdown]
# Files treat a tie differently. `torch.save` stores the numbers once, under both names. safetensors refuses, because a file of
# names and numbers cannot say that two tensors are one. Its function `save_model` stores one of the names and notes the other:

# %%
try:
    safetensors.torch.save(tied.state_dict())
except RuntimeError as error:
    print(str(error).strip().partition(',')[0])
safetensors.torch.save_model(tied, folder / 'tied.safetensors')
print('stored:', *read_safetensors((folder / 'tied.safetensors').read_bytes()))

# %% [markdown]
# The tie is made by the code of the model and not by the file. A normal `load_state_dict` copies numbers and leaves the tie alone. With
# `assign=True` it puts in new parameters, one for each name, and the tie is lost.
#
# ```{exercise} ★ Pencil: how large is the checkpoint?
# :label: parameters-bytes
# A model has `P` parameters of `b` bytes each, and `F` of them are frozen. The optimizer keeps `moments` numbers of the same type for each parameter that
# it trains: none for SGD, one with momentum, two for Adam. How many bytes do the numbers of model and optimizer take together?
# ```

# %%
def checkpoint_bytes(P, F, b, moments):
    """The bytes of model and optimizer: four ints -> int.

    0 <= F < P; checkpoint_bytes(10, 4, 8, 2) is 176.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_saving(P, F, b, moments):
    dtype = {2: torch.bfloat16, 4: torch.float32, 8: torch.float64}[b]
    frozen, moving = (nn.Parameter(torch.ones(n, dtype=dtype)) for n in (F, P - F))
    make = [torch.optim.SGD, lambda p: torch.optim.SGD(p, momentum=0.9), torch.optim.Adam][moments]
    optimizer = make([moving])
    moving.sum().backward()
    optimizer.step()
    kept = [t for m in optimizer.state_dict()['state'].values() for t in m.values() if t is not None and t.ndim]
    return sum(t.nbytes for t in (frozen, moving, *kept))

byte_cases = dict(P=integers(1, 9), F=lambda P: integers(0, P - 1), b=[2, 4, 8], moments=[0, 1, 2])
grade(checkpoint_bytes, by_saving, tries=60, **byte_cases)

# %% [markdown]
# ```{solution-start} parameters-bytes
# :class: dropdown
# ```
# All $P$ parameters are saved, and the moments of the $P - F$ trained ones. If nothing is frozen, the checkpoint under Adam is three times as large as
# the model. The wrong answers keep moments for the frozen parameters, leave the frozen parameters out, and
# forget the parameters themselves.

# %% jupyter={"source_hidden": true}
def bytes_solution(P, F, b, moments):
    return b * (P + moments * (P - F))

assert grade(bytes_solution, by_saving, tries=60, **byte_cases)
assert not grade(lambda P, F, b, moments: b * (P + moments * P), by_saving, tries=60, **byte_cases)
assert not grade(lambda P, F, b, moments: b * (P - F) * (1 + moments), by_saving, tries=60, **byte_cases)
assert not grade(lambda P, F, b, moments: b * moments * (P - F), by_saving, tries=60, **byte_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def read_by_formula(word, gate=1):      # the state of a GRU after a word, from the arrays alone
    W, U, b, c = (arrays[f'enc_{kind}_{end}'].astype(float) for kind in 'wb' for end in ('ih', 'hh'))
    h = np.zeros(256)
    for x in arrays['enc_emb'][[*(ord(letter) - 94 for letter in word), 2]].astype(float):
        (r, z, n), (r_, z_, n_) = np.split(W @ x + b, 3), np.split(U @ h + c, 3)
        r, z = 1 / (1 + np.exp(-(r + r_))), 1 / (1 + np.exp(-(z + z_)))
        h = (1 - z) * np.tanh(n + r**gate * n_) + z * h
    return h

def state_read(word):
    with torch.no_grad():
        return speaker.reader(speaker.letters(torch.tensor([ord(c) - 94 for c in word] + [2])))[1][0]

verify(
    'the loaded reader computes the formulas of a GRU with the stored arrays',
    lambda word: close(state_read(word), read_by_formula(word)),
    slip=('leaves out the reset gate', lambda word: close(state_read(word), read_by_formula(word, gate=0))),
    word=['wonderland', 'a'],
)
verify(
    'without the right names no word is pronounced, with them six of ten',
    lambda least: share_random == 0 and share_loaded - 2 * (0.25 / 200)**0.5 > least,
    slip=('says so of the model with random weights', lambda least: share_random > least),
    least=[0.55],
)

def error_of(change):
    try:
        Speaker().load_state_dict(change(dict(state)))
    except RuntimeError as error:
        return [words for words in ('Missing', 'Unexpected', 'size mismatch') if words in str(error)]
    return []

changes = {'scores.bias': lambda s: s | {'bias': s.pop('scores.bias')}, 'fits': dict,
           'shape': lambda s: s | {'scores.weight': s['scores.weight'].T}, 'extra': lambda s: s | {'more': torch.ones(1)}}
verify(
    'a strict load names what is missing, unexpected or of another shape, and takes what fits',
    lambda name: error_of(changes[name]) == {
        'scores.bias': ['Missing', 'Unexpected'], 'shape': ['size mismatch'], 'extra': ['Unexpected'], 'fits': []}[name],
    slip=('expects no error for more names', lambda name: error_of(changes[name]) == {
        'scores.bias': ['Missing', 'Unexpected'], 'shape': ['size mismatch'], 'extra': [], 'fits': []}[name]),
    name=list(changes),
)

# %% tags=["checks"]
def after_training(seed):               # (names that moved, numbers in the moments)
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    model[0].requires_grad_(False)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], weight_decay=0.1)
    before = copy.deepcopy(model.state_dict())
    for _ in range(3):
        model(torch.randn(5, 3)).square().sum().backward()
        optimizer.step()
    kept = sum(t.numel() for m in optimizer.state_dict()['state'].values() for t in m.values() if t.ndim)
    return [name for name, v in model.state_dict().items() if not torch.equal(v, before[name])], kept

verify(
    'a frozen layer stays as it was and has no moments',
    lambda seed: after_training(seed) == (['1.weight', '1.bias'], 2 * 10),
    slip=('counts moments for all parameters', lambda seed: after_training(seed)[1] == 2 * 26),
    seed=[0, 1, 2],
)

def tied_pair():
    first = nn.Embedding(5, 3)
    second = nn.Linear(3, 5, bias=False)
    second.weight = first.weight
    return nn.Sequential(first, second)

def tie_after(way):
    pair, stored = tied_pair(), io.BytesIO()
    torch.save(tied_pair().state_dict(), stored)
    stored.seek(0)
    loaded = torch.load(stored)
    pair.load_state_dict(loaded, assign=way == 'assign')
    return pair[0].weight is pair[1].weight, loaded['0.weight'].data_ptr() == loaded['1.weight'].data_ptr()

verify(
    'torch.save stores a tied tensor once, loading leaves the tie, and assign=True breaks it',
    lambda way: tie_after(way) == (way == 'copy', True),
    slip=('expects assign=True to keep it', lambda way: tie_after(way) == (True, True)),
    way=['copy', 'assign'],
)

def tied_by_safetensors(ties):
    pair, other = tied_pair(), tied_pair() if ties else nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
    safetensors.torch.save_model(pair, folder / 'pair.safetensors')
    stored = read_safetensors((folder / 'pair.safetensors').read_bytes())
    try:
        safetensors.torch.load_model(other, folder / 'pair.safetensors')
    except RuntimeError:
        return False
    return len(stored) == 1 and torch.equal(other[1].weight, pair[0].weight)

verify(
    'save_model stores one of two tied names, from which a model with the tie is loaded',
    lambda ties: tied_by_safetensors(ties),
    slip=('loads it into a model without the tie', lambda ties: tied_by_safetensors(not ties)),
    ties=[True],
)

# %% [markdown]
# ## Summary
#
# A training goes on with the same bits if all that its next steps read comes back: the parameters, the optimizer, the
# schedule, the order of the rows and the random numbers; a new Adam takes steps of the size of the learning rate, and the loss can jump. Save state dictionaries and not whole
# models: `torch.load` refuses files that call functions, and a safetensors file cannot even express a call. Parameters are found
# by name and shape, so load strictly, and let the code of the model make its ties.
#
# **Further reading.** The PyTorch tutorial on saving and loading {cite}`inkawhich2018saving` has recipes for more cases, such as several models in one
# file. The description of the format {cite}`safetensors2023` is short, for those who want to write a reader in another language.
