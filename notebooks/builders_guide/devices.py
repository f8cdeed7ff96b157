# ---
# jupyter:
#   book:
#     functions:
#       intensity: "intensity(3, 4, 5, 8)"
#       quantize: "quantize(normal(3, 4))[1]"
#     main: devices-intensity
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # CPU and GPU
#
# A graphics processor (GPU) computes with thousands of numbers at once, but only with numbers in its own memory. If one tensor of your
# program was left in the memory of the CPU, the program stops with an error. A GPU is fastest with short formats of
# numbers, and in one of them $1 + 0.001$ is $1$. How do you write one program for CPU and GPU, and how much accuracy do the short formats cost?
#
# - **You need** [hidden layers](../neural_networks/hidden_layers.ipynb), [training in minibatches](../regression/minibatch_training.ipynb) and
#   [cross-entropy](../classification/cross_entropy.ipynb).
# - **You build** a program that runs on a GPU if there is one, a count that says whether a GPU can help, a network
#   in a file that runs without PyTorch, and a network with weights of 8 bits.
# - **Runs in** 9 seconds. Tensors are float64 where no other format is named. The outputs were recorded on a CPU.

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
import logging
import warnings
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from nbutils import data
from nbutils.cases import integers, matrices, on, scalars, vectors
from nbutils.checks import below, between, close, grade, verify
from nbutils.figures import GREY, panels
from nbutils.training import batches, fit

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
warnings.filterwarnings('ignore', category=FutureWarning)    # of torch about itself
logging.getLogger('torch.onnx').setLevel(logging.ERROR)      # it misses torchvision, which we do not use
plt.style.use('nbutils.book')

# %% [markdown]
# ## Device: `cuda` if there is one, else `cpu`, and `.to(device)`
#
# PyTorch calls NVIDIA's GPUs `cuda`. Unless you say otherwise, a tensor is made on the CPU. Then `.to(device)` gives a copy on the
# chosen device, or the tensor itself if it is there already:

# %%
device = 'cuda' if torch.cuda.is_available() else 'cpu'
g = torch.Generator().manual_seed(0)                # on the CPU
A = torch.randn(100, 64, generator=g).to(device)    # (100, 64)
B = torch.randn(64, 10, generator=g).to(device)     # (64, 10)
C = A @ B                                           # (100, 10)
print('on one device:', A.device == B.device == C.device)
print(f'mean of |C|: {C.abs().mean().item():.2f}')

# %% [markdown]
# The random numbers are drawn on the CPU and then moved, because the generators of a CPU and of a GPU give different numbers for the
# same seed. The two tensors of a sum or a product have to be on the same device, unless one of them is a single number on the CPU. Even without a
# GPU you can see what happens otherwise: the device `meta` exists on every computer. Its tensors have a shape but no numbers.

# %%
try:
    torch.ones(3) + torch.ones(3, device='meta')
except RuntimeError as error:
    print(error)

# %% [markdown]
# ### Operations and bytes: when is a GPU worth it?
#
# We count before we time. The product of an $n \times m$ and an $m \times p$ matrix takes $nmp$ multiplications and about as many
# additions. Each number has $b$ bytes. If each is read or written only once, then $b\,(nm + mp + np)$ bytes are moved. So the number of
# operations for each byte, the **arithmetic intensity**, is
#
# ```{math}
# :label: devices-intensity
# I = \frac{2nmp}{b\,(nm + mp + np)} .
# ```

# %%
def intensity(n, m, p, b):
    return 2 * n * m * p / (b * (n * m + m * p + n * p))

# %% [markdown]
# PyTorch can count for us: `FlopCounterMode` counts the operations, and `nbytes` is the size of a tensor. As an example we take a layer
# with $1024 \times 1024$ weights and batches of different sizes. The tensors are on `meta`, so nothing has to be computed:

# %%
for n in (1, 32, 1024):
    h = torch.ones(n, 1024, device='meta')          # (n, 1024)
    W = torch.ones(1024, 1024, device='meta')
    with FlopCounterMode(display=False) as count:
        o = h @ W                                   # (n, 1024)
    counted = count.get_total_flops() / (h.nbytes + W.nbytes + o.nbytes)
    print(f'batch {n:4}: {counted:5.2f} operations a byte,'
          f' formula {intensity(n, 1024, 1024, 8):5.2f}')

