# ---
# jupyter:
#   book:
#     functions:
#       params: "params(nn.Sequential(nn.ReLU(), nn.PReLU(3)))['1.weight']"
#       Residual: "Residual(torch.square)(normal(5, 3))"
#       Leaky: "Leaky(3)(normal(5, 3))"
#       Standardize: "Standardize(normal(9, 3))(normal(5, 3))"
#       Registry: "len(Registry()._modules)"
#       Tree: "len(Tree().parameters())"
#       Module: "type('Half', (Module,), {'forward': lambda self, x: x / 2})()(normal(3))"
#       shapes: "shapes(nn.Sequential(nn.ReLU()), normal(5, 3))[0][2]"
#     main: modules-tree
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Layers and modules
#
# Two networks for handwritten digits have the same layers, and both train without an error message. One reads about nine of ten new
# digits. The other reads about half of them at best, far fewer than a linear model, because only its last layer has learned. The two programs differ
# in a single word. How does PyTorch know which tensors of a model it has to train?
#
# - **You need** [hidden layers](../neural_networks/hidden_layers.ipynb),
#   [automatic differentiation](../calculus/automatic_differentiation.ipynb) and
#   [training in minibatches](../regression/minibatch_training.ipynb).
# - **You build** models, layers and blocks with `nn.Module`, then your own `Module`, with the same names and the same
#   tensors as PyTorch's. You look into a trained face detector, and count the parameters of a model that is too large for your memory.
# - **Runs in** 8 seconds. All tensors are float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from collections import OrderedDict
from functools import cache
from itertools import pairwise

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from nbutils import data
from nbutils.cases import integers, on, seeds
from nbutils.checks import close, grade, verify
from nbutils.figures import GREY, panels, show_image
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
plt.style.use('nbutils.book')

# %% [markdown]
# ## nn.Module: a class with `__init__` and `forward`
#
# The shortest way to write a network is `nn.Sequential`: each layer gets what the layer before it returns. This is enough as
# long as the network is a chain. But a chain cannot add the input of a layer to its output, for example. For this you write a class:

# %%
class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, h):               # (n, m)
        return h + self.inner(h)        # (n, m)

# %% [markdown]
# A **module** is an object of such a class, for example `m = Residual(nn.Linear(8, 8))`. `__init__` stores the layers, and `forward`
# says what is computed when you call `m(h)`. The layers of PyTorch are modules as well, and so is `nn.Sequential`. So modules can be put
# into modules:

# %%
inner = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 32))
net = nn.Sequential(nn.Linear(64, 32), Residual(inner), nn.Linear(32, 10))
for name, p in net.named_parameters():
    print(f'{name:16}', tuple(p.shape))

# %% [markdown]
# A **parameter** is a tensor that is to be trained. The modules form a tree, with the network at its root, and the name of a parameter is the
# way to it through the tree. For example, `1.inner.2.bias` leads from the network to its module 1, then to `inner`, then to layer 2, and
# there to the bias. The parameters of a module $m$ are its own parameters, together with the parameters of its children:
#
# ```{math}
# :label: modules-tree
# \operatorname{params}(m) = \operatorname{own}(m) \cup \bigcup_{c \,\in\, \operatorname{children}(m)} \operatorname{params}(c) .
# ```
#
# The code follows the formula. It gives a dictionary, in which the names of the children are put in front:

# %%
def params(m, way=''):
    found = {way + name: p for name, p in m.named_parameters(recurse=False)}
    for name, c in m.named_children():
        found |= params(c, f'{way}{name}.')
    return found

# %%
found = params(net).values()
print(len(found), 'parameters,', sum(p.numel() for p in found), 'numbers')

# %% mystnb={"image": {"alt": "Left: a tree of text. The root, a Sequential, has the children 0: Linear, 1: Residual and 2: Linear. Under Residual stands inner: Sequential, and under it 0: Linear, 1: ReLU and 2: Linear. Right: a column of boxes from x, n by 64, through Linear to n by 32, Linear to n by 16, ReLU, Linear to n by 32, a plus sign and Linear to n by 10. An arrow goes from before the second Linear round three boxes to the plus sign."}} tags=["hide-input"]
def draw_tree(ax, model, notes=None):
    rows = list(model.named_modules())
    place = {}
    for row, (name, module) in enumerate(rows):
        depth = len(name.split('.')) if name else 0
        place[name] = (0.5 * depth, -row)
        if name:
            x, y = place[name.rpartition('.')[0]]
            ax.plot([x + 0.1, x + 0.1, 0.5 * depth - 0.05], [y - 0.4, -row, -row], color=GREY, lw=0.8)
        label = name.rpartition('.')[2] + ': ' if name else ''
        ax.text(0.5 * depth, -row, label + type(module).__name__, va='center', fontsize=9)
        if notes and name in notes:
            ax.text(2.75, -row, notes[name], va='center', fontsize=8.5, color='C0')
    ax.set(xlim=(-0.05, 3), ylim=(-len(rows) + 0.4, 0.6))
    ax.axis('off')

fig, (left, right) = panels(2, height=3.2, width_ratios=[1, 1])
draw_tree(left, net)
flow = [('$\\mathbf{x}$', 'n × 64'), ('Linear', 'n × 32'), ('Linear', 'n × 16'), ('ReLU', 'n × 16'), ('Linear', 'n × 32'),
        ('+', 'n × 32'), ('Linear', 'n × 10')]
for row, (words, shape) in enumerate(flow):
    right.text(0, -row, words, ha='center', va='center', fontsize=9,
               bbox={'boxstyle': 'round,pad=0.25', 'fc': 'none', 'ec': 'none' if row == 0 else 'C0'})
    right.text(0.55, -row, shape, va='center', fontsize=9, color='C0')
    if row:
        right.annotate('', (0, -row + 0.28), (0, -row + 0.72), arrowprops={'arrowstyle': '->', 'color': GREY, 'lw': 0.9})
