# ---
# jupyter:
#   book:
#     functions:
#       forward: "forward(normal(5, 3), (normal(5) > 0).long(), normal(3, 4), normal(4), normal(4, 2), normal(2), 0.1)[0]"
#       backward: "list(backward({'X': normal(5, 3), 'h': normal(5, 4), 'log_p': normal(5, 2)}, (normal(5) > 0).long(), normal(3, 4), normal(4, 2), 0.1).values())"
#       operations: "len(operations(normal(4).requires_grad_().exp().sum()))"
#       address: "address(normal(3)) > 0"
#       saved_tensors: "saved_tensors(lambda: normal(4).requires_grad_().exp(), [])"
#     main: fp-objective
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Forward propagation
#
# A small network for handwritten digits has 50,890 parameters, which take 0.41 MB. When it computes its loss on 4000
# pictures, in order to learn from them, PyTorch keeps another 2.37 MB of intermediate results. When it only predicts,
# PyTorch can forget all of them. Which results are kept, and what are they needed for?
#
# - **You need** [hidden layers](hidden_layers.ipynb), [cross-entropy](../classification/cross_entropy.ipynb),
#   [weight decay](../regression/weight_decay.ipynb) and
#   [automatic differentiation](../calculus/automatic_differentiation.ipynb).
# - **You build** the forward pass of a network with weight decay, a picture of its computational graph, and a count of the
#   bytes and of the operations that it costs, each equal to PyTorch's.
# - **Runs in** 5 seconds. All tensors are float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import weakref
from functools import cache
from itertools import count, product

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from nbutils import data
from nbutils.cases import integers, lists, on, scalars, seeds
from nbutils.checks import close, grade, holds, verify
from nbutils.figures import GREY, label_lines, panels

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
torch.set_printoptions(precision=2, sci_mode=False)
plt.style.use('nbutils.book')

# %% [markdown]
# ## Forward propagation: from the input to the objective
#
# We begin with a network that is small enough for a sheet of paper: two inputs, three hidden units, two classes. The
# input is a row, and each weight matrix has one column for each unit of the next layer.

# %%
x = torch.tensor([[1.0, 2.0]])                               # (1, 2)
W_1 = torch.tensor([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])     # (2, 3)
b_1 = torch.tensor([0.0, 0.0, 1.0])                          # (3,)
W_2 = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])     # (3, 2)
b_2 = torch.tensor([1.0, -1.0])                              # (2,)

# %%
z = x @ W_1 + b_1                # pre-activations
h = z.relu()                     # hidden layer: max(z, 0)
o = h @ W_2 + b_2                # scores
p = o.softmax(1)                 # probabilities of the two classes
for name, row in ('z', z), ('h', h), ('o', o), ('p', p):
    print(name, row[0])

# %% [markdown]
# Suppose that the second class is the right one. The network gives it the probability 0.27, so its loss is $-\log 0.27$.
# Training with [weight decay](../regression/weight_decay.ipynb) adds a penalty for large weights, here with the strength
# $\lambda = 0.1$:

# %%
loss = -p[0, 1].log()
penalty = 0.1 / 2 * ((W_1**2).sum() + (W_2**2).sum())
print(f'loss {loss:.2f} + penalty {penalty:.2f}'
      f' = objective {loss + penalty:.2f}')

# %% mystnb={"image": {"alt": "Circles in three columns: inputs 1 and 2, hidden units 1, 1 and 0, scores 2 and 1. Lines between neighbouring columns carry the weights. The lines from the third hidden unit are dashed. Below the columns stand x (1 by 2), W1 (2 by 3), h (1 by 3), W2 (3 by 2), o (1 by 2)."}} tags=["hide-input"]
def draw_values(ax, columns, weights, names):
    spots = [[(2.4 * k, (len(values) - 1) / 2 - i) for i in range(len(values))] for k, values in enumerate(columns)]
    for k, W in enumerate(weights):
        for i, j in product(range(W.shape[0]), range(W.shape[1])):
            (x, y), (u, v) = spots[k][i], spots[k + 1][j]
            if W[i, j] != 0:
                off = columns[k][i] == 0
                away = 0.25 * np.array([u - x, v - y]) / np.hypot(u - x, v - y)
                ax.plot([x + away[0], u - away[0]], [y + away[1], v - away[1]], ls='--' if off else '-',
                        color=GREY if off else 'C0', lw=1.2)
                at = 0.3 if k else 0.7
                words = f'{W[i, j]:.0f}'.replace('-', '−')
                ax.text(x + at * (u - x), y + at * (v - y) + 0.09, words, fontsize=8, ha='center')
    for values, places in zip(columns, spots, strict=True):
        for value, (x, y) in zip(values, places, strict=True):
            ax.add_patch(plt.Circle((x, y), 0.25, fc='none', ec='C1', lw=1.5))
            ax.text(x, y, f'{value:.0f}', ha='center', va='center', fontsize=9)
    for k, name in enumerate(names):
        ax.text(1.2 * k, -1.75, name, ha='center', fontsize=9)
    ax.set(xlim=(-0.9, 5.7), ylim=(-1.9, 1.4), aspect='equal')
    ax.axis('off')

fig, ax = plt.subplots(figsize=(5.6, 2.8))
draw_values(ax, [x[0], h[0], o[0]], [W_1, W_2],
            ['$\\mathbf{x}$: 1 × 2', '$\\mathbf{W}^{(1)}$: 2 × 3', '$\\mathbf{h}$: 1 × 3',
             '$\\mathbf{W}^{(2)}$: 3 × 2', '$\\mathbf{o}$: 1 × 2'])

# %% [markdown] tags=["caption"]
# The values in the circles are computed from left to right. The number on a line is a weight. Lines of weight zero and the biases
# are not drawn. The third hidden unit is zero, so it passes nothing on (dashed).