# %% [markdown]
# The data sheet of a GPU says how many operations it can do in a second, and how many bytes it can move. Their ratio is the intensity
# that a program needs to keep the GPU busy. For the H100 {cite}`nvidia2023h100` in float64:

# %%
operations, memory, bus = 67e12, 3.35e12, 64e9      # a second, at best
print(f'own memory:    {operations / memory:5.0f} operations a byte')
print(f'from the CPU:  {operations / bus:5.0f} operations a byte')

# %% mystnb={"image": {"alt": "Both axes logarithmic. A curve rises along a straight line and bends to a level on the right. It crosses a dashed line in the middle. A dotted line lies above the whole curve."}} tags=["hide-input"]
fig, ax = panels(1, height=2.6)
sizes = np.array([2**k for k in range(13)])
ax.loglog(sizes, [intensity(int(n), 1024, 1024, 8) for n in sizes], 'o-', ms=4)
ax.axhline(operations / memory, color='C1', ls='--')
ax.axhline(operations / bus, color=GREY, ls=':')
ax.text(1, 1.2 * operations / memory, 'from its own memory', color='C1', fontsize=9)
ax.text(1, 1.2 * operations / bus, 'from the memory of the CPU', color=GREY, fontsize=9)
ax.set(xlabel='rows in a batch, $n$', ylabel='operations a byte', ylim=(0.1, 4000));

# %% [markdown] tags=["caption"]
# Operations for each byte of one layer with $1024 \times 1024$ weights in float64 (curve). The lines show how many an H100 can do while it
# moves one byte from its own memory, or from that of the CPU. Below a line, the GPU waits for data.

# %% [markdown]
# For a single row, each weight is read for one multiplication and one addition only, so the GPU waits for its memory. The
# transfer from the CPU is far slower still. Therefore models and data move to the GPU once and stay there. Beware of
# `.item()` and of printing a tensor in a training loop: each copies numbers to the CPU, and the CPU has to wait for them.
#
# Otherwise the CPU does not wait: a call to a GPU returns before the result is there. So a clock needs care:
#
# ```python
# torch.cuda.synchronize()             # all earlier work is done
# start = time.perf_counter()
# C = A @ B                            # only put into the queue
# torch.cuda.synchronize()             # wait for the result
# print(time.perf_counter() - start)   # seconds
# ```
#
# Without the second `synchronize` you would only time how long it takes to put the product into the queue. Run the product once before you time it,
# because the first call also loads code.
#
# ### The same printed lines on both
#
# A GPU adds the terms of a sum in another order, and in floating point the order matters:

# %%
left, right = (0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3)
print('equal:', left == right, f'  printed: {left:.3f} and {right:.3f}')

# %% [markdown]
# Three rules help a program to print the same lines on both: draw random numbers on the CPU, compute in float64, and print few
# digits, or verdicts such as "below 0.01". Here is a network for digits of $8 \times 8$ pixels that obeys them. It learns from 1297 digits and
# is tested on the others:

# %%
digits = data.digits()
X = torch.tensor(digits.x).to(device)               # (1797, 64)
y = torch.tensor(digits.y).to(device)
X_test, y_test = X[1297:], y[1297:]