right.plot([0, -0.7, -0.7], [-1.5, -1.5, -5], color=GREY, lw=0.9)
right.annotate('', (-0.12, -5), (-0.7, -5), arrowprops={'arrowstyle': '->', 'color': GREY, 'lw': 0.9})
right.text(-0.8, -3.25, 'Residual', rotation=90, ha='right', va='center', fontsize=9)
right.set(xlim=(-1.2, 1.3), ylim=(-6.5, 0.6))
right.axis('off');

# %% [markdown] tags=["caption"]
# Left: the tree of modules; the way from the root gives each parameter its name. Right: the computation, with the
# shape of each result for $n$ inputs. The long arrow is the plus in `forward`.

# %% [markdown]
# ### nn.ModuleList: layers in a list
#
# A network with any number of hidden layers needs a list of layers. PyTorch has `nn.ModuleList` for it. What goes wrong with
# Python's own `list`? To try both, we make the kind of list an argument, `keep`:

# %%
class MLP(nn.Module):
    def __init__(self, widths, keep):
        super().__init__()
        self.hidden = keep([nn.Linear(a, b) for a, b in pairwise(widths)])
        self.out = nn.Linear(widths[-1], 10)

    def forward(self, x):               # (n, 64)
        for layer in self.hidden:
            x = layer(x).relu()
        return self.out(x)              # (n, 10)

# %% [markdown]
# We train three models on digits of $8 \times 8$ pixels: a linear model, and the network with each kind of list. The optimizer is Adam with the learning rate 0.01; it
# gets what `model.parameters()` returns. Each model is trained three times, with different starts, on 1297 digits, and tested on the others.
# The number of parameters counts every number in them. So the linear model has $64 \cdot 10$ weights and $10$ biases, $650$ parameters:

# %% tags=["hide-input"]
digits = data.digits()
X, y = torch.tensor(digits.x), torch.tensor(digits.y)   # (1797, 64)

def trained(make, seed, lr):
    torch.manual_seed(seed)
    model = make()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    g = torch.Generator().manual_seed(seed)
    fit(model, F.cross_entropy, optimizer, batches(g, 100, X[:1297], y[:1297], epochs=8))
    return model

@torch.no_grad()
def share_right(model):                 # of the last 500 digits
    return (model(X[1297:]).argmax(1) == y[1297:]).double().mean().item()

# %%
makers = {'linear model': lambda: nn.Linear(64, 10),
          'list': lambda: MLP([64] * 5, list),
          'nn.ModuleList': lambda: MLP([64] * 5, nn.ModuleList)}
models = {}
for name, make in makers.items():
    three = models[name] = [trained(make, seed, 0.01) for seed in range(3)]
    shares = [share_right(model) for model in three]
    count = sum(p.numel() for p in three[0].parameters())
    print(f'{name:13} {count:5} parameters, digits right:'
          f' {min(shares):.2f} to {max(shares):.2f}')

# %% [markdown]
# Both networks have five layers. But the one with a Python list knows only the 650 parameters of its last layer. PyTorch looks
# for parameters and modules among the attributes of a module, and a list is neither. So the optimizer never gets the
# parameters of the hidden layers. For each of the five layers, we print the largest change of a weight during the training with seed 0:

# %% tags=["hide-input"]
def moved(name, seed):                  # largest change of a weight in each layer
    torch.manual_seed(seed)
    start, end = makers[name](), models[name][seed]
    layers = zip([*start.hidden, start.out], [*end.hidden, end.out])
    return [(a.weight - b.weight).abs().max().item() for a, b in layers]

for name in ('list', 'nn.ModuleList'):
    print(f'{name:13}', ', '.join(f'{change:.2f}' for change in moved(name, 0)))

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# `self.hidden = [...]` looks right, and nothing warns you: the loss falls, because the last layer learns from random
# features. Larger learning rates do not help, as the numbers below show. Use `nn.ModuleList` for a list and `nn.ModuleDict` for a dictionary, and
# print the number of parameters before you train.
# :::

# %% tags=["hide-input"]
faster = {lr: [share_right(trained(makers['list'], seed, lr)) for seed in range(3)]
          for lr in (0.1, 0.3, 1)}
for lr, shares in faster.items():
    print(f'list, learning rate {lr:4}: {min(shares):.2f} to {max(shares):.2f}')

# %% [markdown]
# ```{exercise} ★★ Experiment: saved and loaded
# :label: modules-saved
# `model.state_dict()` is a dictionary of all tensors that are saved with a model, by name. Load the dictionary of a trained network
# into a new one, with `name = 'list'` and with `name = 'nn.ModuleList'`:
#
#     torch.manual_seed(9)
#     new = makers[name]()
#     new.load_state_dict(models[name][0].state_dict())
#     share_right(new)
#
# First predict the two shares of right digits. A guess counts as right if it is off by at most 0.1.
# ```