# %% [markdown]
# Here is the same computation for every network with one hidden layer. Let $\phi$ be the activation, here ReLU, $y$ the number
# of the right class, $p_y$ its probability, $\ell$ the loss of this example, and $\lVert\cdot\rVert_F^2$ the sum of all
# squared entries of a matrix:
#
# ```{math}
# :label: fp-objective
# \begin{aligned}
# \mathbf{z} &= \mathbf{x}\mathbf{W}^{(1)} + \mathbf{b}^{(1)} , \\
# \mathbf{h} &= \phi(\mathbf{z}) , \\
# \mathbf{o} &= \mathbf{h}\mathbf{W}^{(2)} + \mathbf{b}^{(2)} , \\
# \mathbf{p} &= \operatorname{softmax}(\mathbf{o}) , \\
# \ell &= -\log p_y , \\
# J &= \ell + \frac{\lambda}{2} \big( \lVert\mathbf{W}^{(1)}\rVert_F^2 + \lVert\mathbf{W}^{(2)}\rVert_F^2 \big) .
# \end{aligned}
# ```
#
# The number $J$ is the **objective**: it is what training makes small. The biases are not penalized. Everything between the
# input and $J$ is an **intermediate result**.
#
# (dl.forward.definition)=
# **Forward propagation**, or the **forward pass**, computes and stores the intermediate results of a network, its outputs
# included, in order from the input layer to the output layer. They are stored because the gradient needs some of
# them later.
#
# ### A batch, and its shapes
#
# For a batch of $n$ examples we put the rows under each other, in a matrix $\mathbf{X}$. The formulas stay the same. Each row
# of $\mathbf{z}$, $\mathbf{h}$, $\mathbf{o}$ and $\mathbf{p}$ belongs to one example, and the biases are added to each row.
# The loss $\mathcal{L}$ of the batch is the mean of the losses of its examples, and it takes the place of $\ell$.
#
# | formula | code | shape | what it is |
# |---|---|---|---|
# | $\mathbf{X}$ | `X` | $n \times d$ | inputs |
# | $\mathbf{W}^{(1)}$, $\mathbf{b}^{(1)}$ | `W_1`, `b_1` | $d \times m$, $1 \times m$ | parameters of the hidden layer |
# | $\mathbf{z}$, $\mathbf{h}$ | `z`, `h` | $n \times m$ | pre-activations, hidden layer |
# | $\mathbf{W}^{(2)}$, $\mathbf{b}^{(2)}$ | `W_2`, `b_2` | $m \times q$, $1 \times q$ | parameters of the output layer |
# | $\mathbf{o}$, $\log \mathbf{p}$ | `o`, `log_p` | $n \times q$ | scores, logarithms of the probabilities |
# | $\mathcal{L}$, $J$ | `loss`, `J` | one number | loss, objective |
#
# The function below returns the objective together with a **cache**, a dictionary of the intermediate results and of the
# inputs. It computes $\log \mathbf{p}$ in one step by `log_softmax`, which does not overflow if the scores are large.

# %%
def forward(X, y, W_1, b_1, W_2, b_2, lam):
    z = X @ W_1 + b_1                        # (n, d) -> (n, m)
    h = z.relu()                             # (n, m)
    o = h @ W_2 + b_2                        # (n, q)
    log_p = o.log_softmax(1)                 # (n, q)
    loss = -log_p[torch.arange(len(y)), y].mean()
    J = loss + lam / 2 * ((W_1**2).sum() + (W_2**2).sum())
    return J, {'X': X, 'z': z, 'h': h, 'o': o, 'log_p': log_p}

# %% [markdown]
# We run it on 4000 handwritten digits of MNIST {cite}`lecun1998gradient`, pictures of $28 \times 28$ pixels, with 64
# hidden units. The weights are random, because the shapes do not depend on them.

# %%
digits = data.mnist('train')
X, y = torch.tensor(digits.x), torch.tensor(digits.y)  # (4000, 784), (4000,)
g = torch.Generator().manual_seed(0)
W_1, b_1 = torch.randn(784, 64, generator=g) / 28, torch.zeros(64)
W_2, b_2 = torch.randn(64, 10, generator=g) / 8, torch.zeros(10)
parameters = [W_1, b_1, W_2, b_2]
J, entries = forward(X, y, *parameters, 1e-3)
for name, values in entries.items():
    print(f'{name:6}{tuple(values.shape)!s:12} {values.nbytes / 1e6:5.2f} MB')

# %%
numbers = sum(p.numel() for p in parameters)
print(f'{numbers} parameters, {numbers * 8 / 1e6:.2f} MB')

# %% [markdown]
# A number in float64 takes 8 bytes. The hidden layer takes 2.05 MB, five times the 0.41 MB of all parameters, because it has
# 64 numbers for each of 4000 examples.
#
# ```{exercise} ★★ Program: the objective of any number of layers
# :label: fp-layers
# Write `objective(X, y, Ws, bs, lam)` for an MLP with $L \ge 1$ layers, with ReLU after every layer but the last. It returns
# $J$ and the list $\mathbf{h}^{(1)}, \dots, \mathbf{h}^{(L-1)}, \log\mathbf{p}$.
# ```