def network(seed):
    torch.manual_seed(seed)                         # drawn on the CPU
    return nn.Sequential(
        nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

# %%
def trained(seed, device, dtype):
    model = network(seed).to(device, dtype)         # moves all parameters
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    g = torch.Generator().manual_seed(seed)
    X_train, y_train = X[:1297].to(device, dtype), y[:1297].to(device)
    rows = batches(g, 100, X_train, y_train, epochs=8)
    losses = fit(model, F.cross_entropy, optimizer, rows)
    return model, losses

@torch.no_grad()
def share_right(model):
    return (model(X_test).argmax(1) == y_test).double().mean().item()

# %%
models, shares = [], []
for seed in range(3):
    model, losses = trained(seed, device, torch.float64)
    models.append(model)
    shares.append(share_right(model))
print(f'right: {100 * np.mean(shares):.0f} %, by chance: 10 %')

# %% mystnb={"image": {"alt": "Four boxes in a row with arrows between them: x, n by 64; Linear, n by 32; ReLU, n by 32; Linear, n by 10. Below the first Linear stands 32 by 64, below the second 10 by 32."}} tags=["hide-input"]
fig, ax = panels(1, height=1.1)
flow = [('$\\mathbf{x}$', 'n × 64', ''), ('Linear', 'n × 32', 'weight 32 × 64'), ('ReLU', 'n × 32', ''),
        ('Linear', 'n × 10', 'weight 10 × 32')]
for column, (words, shape, weight) in enumerate(flow):
    ax.text(column, 0, words, ha='center', va='center', bbox={'boxstyle': 'round,pad=0.3', 'fc': 'none', 'ec': 'C0'})
    ax.text(column, 0.55, shape, ha='center', va='center', fontsize=9, color='C0')
    ax.text(column, -0.6, weight, ha='center', va='center', fontsize=9)
    if column:
        ax.annotate('', (column - 0.25, 0), (column - 0.75, 0), arrowprops={'arrowstyle': '->', 'color': GREY})
ax.set(xlim=(-0.5, 3.5), ylim=(-0.8, 0.8))
ax.axis('off');

# %% [markdown] tags=["caption"]
# The network of this page. Above each box stands the shape of its output for $n$ rows, below it the shape of its weights.

# %% [markdown]
# ```{exercise} ★★ Pencil: where counting stops
# :label: devices-pencil
# In a format of numbers, let $\varepsilon$ be the distance from 1 to the next number, for example $2^{-7}$. From $2^k$ to $2^{k+1}$ the
# numbers of the format are the multiples of $2^k\varepsilon$, for $k = 0, 1, 2, \dots$ A result is rounded to the nearest number. If two are equally near, it
# is rounded to the one that is an even multiple. A counter starts at 1 and adds 1 again and again. At which value does it stop growing?
# ```

# %%
def stuck(epsilon):
    """The value that no longer grows: float -> number.

    epsilon is 1/2, 1/4, 1/8, ...; stuck(0.5) is 4.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_counting(epsilon):
    v = 1
    while True:
        step = epsilon * 2.0 ** np.floor(np.log2(v + 1))
        after = round((v + 1) / step) * step        # round takes the even one of two
        if after == v:
            return float(v)
        v = after

stuck_cases = dict(epsilon=[2.0**-k for k in range(1, 12)])
grade(stuck, by_counting, **stuck_cases)

# %% [markdown]
# ```{solution-start} devices-pencil
# :class: dropdown
# ```
# From $2^k = 2/\varepsilon$ on, the distance is 2. Below it all whole numbers are in the format, so the counter gets there. One
# more would be half-way between $2/\varepsilon$ and the next number. These are $1/\varepsilon$ and $1/\varepsilon + 1$ times 2, and the first multiple is even.
# So the counter stays, and bfloat16 counts to $2 \cdot 2^7 = 256$. The wrong answers stop where the distance is 1, where it is 4, or one too late.

# %% jupyter={"source_hidden": true}
def stuck_solution(epsilon):
    return 2 / epsilon

assert grade(stuck_solution, by_counting, **stuck_cases)
assert not grade(lambda epsilon: 1 / epsilon, by_counting, **stuck_cases)
assert not grade(lambda epsilon: 4 / epsilon, by_counting, **stuck_cases)
assert not grade(lambda epsilon: 2 / epsilon + 1, by_counting, **stuck_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def counted_flops(n, m, p):
    with FlopCounterMode(display=False) as count:
        torch.ones(n, m, device='meta') @ torch.ones(m, p, device='meta')
    return count.get_total_flops()

verify(
    'the counter of PyTorch counts 2nmp operations',
    lambda n, m, p: counted_flops(n, m, p) == 2 * n * m * p,
    slip=('counts the multiplications only', lambda n, m, p: counted_flops(n, m, p) == n * m * p),
    n=integers(1, 9), m=integers(1, 9), p=integers(1, 9), tries=20,
)
verify(
    'one row is below the line of the own memory, 1024 rows are above it and below that of the CPU',
    lambda b: intensity(1, 1024, 1024, b) < operations / memory < intensity(1024, 1024, 1024, b) < operations / bus,
    slip=('says so of 32 rows', lambda b: operations / memory < intensity(32, 1024, 1024, b)),
    b=[8],
)
verify(
    'training on the device gives the losses of the CPU, up to 1e-6',  # 104 steps on top of roundings of 1e-16
    lambda seed: close(trained(seed, 'cpu', torch.float64)[1], trained(seed, device, torch.float64)[1], rtol=1e-6),
    slip=('computes in float32', lambda seed: close(
        trained(seed, 'cpu', torch.float32)[1], trained(seed, device, torch.float64)[1], rtol=1e-9, atol=1e-9)),
    seed=[0],
)
verify(
    'each of the three networks is right more often than chance by 0.7',
    lambda more: min(shares) > 0.1 + more,
    slip=('expects 0.89 more', lambda more: min(shares) > 0.1 + more + 0.19),
    more=[0.7],
)

# %% [markdown]
# ## Mixed precision: float32, bfloat16, float16 and autocast
#
# Today's GPUs multiply matrices several times faster in 16 bits than in 32, and each number takes half the bytes. There are two formats of
# 16 bits, bfloat16 and float16. We compare them with the longer ones:

# %%
for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
    info, one = torch.finfo(dtype), torch.ones((), dtype=dtype)
    print(f'{str(dtype)[6:]:8} spacing at 1: {info.eps:.2e}  largest:'
          f' {info.max:.2e}  1 + 0.001 = {(one + 0.001).item():.6f}')

# %% [markdown]
# bfloat16 has the range of float32, but $1 + 0.001$ is $1$. float16 is finer, but its largest number is small. The spacing
# $\varepsilon$ at 1 bounds the rounding error. If $|x|$ lies between the smallest normal and the largest number of the format, then $x$ is rounded to
# a number $\hat x$ with $|\hat x - x| \le \frac{\varepsilon}{2}\,|x|$. For bfloat16, $\varepsilon = 2^{-7}$, so the relative error is at most
# $2^{-8} \approx 0.0039$.
#
# In **mixed precision** {cite}`micikevicius2018mixed` the parameters and the updates stay in float32, because small updates would be lost otherwise. Matrix products
# run in 16 bits. `torch.autocast` chooses the format operation by operation:

# %%
model32 = copy.deepcopy(models[0]).float()
x32, device_type = X_test.float(), X.device.type
with torch.no_grad(), torch.autocast(device_type, dtype=torch.bfloat16):
    h = model32[0](x32)                             # (500, 32)
    o = model32(x32)                                # (500, 10)
    loss = F.cross_entropy(o, y_test)
for name, t in {'parameters': model32[0].weight, 'linear layer': h,
                'relu': h.relu(), 'cross-entropy': loss}.items():
    print(f'{name:13} {str(t.dtype)[6:]}')

# %% [markdown]
# A linear layer rounds its inputs and weights to bfloat16 and returns bfloat16. The ReLU keeps the format of its input. For the cross-entropy the
# scores are turned into float32 again. What does this cost in accuracy? We compare the scores with those in float64, for all three networks:

# %%
errors, mixed_shares = [], []
with torch.no_grad():
    for model in models:
        exact = model(X_test)                       # (500, 10)
        with torch.autocast(device_type, dtype=torch.bfloat16):
            o = copy.deepcopy(model).float()(x32)
        errors.append(((o - exact).norm() / exact.norm()).item())
        mixed_shares.append((o.argmax(1) == y_test).double().mean().item())
units = np.array(errors) / 2**-8
print('relative error, in units of 2^-8:', between(units, 0.25, 1.25))
print(f'right: {100 * np.mean(mixed_shares):.0f} %,'
      f' in float64 {100 * np.mean(shares):.0f} %')

# %% [markdown]
# Every input, weight, activation and score was rounded, but the error of the scores is about as large as the bound for a single rounding. Errors of
# both signs partly cancel in the sums.
#
# ### float16 needs gradient scaling
#
# Very small gradients become zero in float16. We take the test digit with the smallest loss, and round the gradients of
# its loss that are not zero. The remedy is to multiply the loss by $2^{16}$ first. Then all gradients are larger by this factor before they are rounded,
# and in float32 we can divide by it:

# %%
model = models[0]
losses = F.cross_entropy(model(X_test), y_test, reduction='none')     # (500,)
gradients = torch.autograd.grad(losses.min(), list(model.parameters()))
v = torch.cat([part.flatten() for part in gradients])
v = v[v != 0]
lost = (v.half() == 0).double().mean().item()
saved = ((2**16 * v).half() != 0).double().mean().item()
print('share that becomes zero: ', between(lost, 0.02, 0.1))
print('share kept when scaled:  ', between(saved, 0.999, 1 + 1e-9))
tiny = torch.tensor(1e-8)
print(f'one number: {tiny.half().item():g},'
      f' scaled {(2**16 * tiny).half().double().item() / 2**16:.2e}')

# %% [markdown]
# In the training loop, `torch.amp.GradScaler` does this for you. If gradients have overflowed, it skips the step and makes the factor smaller:
#
# ```python
# scaler = torch.amp.GradScaler(device)
# with torch.autocast(device, dtype=torch.float16):
#     loss = F.cross_entropy(model(X_b), y_b)
# scaler.scale(loss).backward()
# scaler.step(optimizer)               # divides, or skips the step
# scaler.update()
# ```
#
# bfloat16 rarely needs scaling, because it has the range of float32.
#
# ```{exercise} ★★ Program: divide, or skip the step
# :label: devices-scaler
# Write what a scaler does with a gradient $\mathbf{g}$ of the scaled loss and a scale $c$. If an entry is infinite or not a number, the
# step is skipped: return a gradient of zeros, and half the scale. Otherwise return $\mathbf{g}/c$ and the same scale.
# ```

# %%
def unscale(g, c):
    """The gradient to step with and the next scale.

    g: array (n,), c: float > 0 -> (array (n,), float)

    unscale(np.array([4.0, np.inf]), 8.0) is (array([0., 0.]), 4.0).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_entries(g, c):
    spoilt = any(not -np.inf < entry < np.inf for entry in g)
    return [0.0 if spoilt else entry / c for entry in g], c * 0.5**spoilt

def spoil(row, what):
    return np.append(row, what)

spoilt_rows = on(0.0, np.inf, -np.inf, np.nan).flatmap(lambda what: vectors((1, 3)).map(lambda row: spoil(row, what)))
scaler_cases = dict(g=spoilt_rows, c=on(1.0, 8.0, 65536.0))

def same_pair(got, want):
    return len(got) == 2 and close(got[0], want[0]) and close(got[1], want[1])

grade(unscale, by_entries, same=same_pair, **scaler_cases)

# %% [markdown]
# ```{solution-start} devices-scaler
# :class: dropdown
# ```
# `np.isfinite` is false for infinities and for "not a number". The wrong answers look for infinities only, keep the
# scale after a skipped step, and forget to divide.

# %% jupyter={"source_hidden": true}
def unscale_solution(g, c):
    if np.isfinite(g).all():
        return g / c, c
    return np.zeros(len(g)), c / 2

def infinities_only(g, c):
    return (np.zeros(len(g)), c / 2) if np.isinf(g).any() else (g / c, c)

def same_scale(g, c):
    return unscale_solution(g, c)[0], c

def undivided(g, c):
    gradient, after = unscale_solution(g, c)
    return gradient * c, after

assert grade(unscale_solution, by_entries, same=same_pair, **scaler_cases)
assert not grade(infinities_only, by_entries, same=same_pair, **scaler_cases)
assert not grade(same_scale, by_entries, same=same_pair, **scaler_cases)
assert not grade(undivided, by_entries, same=same_pair, **scaler_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def rounds_within(x, dtype, part):
    rounded = torch.tensor(x).to(dtype).double().item()
    return abs(rounded - x) <= part * torch.finfo(dtype).eps * abs(x)

normal_range = scalars(-100, 100).filter(lambda x: abs(x) > 1e-3) | on(1 + 2**-8, 1 + 2**-11, 1 + 2**-24)  # ties
verify(
    'rounding is off by at most half a spacing, relative to the number',
    lambda x, dtype: rounds_within(x, dtype, 0.5),
    slip=('takes a third', lambda x, dtype: rounds_within(x, dtype, 1 / 3)),
    x=normal_range, dtype=on(torch.float32, torch.bfloat16, torch.float16), tries=60,
)
verify(
    'under autocast the scores are off by about 2^-8, relative to them',
    lambda seed: 0.3 < errors[seed] * 2**8 < 1.2,
    slip=('expects the 2^-11 of float16', lambda seed: 0.3 < errors[seed] * 2**11 < 1.2),
    seed=[0, 1, 2],
)
verify(
    'autocast costs less than one digit in a hundred',
    lambda seed: abs(mixed_shares[seed] - shares[seed]) < 0.01,
    slip=('compares with chance', lambda seed: abs(mixed_shares[seed] - 0.1) < 0.01),
    seed=[0, 1, 2],
)
verify(
    'a scale of 65536 keeps gradients that float16 loses without it',
    lambda scale: lost > 0.02 and ((scale * v).half() != 0).double().mean() > 0.999,
    slip=('divides by the scale first', lambda scale: ((v / scale).half() != 0).double().mean() > 0.999),
    scale=[2**16],
)

# %% [markdown]
# ## `torch.compile`, `torch.export` and ONNX: the graph of a computation
#
# Usually PyTorch runs one operation at a time, and each reads its inputs from memory and writes its result there.
# `torch.compile(model)` records the operations as a graph. Then it can fuse several into one, so that fewer bytes are moved
# {cite}`ansel2024pytorch`. Its default backend, `inductor`, writes and compiles code, so on a CPU it needs a C++ compiler. With `backend='eager'` the graph
# is recorded and run as it is. A Python `if` that depends on a number in a tensor cannot be recorded:

# %%
class Gate(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):                           # (n, 64)
        h = self.inner[0](x)                        # (n, 32)
        if h.sum() > 0:
            h = -h
        return self.inner[2](h)                     # (n, 10)

# %%
gate, graphs = Gate(network(0).to(device)), []
def keep(graph, inputs):                            # a backend that counts
    graphs.append(graph)
    return graph.forward

with torch.no_grad():
    recorded = torch.compile(gate, backend=keep)(X_test).cpu()
    plain = gate(X_test).cpu()
print('equal:', close(recorded, plain), '  graphs:', len(graphs))

# %% [markdown]
# There are two graphs, one before and one after the `if`. Such a **graph break** costs time, and nothing tells you about it. With `fullgraph=True` it is
# an error. We print its first line; the others name the place in the program:

# %%
try:
    torch.compile(gate, backend='eager', fullgraph=True)(X_test)
except torch._dynamo.exc.Unsupported as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# The remedy is `torch.where`: it takes both results, and a condition says which to return. So there is no `if`, and the graph is whole:

# %%
class Branchless(Gate):
    def forward(self, x):
        h = self.inner[0](x)
        h = torch.where(h.sum() > 0, -h, h)         # both in the graph
        return self.inner[2](h)

whole = Branchless(network(0).to(device))
with torch.no_grad():
    compiled = torch.compile(whole, backend='eager', fullgraph=True)(X_test)
    print('equal:', close(compiled.cpu(), gate(X_test).cpu()))

# %% [markdown]
# Where a C++ compiler is installed, `torch.compile(whole)` is all that you type.
#
# ### torch.export and ONNX: run the graph elsewhere
#
# `torch.export` records the whole model, for one example input. By default the graph then takes inputs of this shape only. We declare
# the number of rows as dynamic, so that it takes batches of any size:

# %%
cpu_model = copy.deepcopy(models[0]).cpu()
rows = torch.export.Dim('rows')
exported = torch.export.export(
    cpu_model, (torch.zeros(5, 64),), dynamic_shapes=({0: rows},))
for node in exported.graph.nodes:
    if node.op == 'call_function':
        arguments = ', '.join(map(str, node.args))
        print(f'{node.name:9} = {node.target}({arguments})')
print('seven rows:', tuple(exported.module()(torch.zeros(7, 64)).shape))

# %% [markdown]
# **ONNX** is a file format for such graphs. Many programs can run them, on phones and in browsers, too. The package `onnx`
# contains one of these programs, which is slow but needs NumPy only. We compare its scores with those of PyTorch:

# %%
try:
    from onnx.reference import ReferenceEvaluator
    onnx_program = torch.onnx.export(exported, dynamo=True, verbose=False)
except ImportError:
    onnx_program = None
    print('pip install onnx onnxscript, then run this cell again')

# %%
def onnx_scores(x):                                 # NumPy in, NumPy out
    proto = onnx_program.model_proto
    name = proto.graph.input[0].name
    return ReferenceEvaluator(proto).run(None, {name: x})[0]

if onnx_program:
    nodes = onnx_program.model_proto.graph.node
    print('operations:', *[node.op_type for node in nodes])
    with torch.no_grad():
        want = cpu_model(X_test.cpu()).numpy()
    got = onnx_scores(X_test.cpu().numpy())
    print('difference:', below(np.abs(got - want).max(), 1e-12))

# %% [markdown]
# A linear layer has become one operation, `Gemm`, a general matrix product with a sum. The numbers agree up to rounding.

# %% tags=["checks"]
@torch.no_grad()
def gates_agree(seed, sign):
    x = torch.randn(4, 64, generator=torch.Generator().manual_seed(seed)).to(device)
    return close(gate(x).cpu(), (sign * whole(x)).cpu())

verify(
    'with torch.where the model computes what it computed with the if',
    lambda seed: gates_agree(seed, 1),
    slip=('has the other sign', lambda seed: gates_agree(seed, -1)),
    seed=[0, 1, 2, 3, 4, 5],
)
verify(
    'one data-dependent if gives two graphs',
    lambda breaks: len(graphs) == breaks + 1,
    slip=('expects one', lambda breaks: len(graphs) == breaks),
    breaks=[1],
)
if onnx_program:
    @torch.no_grad()
    def onnx_agrees(n, other):
        x = torch.randn(n, 64, generator=torch.Generator().manual_seed(n))
        return close(onnx_scores(x.numpy()), (models[1].cpu() if other else cpu_model)(x), atol=1e-12)

    verify(
        'the exported network computes the same for other numbers of rows',
        lambda n: onnx_agrees(n, False),
        slip=('compares with another network', lambda n: onnx_agrees(n, True)),
        n=[1, 2, 7],
    )

# %% [markdown]
# ## Weights of 8 bits: int8 with a scale for each row
#
# This part continues [the network of the first part](#device-cuda-if-there-is-one-else-cpu-and-todevice). After training,
# weights can be stored as whole numbers from $-127$ to $127$, in one byte each {cite}`jacob2018quantization`. This is called **quantization**. In
# `nn.Linear` each row of the weights belongs to one output. Row $i$ gets its own **scale** $s_i = \max_j |w_{ij}| / 127$. In place of the weight
# $w_{ij}$ we store $q_{ij}$: the quotient $w_{ij}/s_i$, rounded to the nearest whole number. When the network computes, $s_i q_{ij}$ stands for the weight:

# %%
def quantize(W):                                    # (m, d)
    s = W.abs().amax(1, keepdim=True) / 127         # (m, 1)
    s[s == 0] = 1                                   # a row of zeros
    q = (W / s).round().to(torch.int8)              # (m, d)
    return q, s

# %% [markdown]
# Rounding moves $w_{ij}/s_i$ by at most $\frac12$, so each weight moves by at most half its scale:
# $|w_{ij} - s_i q_{ij}| \le s_i/2$. A weight half-way between two multiples of $s_i$ reaches the bound.

# %%
def through_int8(model):
    model, largest = copy.deepcopy(model), 0.0
    with torch.no_grad():
        for layer in (model[0], model[2]):
            q, s = quantize(layer.weight)
            moved = (layer.weight - s * q) / s      # in scales
            largest = max(largest, moved.abs().max().item())
            layer.weight.copy_(s * q)
    return model, largest

# %%
results = [through_int8(model) for model in models]
int8_shares = [share_right(model) for model, _ in results]
largest = [most for _, most in results]
print('largest error, in scales:', between(largest, 0.49, 0.5 + 1e-9))
print(f'right: {100 * np.mean(int8_shares):.0f} %,'
      f' before {100 * np.mean(shares):.0f} %')
size = sum(layer.weight.numel() for layer in (models[0][0], models[0][2]))
print(f'bytes of the weights: {size} and {4 * (32 + 10)} for the scales,'
      f' in float32 {4 * size}')

# %% [markdown]
# The networks are about as good as before, with about a quarter of the bytes of float32. Our program saves no time, because it multiplies in float64
# again. For speed you need a library that multiplies the whole numbers, such as `torchao` for PyTorch.
#
# ````{admonition} A tempting mistake
# :class: warning
# One scale for the whole matrix is simpler. But if one row is much larger than another, the small row can become zero:
# ````

# %%
W = torch.tensor([[0.1, 0.2, 0.3], [100.0, 50.0, -80.0]])
s = W.abs().max() / 127
single = (s * (W / s).round())[0].tolist()
print('one scale:    ', [f'{v:.3f}' for v in single])
q, s = quantize(W)
print('a scale a row:  ', [f'{v:.3f}' for v in (s * q)[0].tolist()])

# %% [markdown]
# ```{exercise} ★★ Experiment: how few bits are enough?
# :label: devices-bits
# With $k$ bits the whole numbers run from $-(2^{k-1} - 1)$ to $2^{k-1} - 1$. Let $a$ be the mean share of right test digits of the three networks
# in float64. Quantize all weights with $k = 2, 3, 4, \dots$ bits. What is the first $k$ for which the mean share is more than $a - 0.15$: with one scale for
# each row, and with one scale for each matrix? Predict both numbers. Then change `quantize` and try it.
# ```

# %%
def fewest_bits():
    """Bits for a scale a row and for a scale a matrix: two ints."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
@cache
@torch.no_grad()
def share_with_bits(k, by_row):
    found = []
    for model in models:
        model, top = copy.deepcopy(model), 2 ** (k - 1) - 1
        for layer in (model[0], model[2]):
            sizes = layer.weight.abs()
            s = (sizes.amax(1, keepdim=True) if by_row else sizes.max()) / top
            layer.weight.copy_(s * (layer.weight / s).round())
        found.append(share_right(model))
    return float(np.mean(found))

@cache
def measured_bits():
    return [next(k for k in range(2, 9) if np.mean(shares) - share_with_bits(k, by_row) < 0.15) for by_row in (True, False)]

def is_measured(said):
    if len(said) != 2:
        raise ValueError('give two numbers')
    for name, guess, bits in zip(('row', 'matrix'), said, measured_bits(), strict=True):
        if guess != bits:
            raise ValueError(f'another number is measured with a scale for each {name}; try it')
    return True

grade(lambda: is_measured(fewest_bits()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} devices-bits
# :class: dropdown
# ```
# For these networks few bits are enough. With one scale for each matrix it takes one bit more, because the rows are
# of different sizes. With 2 bits the only whole numbers are $-1$, 0 and 1. The wrong answers ask for 8 bits, for the same number twice, and for the two numbers the wrong way round.

# %% jupyter={"source_hidden": true}
right_bits = measured_bits()
assert grade(lambda: is_measured(right_bits), lambda: True, [()])
assert not grade(lambda: is_measured((8, 8)), lambda: True, [()])
assert not grade(lambda: is_measured((right_bits[0],) * 2), lambda: True, [()])
assert not grade(lambda: is_measured(right_bits[::-1]), lambda: True, [()])
print('bits:', *right_bits)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def moved(W):  # in units of the scales
    q, s = quantize(torch.tensor(W))
    return ((torch.tensor(W) - s * q) / s).abs().max().item()

verify(
    'each weight moves by at most half its scale',
    lambda W: moved(W) <= 0.5 + 1e-13,  # W / s is at most 127, a rounding of it at most 127 * 2^-53
    slip=('takes four tenths', lambda W: moved(W) <= 0.4),
    W=matrices((1, 3), (2, 4), edges=True), tries=60,
)
verify(
    'a weight half-way between two levels moves by exactly half its scale',
    lambda level: moved([[127.0, level + 0.5]]) == 0.5,
    slip=('takes a weight on a level', lambda level: moved([[127.0, level + 0.0]]) == 0.5),
    level=integers(-127, 126), tries=40,
)
verify(
    'int8 costs less than one digit in a hundred',
    lambda seed: abs(int8_shares[seed] - shares[seed]) < 0.01,
    slip=('compares with chance', lambda seed: abs(int8_shares[seed] - 0.1) < 0.01),
    seed=[0, 1, 2],
)

# %% [markdown]
# ## Summary
#
# Choose the device once, move the model and the data there, draw random numbers on the CPU, and print few digits. Count
# operations and bytes before you time: below the intensity of the GPU, it waits for data. Matrix products can run in bfloat16, where each rounding has a
# relative error of at most $2^{-8}$. A model without an `if` that depends on numbers can be recorded as one graph, which runs without the Python code. With 8 bits
# and a scale for each row, each weight moves by at most half its scale.
#
# **Further reading.** {cite:t}`williams2009roofline` show how to judge a program by its operations and bytes. {cite:t}`micikevicius2018mixed` introduce
# gradient scaling, with the networks that need it. {cite:t}`ansel2024pytorch` explain how `torch.compile` records Python.