# %%
def predicted_shares():
    """Two numbers in [0, 1]: the share for list and for nn.ModuleList."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@cache
def shares_loaded():
    shares = []
    for name in ('list', 'nn.ModuleList'):
        torch.manual_seed(9)
        new = makers[name]()
        new.load_state_dict(models[name][0].state_dict())
        shares.append(share_right(new))
    return shares

def is_measured(said):
    for name, guess, share in zip(('list', 'nn.ModuleList'), said, shares_loaded(), strict=True):
        if not abs(guess - share) <= 0.1:
            raise ValueError(f'another share is measured for {name}; try it')
    return True

grade(lambda: is_measured(predicted_shares()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} modules-saved
# :class: dropdown
# ```
# With `nn.ModuleList` the new network is as good as the old one. With a list, only the last layer is saved and
# loaded. It was trained for the random features of the old network, and the new network has others, so it is hardly better than a guess
# among ten digits. PyTorch does not complain, because neither network knows of more parameters. The wrong answers expect both
# networks to be as good as before, both to be bad, and the list to be as good as it was.

# %% jupyter={"source_hidden": true}
print('after loading: ' + ', '.join(f'{share:.1f}' for share in shares_loaded()))
measured = shares_loaded()
assert grade(lambda: is_measured(measured), lambda: True, [()])
assert not grade(lambda: is_measured((0.9, 0.9)), lambda: True, [()])
assert not grade(lambda: is_measured((0.1, 0.1)), lambda: True, [()])
assert not grade(lambda: is_measured((0.7, 0.9)), lambda: True, [()])

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def random_net(seed, depth=2):  # a tree of modules with one to three children each
    g = torch.Generator().manual_seed(seed)
    def grown(depth):
        kind = int(torch.randint(3, (), generator=g)) if depth else 2
        if kind == 0:
            return Residual(grown(depth - 1))
        if kind == 1:
            return nn.Sequential(*[grown(depth - 1) for _ in range(1 + int(torch.randint(3, (), generator=g)))])
        return nn.Linear(2, 2)
    return nn.Sequential(*[grown(depth) for _ in range(2)])

def finds_all(seed, finding):
    model = random_net(seed)
    found, named = finding(model), dict(model.named_parameters())
    return list(found) == list(named) and all(found[name] is named[name] for name in named)

def one_step_down(model):
    return {f'{name}.{key}': p for name, c in model.named_children() for key, p in c.named_parameters(recurse=False)}

verify(
    'the parameters of a module are its own and those of its children',
    lambda seed: finds_all(seed, params),
    slip=('leaves out the children of the children', lambda seed: finds_all(seed, one_step_down)),
    seed=seeds(), tries=30,
)
verify(
    'a residual module adds what its inner module computes',
    lambda scale: close(Residual(lambda h: scale * h)(X[:2]), (1 + scale) * X[:2]),
    slip=('forgets the input', lambda scale: close(Residual(lambda h: scale * h)(X[:2]), scale * X[:2])),
    scale=[-1, 0, 0.5, 2],
)
verify(
    'with a list the hidden layers stay as they were, with nn.ModuleList they move',
    lambda seed: moved('list', seed)[:4] == [0] * 4 and min(moved('nn.ModuleList', seed)) > 0.01,
    slip=('expects the same of the last layer', lambda seed: moved('list', seed)[4] == 0),
    seed=[0, 1, 2],
)
slowest = {lr: max(shares) for lr, shares in faster.items()} | {0.01: max(map(share_right, models['list']))}

def is_behind(share, name):  # by more than two standard errors of a difference, each at most (0.25 / 500)**0.5
    return min(map(share_right, models[name])) - share > 2 * (0.5 / 500) ** 0.5

verify(
    'at each learning rate the list is behind the linear model and nn.ModuleList, by more than two standard errors',
    lambda lr: is_behind(slowest[lr], 'linear model') and is_behind(slowest[lr], 'nn.ModuleList'),
    slip=('says so of a share that is 0.4 larger', lambda lr: is_behind(slowest[lr] + 0.4, 'linear model')),
    lr=[0.01, 0.1, 0.3, 1.0],
)
verify(
    'after loading, the network with the list is hardly better than chance, and the other one as before',
    lambda name: abs(shares_loaded()[name == 'nn.ModuleList']
                     - (0.1 if name == 'list' else share_right(models[name][0]))) < 0.1,
    slip=('expects both as before',
          lambda name: abs(shares_loaded()[name == 'nn.ModuleList'] - share_right(models[name][0])) < 0.1),
    name=['list', 'nn.ModuleList'],
)

# %% [markdown]
# ## Parameters, buffers and tied weights
#
# A layer of your own is a module with parameters. `nn.Parameter` marks a tensor as one to be trained. As an example, we
# let each unit learn how steep its activation is for negative numbers. For unit $j$ with the pre-activation $z_j$ and the
# slope $a_j$ it computes
#
# ```{math}
# :label: modules-leaky
# h_j = \max(z_j, 0) + a_j \min(z_j, 0) .
# ```

# %%
class Leaky(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.weight = nn.Parameter(torch.full((m,), 0.25))   # the slopes a

    def forward(self, z):                                    # (n, m)
        return z.clamp(min=0) + self.weight * z.clamp(max=0)

# %% [markdown]
# PyTorch has the same layer under the name `nn.PReLU`. Some tensors belong to a model although no optimizer should
# change them. For example, some models subtract the mean of the training data from each input and divide by the standard deviation. Such a
# tensor is a **buffer**. It is saved with the model, but it is no parameter:

# %%
class Standardize(nn.Module):
    def __init__(self, X):                              # (n, d)
        super().__init__()
        self.register_buffer('mean', X.mean(0))
        self.register_buffer('std', X.std(0) + 0.1)  # some pixels are constant

    def forward(self, x):
        return (x - self.mean) / self.std

# %%
X_train = X[:1297]                      # the test digits have no say
model = nn.Sequential(Standardize(X_train), nn.Linear(64, 8), Leaky(8))
print('parameters:', *[name for name, _ in model.named_parameters()])
print('state:     ', *model.state_dict())

# %% [markdown]
# The **state dictionary** `model.state_dict()` holds parameters and buffers: all that you need to use the model later. To continue its training,
# save the state of the optimizer, too.
#
# ### Tied weights: one parameter, two names
#
# Two layers can share a parameter. Then the weights are **tied**. You assign the parameter of one layer to the other:

# %%
first, second = nn.Linear(8, 8), nn.Linear(8, 8)
second.weight = first.weight            # tied
tied = nn.Sequential(first, nn.ReLU(), second)
print('parameters:', *[name for name, _ in tied.named_parameters()])
print('state:     ', *tied.state_dict())

# %% [markdown]
# The shared weight is one parameter under its first name, so the optimizer moves it once. In the state dictionary it has both names. Its
# gradient is a sum with one term for each place where it is used. The union in the formula of the first part counts it once, too, while our `params`
# gives it under both names.

# %% [markdown]
# ### `train()` and `eval()` reach every module
#
# Some layers work in two ways. `nn.Dropout(0.5)`, for example, sets random entries to zero and doubles the others, but
# only while the model is trained. The section on [dropout](../neural_networks/dropout.ipynb) explains why. Each module has an attribute `training`, and `model.train()` and `model.eval()` set it
# in all modules of the tree. As an example, we put a dropout layer two levels down. We print its `training`, and what it makes of eight ones:

# %%
deep = nn.Sequential(nn.Sequential(nn.Dropout(0.5)))
torch.manual_seed(0)
for change in (deep.train, deep.eval):
    change()
    print(deep[0][0].training, deep(torch.ones(8)).int().tolist())

# %% [markdown]
# ```{exercise} ★★ Program: freeze a part of a model
# :label: modules-freeze
# A trained model is often adapted to a new task by training only some of its layers. The others are frozen: with
# `p.requires_grad_(False)` a parameter `p` gets no gradients any more. Write `freeze(model, part)`, which freezes all parameters of the module with the name
# `part`, such as `'1'` or `'1.inner'`, and no others. The empty name `''` is the model itself.
# ```

# %%
def freeze(model, part):
    """Freeze the module with the name part in model: nn.Module, str -> None.

    freeze(net, '1.inner') freezes 1.inner.0.weight and three others.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def tower(n):
    return nn.Sequential(*[nn.Sequential(nn.Linear(1, 1), Residual(nn.Linear(1, 1))) for _ in range(n)])