# %%
def objective(X, y, Ws, bs, lam):
    """The objective J and the list [h_1, ..., h_(L-1), log_p].

    X: (n, d_0), y: (n,) of ints, Ws and bs: lists of L weights
    (d_(l-1), d_l) and biases (d_l,), lam: float >= 0.
    objective(x, torch.tensor([1]), [W_1, W_2], [b_1, b_2], 0.1)
    with the numbers of the small example has the J 1.86.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_modules(X, y, Ws, bs, lam):
    layers = []
    for W, b in zip(Ws, bs, strict=True):
        layers += [nn.Linear(*W.shape), nn.ReLU()]
        layers[-2].weight.data, layers[-2].bias.data = W.T, b
    found, model = [], nn.Sequential(*layers[:-1], nn.LogSoftmax(1))
    for part in model:
        if isinstance(part, (nn.ReLU, nn.LogSoftmax)):
            part.register_forward_hook(lambda part, _, value: found.append(value.detach()))
    loss = F.nll_loss(model(X), y)
    norms = [torch.linalg.matrix_norm(layer.weight) ** 2 for layer in layers if isinstance(layer, nn.Linear)]
    return (loss + lam * sum(norms) / 2).detach(), found

def drawn(shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).round(decimals=2)

def drawn_layers(widths, seed):
    return [drawn(pair, seed + k) for k, pair in enumerate(zip(widths, widths[1:], strict=False))]

widths = lists(on(2) | integers(1, 4), 2, 5)
objective_cases = dict(
    X=lambda Ws: integers(1, 5).flatmap(lambda n: seeds().map(lambda seed: drawn((n, len(Ws[0])), seed))),
    y=lambda X, Ws: seeds().map(lambda seed: torch.randint(
        Ws[-1].shape[1], (len(X),), generator=torch.Generator().manual_seed(seed))),
    Ws=widths.flatmap(lambda widths: seeds().map(lambda seed: drawn_layers(widths, seed))),
    bs=lambda Ws: seeds().map(lambda seed: [drawn((W.shape[1],), seed + k) for k, W in enumerate(Ws)]),
    lam=on(0.0) | scalars(0, 2),
)
grade(objective, by_modules, tries=60, **objective_cases)

# %% [markdown]
# ```{solution-start} fp-layers
# :class: dropdown
# ```
# Go through all layers but the last with ReLU and keep each result, then once without ReLU. The wrong answers penalize the
# biases, too, take the sum of the losses in place of their mean, and keep the pre-activations in place of the hidden layers.

# %% jupyter={"source_hidden": true}
def objective_solution(X, y, Ws, bs, lam):
    kept = [X]
    for W, b in zip(Ws[:-1], bs[:-1], strict=True):
        kept.append((kept[-1] @ W + b).clamp(min=0))
    log_p = (kept[-1] @ Ws[-1] + bs[-1]).log_softmax(1)
    loss = -log_p[torch.arange(len(y)), y].mean()
    return loss + lam / 2 * sum((W**2).sum() for W in Ws), [*kept[1:], log_p]

def biases_penalized(X, y, Ws, bs, lam):
    J, kept = objective_solution(X, y, Ws, bs, lam)
    return J + lam / 2 * sum((b**2).sum() for b in bs), kept

def sum_of_losses(X, y, Ws, bs, lam):
    J, kept = objective_solution(X, y, Ws, bs, lam)
    return J + (1 - len(y)) * kept[-1][torch.arange(len(y)), y].mean(), kept

def keeps_z(X, y, Ws, bs, lam):
    J, kept = objective_solution(X, y, Ws, bs, lam)
    before = [X, *kept[:-1]]
    return J, [a @ W + b for a, W, b in zip(before[:-1], Ws[:-1], bs[:-1], strict=True)] + kept[-1:]

assert grade(objective_solution, by_modules, tries=60, **objective_cases)
assert not grade(biases_penalized, by_modules, tries=60, **objective_cases)
assert not grade(sum_of_losses, by_modules, tries=60, **objective_cases)
assert not grade(keeps_z, by_modules, tries=60, **objective_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def random_case(seed, n, d, m, q):
    Ws = drawn_layers([d, m, q], seed)
    bs = [drawn((m,), seed + 7), drawn((q,), seed + 8)]
    y = torch.randint(q, (n,), generator=torch.Generator().manual_seed(seed))
    return drawn((n, d), seed + 9), y, [Ws[0], bs[0], Ws[1], bs[1]]

def library(X, y, W_1, b_1, W_2, b_2):
    return F.cross_entropy(F.linear(F.relu(F.linear(X, W_1.T, b_1)), W_2.T, b_2), y)

def is_objective(seed, lam, penalized, **sizes):
    X, y, net = random_case(seed, **sizes)
    penalty = lam / 2 * sum(torch.linalg.vector_norm(net[k]) ** 2 for k in penalized)
    return close(forward(X, y, *net, lam)[0], library(X, y, *net) + penalty)

sizes = dict(n=integers(1, 5), d=integers(1, 4), m=integers(1, 4), q=integers(1, 4))
verify(
    'the function forward gives the cross-entropy of the library plus the penalty of both weight matrices',
    lambda **case: is_objective(penalized=[0, 2], **case),
    slip=('penalizes the biases, too', lambda **case: is_objective(penalized=[0, 1, 2, 3], **case)),
    seed=integers(0, 10**6), lam=scalars(0, 2), **sizes, tries=60,
)

def of_a_batch(seed, combine, **sizes):
    X, y, net = random_case(seed, **sizes)
    one_by_one = torch.stack([forward(X[i:i + 1], y[i:i + 1], *net, 0.1)[0] for i in range(len(X))])
    return close(forward(X, y, *net, 0.1)[0], combine(one_by_one))

verify(
    'the objective of a batch is the mean of the objectives of its examples',
    lambda **case: of_a_batch(combine=torch.mean, **case),
    slip=('takes the sum', lambda **case: of_a_batch(combine=torch.sum, **case)),
    seed=integers(0, 10**6), **sizes, tries=60,
)

# %% [markdown]
# ## The computational graph: grad_fn and torch.export
#
# How does PyTorch know what was computed? With each result that depends on a parameter it stores a **node**, which names the
# operation and points to the nodes of its inputs. All nodes behind a result form its **computational graph**. We look at the
# graph of our network, written with the layers of the library. A module of our own is a class derived from `nn.Module`. If
# we call it like a function, its method `forward` runs:

# %%
class Objective(nn.Module):
    def __init__(self, model, lam):
        super().__init__()
        self.model, self.lam = model, lam

    def forward(self, X, y):
        loss = F.cross_entropy(self.model(X), y)
        W_1, W_2 = self.model[0].weight, self.model[2].weight
        return loss + self.lam / 2 * ((W_1**2).sum() + (W_2**2).sum())

# %%
model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
with torch.no_grad():                        # copy our weights
    for p, ours in zip(model.parameters(), (W_1.T, b_1, W_2.T, b_2)):
        p.copy_(ours)
with_decay = Objective(model, 1e-3)
print(f'ours {J:.4f}, library {with_decay(X, y).item():.4f}')

# %% [markdown]
# The node of a tensor is its field `grad_fn`. The field `next_functions` of a node lists the nodes of its inputs, with `None`
# for an input that wants no gradient, such as the pictures. So we can walk backwards through the graph. The function
# `operations` visits the inputs of a node before the node, so in its list each node comes after its inputs:

# %%
def operations(result):
    """All nodes behind a result, each after its inputs."""
    nodes = []
    def visit(node):
        if node is not None and node not in nodes:
            for before, _ in node.next_functions:
                visit(before)
            nodes.append(node)
    visit(result.grad_fn)
    return nodes

# %% [markdown]
# A node does not store the shape of its result. But during `backward()` each node receives the gradient with respect to its
# result, and this gradient has the same shape. A *hook* is a function that PyTorch calls when the gradient arrives. With a hook
# on each node we write the shapes down:

# %%
def shapes_of(result):                       # {node: shape of its result}
    shapes = {}
    for node in operations(result):
        def note(gradients, node=node):
            shapes[node] = tuple(gradients[0].shape)
        node.register_prehook(note)
    result.backward()
    return shapes

# %%
result = with_decay(X, y)
nodes, shapes = operations(result), shapes_of(result)

# %% tags=["hide-input"]
words = {  # PyTorch's names, of nodes and of exported operations, and ours
    'AccumulateGrad': 'parameter', 'T': 'transpose', 'Addmm': 'affine map', 'linear': 'affine map',
    'Relu': 'ReLU', 'relu': 'ReLU', 'LogSoftmax': 'log-softmax', 'NllLoss': 'cross-entropy',
    'cross_entropy_loss': 'cross-entropy',
    'Pow': 'square', 'pow': 'square', 'Sum': 'sum', 'sum': 'sum', 'Mul': 'multiply', 'mul': 'multiply',
    'Add': 'add', 'add': 'add'}

details = 'parameter', 'transpose', 'log-softmax'  # for autograd alone

def word(node):
    name = node.name().split('::')[-1].split('Backward')[0]
    return words.get(name, name)

# %% [markdown]
# PyTorch's own names of the nodes depend on its version, so we give them plain names. Here is the graph:

# %% mystnb={"image": {"alt": "Boxes with arrows. Down the second column: affine map (4000, 64), ReLU (4000, 64), affine map (4000, 10), log-softmax (4000, 10), cross-entropy, and at the bottom add, which is J. From the left a bias goes into each affine map. From the right each weight matrix goes into it through a transpose, and to the other side through a square and a sum. The two sums meet in an add, then multiply, then the last add."}} tags=["hide-input"]
spots = [(0, 3), (0, 1), (3, 1), (2, 1), (1, 1), (1, 2), (3, 3), (2, 3), (1, 3), (1, 4), (1, 5),
         (3, 2), (4, 2), (3, 4), (3, 5), (4, 5), (4, 6), (1, 6)]
place = dict(zip(nodes, spots, strict=True))
names = dict(zip(map(id, model.parameters()), ('$\\mathbf{W}^{(1)}$', '$\\mathbf{b}^{(1)}$', '$\\mathbf{W}^{(2)}$',
                                                 '$\\mathbf{b}^{(2)}$'), strict=True))
fig, ax = plt.subplots(figsize=(5.2, 4.6))
wide = {}  # letters in the longer line of a box
for node, (x, y_at) in place.items():
    leaf = hasattr(node, 'variable')
    label = names[id(node.variable)] if leaf else word(node)
    shape = str(shapes[node]).replace(',)', ')') if shapes[node] else '$J$' if node is nodes[-1] else ''
    wide[node] = max(len(shape), 0 if leaf else len(label))
    ax.text(x, -y_at, f'{label}\n{shape}'.strip(), ha='center', va='center', fontsize=8, linespacing=1.3,
            bbox={'boxstyle': 'round,pad=0.35', 'fc': 'none', 'ec': 'C1' if leaf else 'C0', 'lw': 1.3})
    for before, _ in node.next_functions:
        if before is not None:
            u, v = place[before]
            step, drop = np.sign(x - u), 0.3 if v != y_at else 0.0
            end, start = ((0.08 + 0.03 * wide[one]) * step for one in (node, before))
            ax.annotate('', (x - end, -y_at + drop), (u + start, -v - drop),
                        arrowprops={'arrowstyle': '->', 'color': GREY, 'lw': 1, 'shrinkA': 0, 'shrinkB': 0})
ax.set(xlim=(-0.45, 4.45), ylim=(-6.4, -0.6))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The computational graph of the objective $J$. Blue frames are operations with the shapes of their results, or without a shape
# for a single number. The other frames are parameters. The loss stands in the second column, and the penalty begins with the
# two squares.

# %% [markdown]
# The pictures and the labels are missing in this graph, because no gradient with respect to them is wanted. Two arrows leave
# each weight matrix, one to the loss and one to the penalty.
#
# This graph exists only after a run. `torch.export` gives the operations *as a program*: it takes a module and example inputs,
# follows the computation, and returns the list of its steps. Such a program can be saved and run elsewhere, without the source
# code of the model. Of each step we read the operation, `target`, and the shape of its result, `meta['val'].shape`.

# %%
program = torch.export.export(with_decay, (X, y))
steps = [node for node in program.graph.nodes if node.op == 'call_function']
exported = [(words[str(node.target).split('.')[1]],
             tuple(node.meta['val'].shape)) for node in steps]
recorded = [(word(node), shapes[node]) for node in nodes
            if word(node) not in details]

# %%
for (name, shape), (export, same) in zip(recorded, exported):
    print(f'{name:14}{str(shape):12}  {export:14}{same}')

# %% [markdown]
# On the left stand the operations that autograd recorded, on the right those of the exported program. They are the same, in
# the same order and with the same shapes. The record has more detail. It has a transpose before each affine map, because
# `nn.Linear` stores its matrix transposed, and a log-softmax before the cross-entropy. These are left out in the table.

# %% tags=["checks"]
def is_exported(n, objective):
    result = objective(X[:n], y[:n])
    shapes = shapes_of(result)
    listed = [(word(node), shapes[node]) for node in operations(result) if word(node) not in details]
    return listed == [(name, (n, *shape[1:]) if shape[:1] == (4000,) else shape) for name, shape in exported]

verify(
    'autograd records the operations of the exported program in their order, with their shapes',
    lambda n: recorded == exported and is_exported(n, with_decay),
    slip=('leaves the penalty out', lambda n: is_exported(n, lambda X, y: F.cross_entropy(model(X), y))),
    n=[2, 5],
)

def follows_inputs(depth, order):
    layers = [part for _ in range(depth) for part in (nn.Linear(3, 3), nn.ReLU())]
    nodes = order(operations(nn.Sequential(*layers)(torch.ones(2, 3)).sum()))
    return all(nodes.index(before) < k for k, node in enumerate(nodes) for before, _ in node.next_functions if before)

verify(
    'in the list of operations each node comes after its inputs',
    lambda depth: follows_inputs(depth, list),
    slip=('turns the list round', lambda depth: follows_inputs(depth, lambda nodes: nodes[::-1])),
    depth=[1, 2, 5],
)

def exported_value(batch):
    return program.module()(X, batch).item()

verify(
    'the exported program computes the objective',
    lambda moved: close(exported_value(y.roll(moved)), forward(X, y.roll(moved), *parameters, 1e-3)[0]),
    slip=('keeps the labels of the example',
          lambda moved: close(exported_value(y), forward(X, y.roll(moved), *parameters, 1e-3)[0])),
    moved=[0, 1],
)

# %% [markdown]
# ## Intermediate results of the forward pass: which ones are needed?
#
# The gradient of $J$ with respect to the parameters is computed from the output back to the input, so this computation is called the
# **backward pass**. The section on [backpropagation](backpropagation.ipynb) derives its formulas. Here we only ask which
# intermediate results the formulas use. In the code, `d_o` is the gradient of the loss with respect to the scores, and `d_z` that with respect to the pre-activations. The rows of
# `F.one_hot(y, q)` are the labels in one-hot form.

# %%
def backward(cache, y, W_1, W_2, lam):
    n, q = cache['log_p'].shape
    d_o = (cache['log_p'].exp() - F.one_hot(y, q)) / n            # (n, q)
    d_z = (d_o @ W_2.T) * (cache['h'] > 0)                        # (n, m)
    return {'W_1': cache['X'].T @ d_z + lam * W_1,                # (d, m)
            'b_1': d_z.sum(0),                                    # (m,)
            'W_2': cache['h'].T @ d_o + lam * W_2,                # (m, q)
            'b_2': d_o.sum(0)}                                    # (q,)

# %% [markdown]
# Autograd gives the same gradients. Now we delete one entry of the cache after the other, and try the backward pass
# with the rest:

# %%
wanted = [p.clone().requires_grad_() for p in parameters]
J, entries = forward(X, y, *wanted, 1e-3)
gradients = torch.autograd.grad(J, wanted)

# %%
def works(rest):
    try:
        found = backward(rest, y, W_1, W_2, 1e-3).values()
    except KeyError:
        return False
    return all(close(p, q) for p, q in zip(found, gradients, strict=True))

for name in entries:
    rest = {key: value for key, value in entries.items() if key != name}
    print(f'without {name:6}', 'same gradients' if works(rest) else 'fails')

# %% [markdown]
# The pictures $\mathbf{X}$, $\mathbf{h}$ and $\log\mathbf{p}$ are needed. The pre-activations $\mathbf{z}$ are not, once $\mathbf{h}$ is
# kept. As the slope of ReLU we take 1 where $z > 0$ and 0 elsewhere, and $z > 0$ exactly where $h > 0$. The scores $\mathbf{o}$ are not needed
# either, because $\log\mathbf{p}$ contains all that the gradient of the loss uses.
#
# ### What autograd saves: saved_tensors_hooks
#
# Does PyTorch keep the same tensors? The context `saved_tensors_hooks` takes two functions. When PyTorch saves a tensor for the
# backward pass, it calls the first function with it, and stores what the function returns. When the backward pass needs the tensor, it
# calls the second function with what was stored.
#
# Our first function, `pack`, collects the tensors. Two tensors may share their memory, so we count
# each address once. We leave out tensors with a single number, and the `known` tensors, which exist anyway: the data and the
# parameters. `pack` returns `t.detach()`, the same numbers without a node. If it returned `t`, then `t` and its node could keep each
# other in memory.

# %%
def address(t):
    return t.untyped_storage().data_ptr()

def saved_tensors(run, known):
    """What autograd saves while run() computes, in order."""
    seen, found = {address(t) for t in known}, []
    def pack(t):
        if t.ndim and address(t) not in seen:
            seen.add(address(t))
            found.append(t)
        return t.detach()
    with saved_tensors_hooks(pack, lambda t: t):
        run()
    return found

# %%
def megabytes(tensors):
    return sum(t.nbytes for t in tensors) / 1e6

saved = saved_tensors(lambda: with_decay(X, y), [X, y, *model.parameters()])
for t in saved:
    print(f'autograd {str(tuple(t.shape)):12} {megabytes([t]):.2f} MB')
ours = megabytes([entries['h'], entries['log_p']])
print(f'together {megabytes(saved):.2f} MB,'
      f' h and log p in our cache {ours:.2f} MB')

# %% [markdown]
# Autograd saves $\mathbf{h}$ and $\log\mathbf{p}$, and neither $\mathbf{z}$ nor $\mathbf{o}$. The penalty costs no memory at
# all, because its gradient needs only the weights. So for a ReLU network with $L$ layers and this loss, autograd keeps the hidden layers, of widths $d_1, \dots, d_{L-1}$, and
# $\log\mathbf{p}$, of width $d_L$. With $s$ bytes for each number these are
#
# ```{math}
# :label: fp-bytes
# M = s\,n \sum_{l=1}^{L} d_l
# ```
#
# bytes: they grow in proportion to the batch, while the memory of the parameters does not change.
#
# :::{admonition} A tempting mistake
# :class: warning
# `z.clamp(min=0)` gives the same numbers as ReLU, so it seems to be just another way to write it. But for `clamp` PyTorch
# saves the input $\mathbf{z}$, and the next layer needs $\mathbf{h}$ as well. We compare both, with the next layer:
# :::

# %%
def of_hidden_layer(relu):           # MB saved with the next layer
    kept = saved_tensors(lambda: relu(X @ wanted[0]) @ wanted[2], [X, *wanted])
    return megabytes(kept)

print(f'relu  {of_hidden_layer(torch.relu):.2f} MB')
print(f'clamp {of_hidden_layer(lambda z: z.clamp(min=0)):.2f} MB')

# %% [markdown]
# ### The activation decides
#
# What an activation needs depends on its slope. The slope of the sigmoid is $h(1 - h)$ and that of tanh is $1 - h^2$, so
# $\mathbf{h}$ is enough, as for ReLU. GELU is $z\,\Phi(z)$, where $\Phi(z)$ is the probability that a standard normal number is
# below $z$; many language models use it. GELU falls and then rises, so one $h$ can belong to two $z$ with different slopes:

# %%
z = torch.tensor([-1.5, -0.24963], requires_grad=True)
h = F.gelu(z)
slopes, = torch.autograd.grad(h.sum(), z)
for k in range(2):
    print(f'z = {z[k]:5.2f}: h = {h[k]:.3f}, slope {slopes[k]:6.3f}')

# %% [markdown]
# So the backward pass of GELU needs $\mathbf{z}$ itself, and the next layer needs $\mathbf{h}$. We count for a network with three hidden
# layers of 256 units and 1000 pictures:

# %%
def network(activation, m=256):
    return nn.Sequential(
        nn.Linear(784, m), activation(), nn.Linear(m, m), activation(),
        nn.Linear(m, m), activation(), nn.Linear(m, 10))

# %%
X_test = torch.tensor(data.mnist('test').x)              # (1000, 784)
y_test = torch.tensor(data.mnist('test').y)              # (1000,)
print(len(X_test), 'pictures')
memory = {}
for activation in nn.ReLU, nn.Sigmoid, nn.Tanh, nn.GELU:
    net = network(activation)
    kept = saved_tensors(lambda: F.cross_entropy(net(X_test), y_test),
                         [X_test, y_test, *net.parameters()])
    memory[activation] = megabytes(kept)
    print(f'{activation.__name__:8} {memory[activation]:5.2f} MB')

# %% mystnb={"image": {"alt": "Left: GELU falls from zero to a shallow minimum and then rises; a dashed horizontal line at minus 0.1 meets it at two dots, one on the falling and one on the rising side. Right: four horizontal bars, about 6 MB for ReLU, sigmoid and tanh and about 12 MB for GELU; a dashed vertical line, left of the ends of all bars, marks the parameters."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.3)
line = torch.linspace(-3.2, 0.6, 300)
left.plot(line, F.gelu(line))
left.plot([-3.2, 0.6], [h[0].item()] * 2, '--', color=GREY, lw=1)
left.plot(z.detach(), h.detach(), 'o', color='C1')
left.set(xlabel='$z$', ylabel='$h$', title='GELU', ylim=(-0.2, 0.2))
bars = list(memory)[::-1]
right.barh([a.__name__ for a in bars], [memory[a] for a in bars], color='C0', height=0.6)
size = megabytes(network(nn.ReLU).parameters())
right.axvline(size, color='C1', ls='--', lw=1.4)
right.text(size, 3.62, 'parameters', color='C1', fontsize=8, ha='center')
right.set(xlabel='MB saved', ylim=(-0.5, 3.5), xlim=(0, 13));

# %% [markdown] tags=["caption"]
# Left: two dots on GELU have the same $h$, but different slopes. Right: what autograd
# saves for 1000 pictures, with GELU nearly twice as much as with the others. The dashed line is the size of the parameters.

# %% [markdown]
# ```{exercise} ★★ Pencil: from which batch size on?
# :label: fp-break-even
# A ReLU network has $d_0$ inputs and layers of widths $d_1, \dots, d_L$. The intermediate results that autograd saves take $M$
# bytes, as in {eq}`fp-bytes`. The parameters, weights and biases, have the same type. What is the smallest batch size $n$ for
# which the intermediate results take *more* memory than the parameters? Write the answer as `break_even(widths)`.
# ```

# %%
def break_even(widths):
    """The smallest such n: list of L + 1 >= 2 ints, all >= 1 -> int.

    break_even([784, 64, 10]) is 688.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_autograd(widths):
    layers = [part for pair in zip(widths, widths[1:], strict=False) for part in (nn.Linear(*pair), nn.ReLU())]
    net, x, t = nn.Sequential(*layers[:-1]), torch.ones(1, widths[0]), torch.tensor([0])
    one = megabytes(saved_tensors(lambda: F.cross_entropy(net(x), t), [x, t, *net.parameters()]))
    return next(n for n in count(1) if round(1e6 * n * one) > round(1e6 * megabytes(net.parameters())))

even_cases = dict(widths=lists(on(1, 2) | integers(1, 12), 2, 5))
grade(break_even, by_autograd, tries=60, **even_cases)

# %% [markdown]
# ```{solution-start} fp-break-even
# :class: dropdown
# ```
# There are $\sum_l (d_{l-1} + 1)\, d_l$ parameters, and the intermediate results of one example are $\sum_l d_l$ numbers. We want the smallest
# whole $n$ with $n \sum_l d_l > \sum_l (d_{l-1} + 1)\, d_l$. It is the quotient, rounded down, plus one. The wrong answers
# round up, which misses the case of equality, forget the biases, and count the inputs among the intermediate results.

# %% jupyter={"source_hidden": true}
def break_even_solution(widths):
    parameters = sum((a + 1) * b for a, b in zip(widths, widths[1:], strict=False))
    return parameters // sum(widths[1:]) + 1

def rounded_up(widths):
    parameters = sum((a + 1) * b for a, b in zip(widths, widths[1:], strict=False))
    return -(-parameters // sum(widths[1:]))

def without_biases(widths):
    return sum(a * b for a, b in zip(widths, widths[1:], strict=False)) // sum(widths[1:]) + 1

def with_inputs(widths):
    parameters = sum((a + 1) * b for a, b in zip(widths, widths[1:], strict=False))
    return parameters // sum(widths) + 1

assert grade(break_even_solution, by_autograd, tries=60, **even_cases)
assert not grade(rounded_up, by_autograd, tries=60, **even_cases)
assert not grade(without_biases, by_autograd, tries=60, **even_cases)
assert not grade(with_inputs, by_autograd, tries=60, **even_cases)
print('784, 64, 10:', break_even_solution([784, 64, 10]))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def deep(seed, widths):  # a ReLU network with drawn weights, as the library has it
    layers = [part for pair in zip(widths, widths[1:], strict=False) for part in (nn.Linear(*pair), nn.ReLU())][:-1]
    net = nn.Sequential(*layers)
    with torch.no_grad():
        for k, p in enumerate(net.parameters()):
            p.copy_(drawn(p.shape, seed + k))
    return net

def kept_in_order(seed, widths, forgotten):
    net, x = deep(seed, widths), drawn((5, widths[0]), seed)
    t = torch.arange(5) % widths[-1]
    Ws = [layer.weight.detach().T for layer in net[::2]]
    bs = [layer.bias.detach() for layer in net[::2]]
    ours = objective_solution(x, t, Ws, bs, 0.1)[1]
    ours = [entry for k, entry in enumerate(ours) if k - len(ours) != forgotten]
    theirs = saved_tensors(lambda: F.cross_entropy(net(x), t), [x, t, *net.parameters()])
    return (sum(entry.nbytes for entry in ours) == sum(entry.nbytes for entry in theirs)
            and all(close(a, b) for a, b in zip(ours, theirs, strict=True)))

holds(
    'dl.forward.definition',
    lambda seed, widths: kept_in_order(seed, widths, None),
    slip=('keeps a cache that forgets the last hidden layer', lambda seed, widths: kept_in_order(seed, widths, -2)),
    seed=integers(0, 10**6), widths=lists(integers(1, 5), 2, 6), tries=40,
)

def is_gradient(seed, given, **sizes):
    X, y, net = random_case(seed, **sizes)
    for p in net:
        p.requires_grad_()
    J, entries = forward(X, y, *net, 0.1)
    want = torch.autograd.grad(J, net)
    found = backward(entries, y, net[0], net[2], given).values()
    return all(close(p, q) for p, q in zip(found, want, strict=True))

verify(
    'the backward pass from the cache gives the gradients of autograd',
    lambda **case: is_gradient(given=0.1, **case),
    slip=('forgets the penalty', lambda **case: is_gradient(given=0.0, **case)),
    seed=integers(0, 10**6), **sizes, tries=40,
)
verify(
    'without z or o the backward pass works, without X, h or log p it does not',
    lambda name, needed: works({key: value for key, value in entries.items() if key != name}) != (name in needed),
    slip=('says that z is needed', lambda name, needed: works(
        {key: value for key, value in entries.items() if key != name}) != (name in needed + ['z'])),
    name=list(entries), needed=[['X', 'h', 'log_p']],
)

# %% tags=["checks"]
def spoilt(k):  # the gradients with zeros in place of tensor number k that is saved
    gone = []
    def pack(t):
        if t.ndim and t.is_floating_point() and address(t) not in map(address, gone):
            gone.append(t)
        return t
    def unpack(t):
        return torch.zeros_like(t) if k is not None and address(t) == address(gone[k]) else t
    with saved_tensors_hooks(pack, unpack):
        result = with_decay(X[:50], y[:50])
    return torch.autograd.grad(result, list(model.parameters()))

def changes(k):
    return not all(close(p, q) for p, q in zip(spoilt(k), spoilt(None), strict=True))

def z_changes(k):
    X_b, y_b, net = random_case(k, 5, 3, 4, 3)
    J, entries = forward(X_b, y_b, *[p.requires_grad_() for p in net], 0.1)
    right = torch.autograd.grad(J, net, retain_graph=True)
    entries['z'].data.zero_()
    return not all(close(p, q) for p, q in zip(torch.autograd.grad(J, net), right, strict=True))

verify(
    'zeros in place of any tensor that autograd saves change the gradients',
    changes,
    slip=('says so of z, too, which is not saved', z_changes),
    k=[0, 1, 2, 3, 4],
)

def megabytes_of(activation, per_layer, n, m):
    net = network(activation, m)
    kept = saved_tensors(lambda: F.cross_entropy(net(X_test[:n]), y_test[:n]), [X_test, y_test, *net.parameters()])
    return close(megabytes(kept), 8 * n * (3 * per_layer * m + 10) / 1e6)

verify(
    'with GELU autograd keeps two numbers for each hidden unit, with ReLU, sigmoid and tanh one',
    lambda kind, n, m: megabytes_of(kind, 2 if kind is nn.GELU else 1, n, m),
    slip=('counts one for GELU', lambda kind, n, m: megabytes_of(kind, 1, n, m)),
    kind=[nn.ReLU, nn.Sigmoid, nn.Tanh, nn.GELU], n=[1, 50], m=[3, 20],
)
ways = {'relu': torch.relu, 'clamp': lambda z: z.clamp(min=0)}

verify(
    'relu saves one tensor of the size of the hidden layer, clamp two',
    lambda way, layers: close(of_hidden_layer(ways[way]), layers[way] * entries['h'].nbytes / 1e6),
    slip=('counts one for clamp',
          lambda way, layers: close(of_hidden_layer(ways[way]), layers['relu'] * entries['h'].nbytes / 1e6)),
    way=['relu', 'clamp'], layers=[{'relu': 1, 'clamp': 2}],
)
verify(
    'GELU has the same value at both places, and slopes of different signs',
    lambda digits: bool(abs(h[0] - h[1]) < 0.5 * 0.1**digits and slopes[0] < 0 < slopes[1]),
    slip=('says that the slopes agree', lambda digits: bool(abs(slopes[0] - slopes[1]) < 0.1**digits)),
    digits=[1, 2, 3],
)

# %% [markdown]
# ## Evaluation with torch.no_grad(): memory and FLOPs
#
# Someone who only wants predictions needs no gradients, and so no cache. Under `torch.no_grad()` PyTorch computes the same
# numbers and builds no graph. We take the ReLU network with three hidden layers:

# %%
model = network(nn.ReLU)
recorded_loss = F.cross_entropy(model(X_test), y_test)
with torch.no_grad():
    plain_loss = F.cross_entropy(model(X_test), y_test)
print('equal:', torch.equal(recorded_loss, plain_loss))
print('node:', plain_loss.grad_fn)

# %% [markdown]
# How much memory does this save? A usual evaluation goes through the test set in batches and collects the losses, here in ten
# batches of 100 digits. We count the bytes that autograd holds after each batch. A *weak reference* to a tensor does not keep it
# alive: once nothing else refers to the tensor, the weak reference gives `None`.

# %% tags=["hide-input"]
def alive(references):  # MB, without the data and the parameters
    found = {address(r()): r() for r in references if r() is not None}
    for t in (X_test, y_test, *model.parameters()):
        found.pop(address(t), None)
    return megabytes(t for t in found.values() if t.ndim)

# %%
def held_while_evaluating(collect):
    references, held, losses = [], [], []
    def pack(t):
        t = t.detach()
        references.append(weakref.ref(t))
        return t
    with saved_tensors_hooks(pack, lambda t: t):
        for X_b, y_b in zip(X_test.split(100), y_test.split(100)):
            loss = F.cross_entropy(model(X_b), y_b)
            losses.append(collect(loss))
            held.append(alive(references))
    return held

# %%
held = {'append(loss)': held_while_evaluating(lambda loss: loss),
        'append(loss.item())': held_while_evaluating(torch.Tensor.item)}
with torch.no_grad():
    held['no_grad'] = held_while_evaluating(torch.Tensor.item)
for name, values in held.items():
    print(f'{name:20} after 1 batch {values[0]:.2f} MB,'
          f' after 10 batches {values[-1]:.2f} MB')

# %% mystnb={"image": {"alt": "Memory against the number of batches. One line rises straight to 6.22 MB at ten batches, one stays at 0.62 MB, one at zero; a dashed horizontal line between them marks the parameters."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.4, 2.7))
for k, (name, values) in enumerate(held.items()):
    ax.plot(range(1, 11), values, '.-', color=f'C{k}', label=name)
ax.plot([1, 10], [size, size], '--', color=GREY, lw=1, label='parameters')
ax.set(xlabel='batches evaluated', ylabel='MB held', xlim=(1, 10), ylim=(-0.2, 6.6))
label_lines(ax);

# %% [markdown] tags=["caption"]
# What autograd holds during an evaluation. A list of losses keeps the graph of each batch, and all its intermediate results. The number
# `loss.item()` has no graph, so only the last batch is held, by the variable `loss`. Under `torch.no_grad()` nothing is held.

# %% [markdown]
# Each loss in the list keeps its node, and so the whole graph of its batch with all that was saved for it. So collect numbers,
# `loss.item()`, and write `with torch.no_grad():` around an evaluation. The decorator `@torch.no_grad()` does the same
# for a whole function.
#
# ### FLOPs of the forward pass
#
# A multiplication or an addition of two floats is called a **FLOP**, a floating-point operation. Each unit of layer $l$
# multiplies $d_{l-1}$ inputs by weights and makes $d_{l-1}$ additions, one of them for the bias. We leave out the activations,
# the loss and the penalty, which cost little in comparison. So a batch of $n$ examples costs about
#
# ```{math}
# :label: fp-flops
# C = 2 n \sum_{l=1}^{L} d_{l-1} d_l
# ```
#
# FLOPs. PyTorch's `FlopCounterMode` counts those of the matrix products while they run.
#
# :::{admonition} A tempting mistake
# :class: warning
# One calls `model.eval()` before each evaluation, so it is easy to believe that it also stops the recording. It does not. It
# only changes what layers such as dropout compute. We count bytes and FLOPs:
# :::

# %%
def costs(model):                  # MB saved, FLOPs
    with FlopCounterMode(display=False) as counter:
        kept = saved_tensors(lambda: F.cross_entropy(model(X_test), y_test),
                             [X_test, y_test, *model.parameters()])
    return megabytes(kept), counter.get_total_flops()

# %%
table = {'model.train()': costs(model.train()),
         'model.eval()': costs(model.eval())}
with torch.no_grad():
    table['torch.no_grad()'] = costs(model.eval())
for name, (MB, flops) in table.items():
    print(f'{name:16} {MB:.2f} MB, {flops} FLOPs')

C = 2 * 1000 * (784 * 256 + 256 * 256 + 256 * 256 + 256 * 10)
print(f'formula           {C} FLOPs')

# %% [markdown]
# The two modes save the same bytes, and `torch.no_grad()` saves none. The FLOPs are equal in all three cases: without the record, the
# forward pass computes just as much. A careful evaluation uses both: `model.eval()` for the right behaviour, and `torch.no_grad()` for the memory.
#
# ```{exercise} ★★ Experiment: what changes the memory?
# :label: fp-memory
# For the ReLU network with 256 units in each of its three hidden layers and 1000 pictures, autograd saves 6.22 MB. By which
# factor does each of these changes multiply this number?
#
# | name | change |
# |---|---|
# | `float32` | data and parameters are in float32 |
# | `wide` | 512 units in each hidden layer |
# | `decay` | the penalty of weight decay is added to the loss |
# | `last` | only the last layer is trained: `requires_grad_(False)` is called on the other three layers |
#
# Predict the four factors up to 0.05. Then run the grader and explain.
# ```

# %%
def predicted_factors():
    """A dict with a float for each of the four names."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def bytes_saved(m=256, dtype=torch.float64, lam=0.0, trained=4):
    net, X_d = network(nn.ReLU, m).to(dtype), X_test.to(dtype)
    for layer in list(net[::2])[:-trained]:
        layer.requires_grad_(False)
    def run():
        penalty = sum((layer.weight**2).sum() for layer in net[::2])
        return F.cross_entropy(net(X_d), y_test) + (lam / 2 * penalty if lam else 0)
    return megabytes(saved_tensors(run, [X_d, y_test, *net.parameters()]))

@cache
def factors():
    changes = {'float32': {'dtype': torch.float32}, 'wide': {'m': 512}, 'decay': {'lam': 1e-3}, 'last': {'trained': 1}}
    return {name: bytes_saved(**change) / bytes_saved() for name, change in changes.items()}

def is_measured(said):
    if sorted(said) != sorted(factors()):
        raise ValueError(f'give a factor for each of {sorted(factors())}')
    for name, factor in factors().items():
        if not abs(said[name] - factor) <= 0.05:
            raise ValueError(f'another factor is measured for {name}; count what autograd saves')
    return True

grade(lambda: is_measured(predicted_factors()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} fp-memory
# :class: dropdown
# ```
# A float32 has half the bytes. The hidden layers make up nearly all of the memory, so twice the width nearly doubles it. The
# penalty reads only the weights, which exist anyway. If only the last layer is trained, the backward pass ends there. It needs the input of this
# layer, the last hidden layer, and $\log\mathbf{p}$, together about a third. The wrong answers expect a fourfold memory from twice the width, as the weight
# matrices between the hidden layers have it, a cost of the penalty, and no saving from the frozen layers.

# %% jupyter={"source_hidden": true}
measured = dict(factors())
assert grade(lambda: is_measured(measured), lambda: True, [()])
assert not grade(lambda: is_measured(measured | {'wide': 4}), lambda: True, [()])
assert not grade(lambda: is_measured(measured | {'decay': 1.5}), lambda: True, [()])
assert not grade(lambda: is_measured(measured | {'last': 1}), lambda: True, [()])
print(', '.join(f'{name} {factor:.2f}' for name, factor in measured.items()))

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
one_batch = megabytes(saved_tensors(
    lambda: F.cross_entropy(model(X_test[:100]), y_test[:100]), [X_test, y_test, *model.parameters()]))

verify(
    'a list of losses holds the intermediate results of each batch, a list of numbers those of the last one',
    lambda k: close([values[k - 1] for values in held.values()], [k * one_batch, one_batch, 0.0]),
    slip=('says that a list of numbers holds them all, too',
          lambda k: close([values[k - 1] for values in held.values()], [k * one_batch, k * one_batch, 0.0])),
    k=[1, 2, 10],
)
def saves(mode, spared):
    return close(table[mode][0], 0 if mode in spared else 10 * one_batch)

verify(
    'model.eval() saves the same bytes as model.train(), torch.no_grad() none',
    lambda mode: saves(mode, ['torch.no_grad()']),
    slip=('says that model.eval() saves none', lambda mode: saves(mode, ['model.eval()', 'torch.no_grad()'])),
    mode=list(table),
)

def flops(widths, n, record):
    net = deep(0, widths)
    with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(record):
        net(drawn((n, widths[0]), 0))
    return counter.get_total_flops()

verify(
    'with and without the record the forward pass makes the FLOPs of the formula',
    lambda widths, n, record: flops(widths, n, record) == 2 * n * sum(map(int.__mul__, widths, widths[1:])),
    slip=('counts a multiplication and its addition as one',
          lambda widths, n, record: flops(widths, n, record) == n * sum(map(int.__mul__, widths, widths[1:]))),
    widths=[[1, 1], [3, 4, 2], [5, 1, 2, 3]], n=[1, 7], record=[True, False],
)

# %% [markdown]
# ## Summary
#
# The forward pass computes the layers in order, then the loss, and with weight decay the objective. Its operations form a
# computational graph, which autograd records and `torch.export` writes down as a program. For the backward pass it stores what the gradients need: with ReLU,
# sigmoid and tanh the hidden layers and the logarithms of the probabilities, with GELU the pre-activations as well. For an evaluation,
# `torch.no_grad()` leaves this memory out, and the FLOPs stay the same.
#
# **Further reading.** {cite:t}`zhang2023dive`, section 5.3, draws the graph of the same network by hand. {cite:t}`griewank2008evaluating`
# is the standard book on how programs are recorded and differentiated, for readers who want proofs. {cite:t}`paszke2019pytorch` explain how PyTorch
# builds its graph while the program runs.