def trained_still(model):
    return {name: p.requires_grad for name, p in model.named_parameters()}

def after(freezing, n, part):
    model = tower(n)
    freezing(model, part)
    return trained_still(model)

def by_module(n, part):
    model = tower(n)
    frozen = {id(p) for p in dict(model.named_modules())[part].parameters()}
    return {name: id(p) not in frozen for name, p in model.named_parameters()}

freeze_cases = dict(n=on(12) | integers(1, 12), part=lambda n: on('', str(n // 11)) | on(*dict(tower(n).named_modules())))
grade(lambda n, part: after(freeze, n, part), by_module, tries=60, **freeze_cases)

# %% [markdown]
# ```{solution-start} modules-freeze
# :class: dropdown
# ```
# `model.get_submodule(part)` goes the way that the name describes. The wrong answers compare the beginnings of names, so that
# module 1 takes modules 10 and 11 with it; freeze only the module's own parameters; and freeze the whole model.

# %% jupyter={"source_hidden": true}
def freeze_solution(model, part):
    for p in model.get_submodule(part).parameters():
        p.requires_grad_(False)

def by_beginnings(model, part):
    for name, p in model.named_parameters():
        if name.startswith(part):
            p.requires_grad_(False)

def own_alone(model, part):
    for p in model.get_submodule(part).parameters(recurse=False):
        p.requires_grad_(False)

def everything(model, part):
    model.requires_grad_(False)

assert grade(lambda n, part: after(freeze_solution, n, part), by_module, tries=60, **freeze_cases)
assert not grade(lambda n, part: after(by_beginnings, n, part), by_module, tries=60, **freeze_cases)
assert not grade(lambda n, part: after(own_alone, n, part), by_module, tries=60, **freeze_cases)
assert not grade(lambda n, part: after(everything, n, part), by_module, tries=60, **freeze_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def random_rows(seed, n, d):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))

def with_slopes(seed, n, layer, sign=1):  # the outputs and the gradients of the slopes
    with torch.no_grad():
        layer.weight.copy_(random_rows(seed + 1, 1, len(layer.weight))[0])
    h = layer(sign * random_rows(seed, n, len(layer.weight)))
    h.square().sum().backward()
    return h.detach(), layer.weight.grad

def alike(one, other):
    return all(close(a, b) for a, b in zip(one, other, strict=True))

verify(
    'Leaky is nn.PReLU, in its outputs and in the gradients of its slopes',
    lambda seed, n, m: alike(with_slopes(seed, n, Leaky(m)), with_slopes(seed, n, nn.PReLU(m))),
    slip=('gives the slope to positive numbers',
          lambda seed, n, m: alike(with_slopes(seed, n, Leaky(m), -1), with_slopes(seed, n, nn.PReLU(m)))),
    seed=seeds(), n=integers(1, 5), m=integers(1, 4), tries=30,
)
def standard(seed, n):
    rows = random_rows(seed, n, 3)
    return Standardize(rows)(rows), rows.std(0)

verify(
    'Standardize gives its data mean 0, and divides by their deviation and 0.1 more',
    lambda seed, n: close(standard(seed, n)[0].mean(0), [0, 0, 0]) and close(
        standard(seed, n)[0].std(0) * (standard(seed, n)[1] + 0.1), standard(seed, n)[1]),
    slip=('forgets the 0.1', lambda seed, n: close(standard(seed, n)[0].std(0), [1, 1, 1])),
    seed=seeds(), n=integers(2, 6), tries=30,
)

# %% tags=["checks"]
def gradients_when(seed, sharing):  # of a weight with two uses, and of the weights of each use
    torch.manual_seed(seed)
    one, two = nn.Linear(3, 3), nn.Linear(3, 3)
    if sharing:
        two.weight = one.weight
    else:
        two.load_state_dict({'weight': one.weight, 'bias': two.bias})
    two(one(random_rows(seed, 4, 3)).relu()).square().sum().backward()
    return one.weight.grad, two.weight.grad

def is_sum(seed, terms):
    return close(gradients_when(seed, True)[0], sum(gradients_when(seed, False)[:terms]))

verify(
    'the gradient of a tied weight is the sum of the gradients of its uses',
    lambda seed: is_sum(seed, 2),
    slip=('takes the first use alone', lambda seed: is_sum(seed, 1)),
    seed=seeds(), tries=20,
)

def changed_by_training(seed, names):
    torch.manual_seed(seed)
    rows = random_rows(seed, 6, 3)
    model = nn.Sequential(Standardize(rows), nn.Linear(3, 2), Leaky(2))
    before = {name: v.clone() for name, v in model.state_dict().items()}
    model(rows).square().sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    return {name for name, v in model.state_dict().items() if not torch.equal(v, before[name])} == names

verify(
    'a step of an optimizer changes the parameters and leaves the buffers',
    lambda seed: changed_by_training(seed, {'1.weight', '1.bias', '2.weight'}),
    slip=('lets it change the buffers',
          lambda seed: changed_by_training(seed, {'0.mean', '0.std', '1.weight', '1.bias', '2.weight'})),
    seed=[0, 1, 2],
)

# %% [markdown]
# ## Your own Module: registration, names, calls and hooks
#
# What does `nn.Module` do behind the scenes? We write it in three short steps, each a class that extends the one before.
#
# **Registration.** Python calls `__setattr__` at every assignment to an attribute, such as `self.inner = inner`. Our version looks at
# the value. A parameter or a module is entered in a dictionary under the name of the attribute. A list is neither, so it is not entered. The
# dictionaries themselves have to exist before the first assignment. Therefore `vars(self)` stores them without `__setattr__`.

# %%
class Registry:
    def __init__(self):
        vars(self).update(_parameters={}, _buffers={}, _modules={}, _hooks=[])

    def __setattr__(self, name, value):
        if isinstance(value, nn.Parameter):
            self._parameters[name] = value
        elif isinstance(value, Registry):
            self._modules[name] = value
        elif name in self._buffers:
            self._buffers[name] = value
        super().__setattr__(name, value)

    def register_buffer(self, name, tensor):
        self._buffers[name] = tensor
        setattr(self, name, tensor)

# %% [markdown]
# A class that forgets `super().__init__()` does not have the dictionaries, so its first layer cannot be entered. PyTorch says so:

# %%
class Forgetful(nn.Module):
    def __init__(self):
        self.out = nn.Linear(2, 1)

try:
    Forgetful()
except AttributeError as error:
    print(error)

# %% [markdown]
# **Names.** `named_modules` walks through the tree, and each module puts its name in front of the names of its children. The
# state dictionary has all parameters and buffers, under all their names. `named_parameters` has each parameter once, under its first name.

# %%
class Tree(Registry):
    def named_modules(self, way=''):
        yield way, self
        for name, child in self._modules.items():
            yield from child.named_modules(f'{way}{name}.')

    def state_dict(self):
        state = {}
        for way, m in self.named_modules():
            for name, tensor in (m._parameters | m._buffers).items():
                state[way + name] = tensor.detach()
        return state

    def named_parameters(self):
        first = {}                      # parameter -> its first name
        for way, m in self.named_modules():
            for name, p in m._parameters.items():
                first.setdefault(p, way + name)
        return [(name, p) for p, name in first.items()]

    def parameters(self):
        return [p for _, p in self.named_parameters()]

# %% [markdown]
# **Calls and hooks.** Python turns `model(x)` into a call of `__call__`. This calls first `forward` and then the **forward hooks**. A hook is
# a function that you have attached to the module. It sees the module, the inputs and the output, and it may replace the output.

# %%
class Module(Tree):
    training = True

    def __call__(self, *inputs):
        output = self.forward(*inputs)
        for hook in self._hooks:
            changed = hook(self, inputs, output)
            output = output if changed is None else changed
        return output

    def register_forward_hook(self, hook):
        self._hooks.append(hook)

    def train(self, mode=True):
        for _, m in self.named_modules():
            m.training = mode
        return self

    def eval(self):
        return self.train(False)

# %% [markdown]
# Is it the same as PyTorch's? We build a small tree with a buffer and a tied weight, once from each base class:

# %%
def build(base):
    root, pair, first, second = base(), base(), base(), base()
    first.weight = nn.Parameter(torch.ones(8, 8))
    second.weight = first.weight        # tied
    pair.first, pair.second = first, second
    root.pair = pair
    root.register_buffer('mean', X_train.mean(0))
    return root

# %%
for base in (Module, nn.Module):
    model = build(base)
    print('parameters:', *[name for name, _ in model.named_parameters()])
    print('state:     ', *model.state_dict())

# %% [markdown]
# The names are the same. We have also compared random trees: the tensors, the outputs and the modes agree. PyTorch's version does
# more. For example, it checks what you assign, it moves modules to other devices, and its `register_forward_hook` returns a handle that removes
# the hook.
#
# ### Call the model, not its forward
#
# `model.forward(x)` gives the same output as `model(x)`, as long as there are no hooks. But
# it leaves out the hooks of `model`:

# %%
class Double(nn.Module):
    def forward(self, x):
        return 2 * x

seen, model = [], Double()
model.register_forward_hook(lambda m, inputs, output: seen.append(output))
print(model(3), model.forward(4), 'the hook has seen', seen)

# %% tags=["checks"]
def kit(base):
    class Linear(base):
        def __init__(self, d, m):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(m, d) / d**0.5)
            self.bias = nn.Parameter(torch.zeros(m))

        def forward(self, x):           # (n, d)
            return x @ self.weight.T + self.bias

    class Chain(base):
        def __init__(self, *layers):
            super().__init__()
            for i, layer in enumerate(layers):
                setattr(self, str(i), layer)

        def forward(self, x):
            for i in range(len(self._modules)):
                x = getattr(self, str(i))(x)
            return x
    return Linear, Chain

def random_pair(seed):  # the same tree on both bases, with a buffer and, for every other seed, a tied weight
    models = []
    for base in (Module, nn.Module):
        Linear, Chain = kit(base)
        torch.manual_seed(seed)
        layers = [Linear(3, 3) for _ in range(4)]
        if seed % 2:
            layers[3].weight = layers[0].weight
        if seed % 3:
            deep = Chain(Chain(layers[0], layers[1]), layers[2])
        else:
            deep = Chain(layers[0], Chain(Chain(layers[1], layers[2])))
        deep.register_buffer('scale', torch.rand(3))
        models.append(Chain(deep, layers[3]))
    return models

def same_tensors(one, other):
    return list(one) == list(other) and all(torch.equal(one[name], other[name]) for name in one)

def same_everywhere(seed, found):
    return same_tensors(*[dict(found(model)) for model in random_pair(seed)])

verify(
    'the state dictionaries of both bases have the same names and tensors, in the same order',
    lambda seed: same_everywhere(seed, lambda model: model.state_dict()),
    slip=('compares the state with the parameters', lambda seed: same_tensors(
        random_pair(seed)[0].state_dict(), dict(random_pair(seed)[1].named_parameters()))),
    seed=integers(0, 99), tries=20,
)
verify(
    'both bases have the same parameters, a tied one once',
    lambda seed: same_everywhere(seed, lambda model: model.named_parameters()),
    slip=('counts a tied one under each name', lambda seed: same_tensors(
        dict(random_pair(seed)[0].named_parameters()), dict(random_pair(seed)[1].named_parameters(remove_duplicate=False)))),
    seed=integers(0, 99), tries=20,
)

# %% tags=["checks"]
def after_a_step(model, lr):
    x = random_rows(0, 5, 3)
    model(x).square().sum().backward()
    torch.optim.SGD(model.parameters(), lr=lr).step()
    return model(x).detach()

verify(
    'both bases give the same outputs, also after a step of an optimizer',
    lambda seed, lr: torch.equal(*[after_a_step(model, lr) for model in random_pair(seed)]),
    slip=('takes the step for one of them only', lambda seed, lr: torch.equal(
        *[after_a_step(model, rate) for model, rate in zip(random_pair(seed), (lr, 0))])),
    seed=integers(0, 99), lr=[0.01, 0.1], tries=20,
)

def modes_after(model, change):
    getattr(model, change)()
    return [m.training for _, m in model.named_modules()]

verify(
    'train and eval reach all modules of both bases',
    lambda seed, change: modes_after(random_pair(seed)[0], change) == modes_after(random_pair(seed)[1], change)
    == [change == 'train'] * 7,
    slip=('expects the other mode',
          lambda seed, change: modes_after(random_pair(seed)[0], change) == [change != 'train'] * 7),
    seed=[1, 2, 4, 5], change=['train', 'eval'],
)

# %% tags=["checks"]
def with_hooks(model, hooks, x):
    for hook in hooks:
        model.register_forward_hook(hook)
    return model(x)

verify(
    'hooks of both bases see the output and may replace it, one after the other',
    lambda seed, factor: torch.equal(*[
        with_hooks(model, [lambda m, inputs, output: factor * output, lambda m, inputs, output: output + inputs[0]],
                   random_rows(seed, 2, 3)) for model in random_pair(seed)]),
    slip=('calls forward in place of the model', lambda seed, factor: torch.equal(*[
        model.forward(random_rows(seed, 2, 3)) if base else with_hooks(
            model, [lambda m, inputs, output: factor * output], random_rows(seed, 2, 3))
        for base, model in enumerate(random_pair(seed))])),
    seed=integers(0, 99), factor=[0, 2, -1], tries=20,
)
def hook_sees(base, calls):
    class Twice(base):
        def forward(self, x):
            return 2 * x
    model, found = Twice(), []
    model.register_forward_hook(lambda m, inputs, output: found.append(output))
    model(3)
    model.forward(4)
    return found == calls

verify(
    'a hook is called by model(x) and not by model.forward(x)',
    lambda base: hook_sees(base, [6]) and seen == [6],
    slip=('expects a call for each of the two ways', lambda base: hook_sees(base, [6, 8])),
    base=[Module, nn.Module],
)

def kinds_of_error(base):
    class Without(base):
        def __init__(self):
            self.out = kit(base)[0](2, 1)
    try:
        Without()
    except AttributeError:
        return True
    return False

verify(
    'without super().__init__() neither base takes a layer',
    lambda base: kinds_of_error((Module, nn.Module)[base]),
    slip=('expects it of a plain class', lambda base: kinds_of_error((Module, object)[base])),
    base=[0, 1],
)

# %% [markdown]
# ## A real model: its module tree, shapes by hooks, sizes on the meta device
#
# The first network of the face detector MTCNN {cite}`zhang2016joint` looks at a picture through a window of $12 \times 12$ pixels. It moves the window
# over the whole picture, two pixels at a time. `nn.Conv2d(3, 10, 3)` is a convolution, the subject of the next chapter. Here it is enough to know that it makes 10
# numbers out of each window of $3 \times 3$ pixels in 3 colours. At the end, two layers with the same input say whether there is a face and where
# its sides are. So the model is not a chain, and it needs a `forward`:

# %%
class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(OrderedDict(
            conv1=nn.Conv2d(3, 10, 3), prelu1=nn.PReLU(10),
            pool1=nn.MaxPool2d(2, ceil_mode=True),
            conv2=nn.Conv2d(10, 16, 3), prelu2=nn.PReLU(16),
            conv3=nn.Conv2d(16, 32, 3), prelu3=nn.PReLU(32)))
        self.score = nn.Conv2d(32, 2, 1)
        self.sides = nn.Conv2d(32, 4, 1)

    def forward(self, picture):         # (n, 3, height, width)
        h = self.body(picture)
        return self.score(h), self.sides(h)

# %% [markdown]
# The stored weights have names such as `conv1.weight`. In our tree this parameter is called `body.conv1.weight`, so we rename:

# %% tags=["hide-input"]
def renamed(name):
    if name.startswith('conv4'):
        return name.replace('conv4_1', 'score').replace('conv4_2', 'sides')
    return 'body.' + name

weights = data.face_detector()
detector = Detector().eval()
print(detector.load_state_dict({renamed(name): torch.tensor(w) for name, w in weights.items()}))
print('parameters:', sum(p.numel() for p in detector.parameters()))

# %% [markdown]
# `load_state_dict` raises an error if a name is missing or unknown, or if a shape is wrong.
#
# ### A forward hook that prints shapes
#
# Which shape does the output of each layer have? We attach a hook to every module without children, compute once, and remove the hooks. First we make the
# portrait six times smaller, so that the face fits into the window. Its values are scaled as in the training of the detector.

# %%
def shapes(model, *inputs):
    name_of = {m: name for name, m in model.named_modules()}
    rows = []
    def note(m, inputs, output):
        rows.append((name_of[m], tuple(inputs[0].shape), tuple(output.shape)))
    leaves = [m for m in model.modules() if not list(m.children())]
    handles = [m.register_forward_hook(note) for m in leaves]
    with torch.no_grad():
        model(*inputs)
    for handle in handles:
        handle.remove()
    return rows

# %%
photo = torch.tensor(data.portrait()).permute(2, 0, 1)[None] * 255
picture = (F.avg_pool2d(photo, 6) - 127.5) / 128       # (1, 3, 42, 42)
for name, given, output in shapes(detector, picture):
    print(f'{name:12} {str(given):17} -> {output}')

# %% [markdown]
# Each convolution with $3 \times 3$ windows takes two rows and two columns away, and `pool1`, which takes the maximum of $2 \times 2$ numbers, halves
# both sizes. So in the end there are $16 \times 16$ windows with two scores each: one against a face and one for it. A softmax makes probabilities of
# them. We print the row and the column of the window where a face is most probable:

# %% tags=["hide-input"]
with torch.no_grad():
    score, sides = detector(picture)
chance = score.softmax(1)[0, 1]                          # (16, 16) of a face
row, column = divmod(chance.argmax().item(), 16)
print(f'window {row}, {column}: probability of a face {chance[row, column]:.2f}')

# %% mystnb={"image": {"alt": "Left: a tree of text with the root Detector and its children body: Sequential, score: Conv2d and sides: Conv2d; under body stand conv1, prelu1, pool1, conv2, prelu2, conv3 and prelu3. Behind each layer stands the shape of its output. Right: the portrait of an astronaut with a square frame round her eyes, nose and mouth."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3.1, width_ratios=[1.35, 1])
outputs = {name: ' × '.join(map(str, output[1:])) for name, given, output in shapes(detector, picture)}
draw_tree(left, detector, outputs)
left.set_xlim(-0.05, 3.6)
show_image(right, data.portrait()[::2, ::2], extent=(0, 256, 256, 0))
right.add_patch(plt.Rectangle((12 * column, 12 * row), 72, 72, fill=False, ec='C1', lw=2.5));

# %% [markdown] tags=["caption"]
# Left: the modules of a trained face detector, and the shape of each output (channels, rows, columns), as the hook has
# seen it. Right: the window where a face is most probable, $6 \cdot 12 = 72$ pixels wide.

# %% [markdown]
# ### Seven billion parameters without memory: the meta device
#
# How large is a model that you cannot load? On the device `meta` tensors have a shape and a type, but no numbers and no
# memory. We build the smallest LLaMA {cite}`touvron2023llama`, a language model, there. Each of its $L = 32$ blocks has four matrices of
# $d \times d$ for attention, three of $d \times m$, and two vectors of length $d$ for normalization, with $d = 4096$ and $m = 11008$.

# %%
def block(d, m):
    sizes = [(d, d)] * 4 + [(d, m)] * 2 + [(m, d)]
    matrices = [nn.Linear(a, b, bias=False) for a, b in sizes]
    return nn.ModuleList([*matrices, nn.RMSNorm(d), nn.RMSNorm(d)])

def llama(V, d, m, L):                  # the modules only, without forward
    tokens, scores = nn.Linear(V, d, bias=False), nn.Linear(d, V, bias=False)
    blocks = [block(d, m) for _ in range(L)]
    return nn.Sequential(tokens, *blocks, nn.RMSNorm(d), scores)

# %% [markdown]
# There are $V = 32\,000$ different tokens. A matrix turns each token into a vector of length $d$, and another one of the same size gives the scores of the
# next token. One more vector of length $d$ normalizes the output of the last block. So the number of parameters is
#
# ```{math}
# :label: modules-count
# P = 2 V d + L\,(4 d^2 + 3 d m + 2 d) + d .
# ```

# %%
with torch.device('meta'):
    model = llama(V=32_000, d=4096, m=11_008, L=32).bfloat16()   # 2 bytes each
V, d, m, L = 32_000, 4096, 11_008, 32
print(f'modules: {sum(p.numel() for p in model.parameters()):,}')
print(f'formula: {2*V*d + L * (4*d**2 + 3*d*m + 2*d) + d:,}')
print(f'memory: {sum(p.nbytes for p in model.parameters()) / 1e9:.1f} GB')

# %% [markdown]
# The parameters alone would fill 13.5 gigabytes. On the meta device nothing was allocated for them. Their shapes can be
# counted and compared, but there are no numbers to compute with.
#
# ```{exercise} ★ Pencil: count before you build
# :label: modules-pencil
# A network consists of `nn.Linear(d, m)`, then $L \ge 1$ residual blocks, then `nn.Linear(m, q)`. Each block contains `nn.Linear(m, r)`,
# `nn.ReLU()` and `nn.Linear(r, m)`. How many parameters has the network? How many does it have if one block is made and used at all
# $L$ places? Write the answer as `count(d, m, r, q, L, shared)`.
# ```

# %%
def count(d, m, r, q, L, shared):
    """The number of parameters: ints >= 1 and a bool -> int.

    count(64, 32, 16, 10, 1, False) is 3482, as for the first network.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_building(d, m, r, q, L, shared):
    def block():
        return Residual(nn.Sequential(nn.Linear(m, r), nn.ReLU(), nn.Linear(r, m)))
    with torch.device('meta'):
        blocks = [block()] * L if shared else [block() for _ in range(L)]
        model = nn.Sequential(nn.Linear(d, m), *blocks, nn.Linear(m, q))
    return sum(p.numel() for p in model.parameters())

sizes = integers(1, 5)
count_cases = dict(d=sizes, m=sizes, r=sizes, q=sizes, L=integers(1, 4), shared=[False, True])
grade(count, by_building, tries=60, **count_cases)

# %% [markdown]
# ```{solution-start} modules-pencil
# :class: dropdown
# ```
# A layer `nn.Linear(a, b)` has $ab$ weights and $b$ biases. A block has $2mr + r + m$ parameters. They
# count $L$ times, or once if the block is shared, because a module that occurs at several places has its parameters only once. The wrong
# answers forget the biases, count a shared block $L$ times, and forget the two outer layers.

# %% jupyter={"source_hidden": true}
def count_solution(d, m, r, q, L, shared):
    block = 2 * m * r + r + m
    return d * m + m + (block if shared else L * block) + m * q + q

def without_biases(d, m, r, q, L, shared):
    return d * m + (1 if shared else L) * 2 * m * r + m * q

def each_time(d, m, r, q, L, shared):
    return d * m + m + L * (2 * m * r + r + m) + m * q + q

def blocks_alone(d, m, r, q, L, shared):
    return (1 if shared else L) * (2 * m * r + r + m)

assert grade(count_solution, by_building, tries=60, **count_cases)
assert not grade(without_biases, by_building, tries=60, **count_cases)
assert not grade(each_time, by_building, tries=60, **count_cases)
assert not grade(blocks_alone, by_building, tries=60, **count_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
verify(
    'all parameters of the large model are on the device meta',
    lambda some: {p.device.type for p in (some or model).parameters()} == {'meta'},
    slip=('says so of the detector', lambda some: {p.device.type for p in (some or detector).parameters()} == {'meta'}),
    some=[None],
)

def seen_shapes(n, height, width):
    picture = torch.zeros(n, 3, height, width)
    return [(name, output) for name, given, output in shapes(detector, picture)]

def computed_shapes(n, height, width, rounded):
    sizes = [[height, width]]
    for change in (lambda v: v - 2, lambda v: v, lambda v: -(-v // 2) if rounded else v // 2,
                   lambda v: v - 2, lambda v: v, lambda v: v - 2, lambda v: v, lambda v: v):
        sizes.append([change(v) for v in sizes[-1]])
    names = [*[f'body.{name}' for name in 'conv1 prelu1 pool1 conv2 prelu2 conv3 prelu3'.split()], 'score', 'sides']
    channels = [10, 10, 10, 16, 16, 32, 32, 2, 4]
    return [(name, (n, c, *size)) for name, c, size in zip(names, channels, [*sizes[1:], sizes[-1]], strict=True)]

verify(
    'the hook sees the shapes of a 3 × 3 window and of a halving that is rounded up',
    lambda n, height, width: seen_shapes(n, height, width) == computed_shapes(n, height, width, True),
    slip=('rounds down', lambda n, height, width: seen_shapes(n, height, width) == computed_shapes(n, height, width, False)),
    n=[1, 2], height=integers(12, 20), width=integers(12, 20), tries=20,
)
def on_the_face(moved):
    top, left = 12 * row, 12 * column + moved
    return 20 <= top and top + 72 <= 116 and 60 <= left and left + 72 <= 156

verify(
    'the window with the highest score lies on the face, rows 20 to 116 and columns 60 to 156 of the portrait',
    lambda moved: on_the_face(moved),
    slip=('takes it for further to the right', lambda moved: on_the_face(moved + 48)),
    moved=[0],
)

def layers_alone(layer, bias=1):  # the scores by the functions of the library in place of the modules
    w = {name: torch.tensor(v).double() for name, v in weights.items()}
    h = picture
    for i in (1, 2, 3):
        h = F.prelu(F.conv2d(h, w[f'conv{i}.weight'], bias * w[f'conv{i}.bias']), w[f'prelu{i}.weight'])
        h = F.max_pool2d(h, 2, ceil_mode=True) if i == 1 else h
    return F.conv2d(h, w[f'{layer}.weight'], w[f'{layer}.bias'])

verify(
    'the detector computes what the functions of the library compute from the stored weights',
    lambda layer: close((score, sides)[layer == 'conv4_2'], layers_alone(layer)),
    slip=('forgets the biases', lambda layer: close((score, sides)[layer == 'conv4_2'], layers_alone(layer, 0))),
    layer=['conv4_1', 'conv4_2'],
)

# %% [markdown]
# ## Summary
#
# The class of a module has an `__init__` that stores layers and parameters, and a `forward` that computes. Modules in
# modules form a tree, and the way through the tree is the name of a parameter. A parameter or module is registered when it is assigned to an attribute,
# so layers in a plain list are neither counted nor trained nor saved. Buffers are saved but not trained, and a tied parameter is
# one parameter with several names. Call `model(x)` so that the hooks are called, and build on the meta device what is too large for memory.
#
# **Further reading.** {cite:t}`zhang2023dive`, chapter 6, introduces modules with more small examples. {cite:t}`paszke2019pytorch` explain why PyTorch's models are
# ordinary Python programs. The source of `torch/nn/modules/module.py` is long but readable: look for `__setattr__`.
