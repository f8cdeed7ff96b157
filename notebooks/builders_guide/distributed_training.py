# ---
# jupyter:
#   book:
#     functions:
#       dealt: "dealt(10, 3)"
#     main: dist-mean
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Beyond one machine
#
# A batch has 64 rows, and you have two computers. Each computes the gradient for some of the rows, and they average the two
# gradients. With 32 rows each, the average is the gradient of the whole batch. With 48 and 16 rows it is not, and no error
# message tells you. How can many processes train one model as if they were one, and how much do they have to send?
#
# - **You need** [training in minibatches](../regression/minibatch_training.ipynb),
#   [automatic differentiation](../calculus/automatic_differentiation.ipynb) and
#   [hidden layers](../neural_networks/hidden_layers.ipynb).
# - **You build** data parallel training in three lines, and the ring that adds gradients. Then you use PyTorch's
#   `DistributedDataParallel`, `fully_shard` and `torchrun`.
# - **Runs in** 10 seconds. All tensors are float64, except in the script of the last part.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import io
import multiprocessing
import os
import runpy
import socket
import sys
import tempfile
import traceback
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch._dynamo  # here once, or each process would import it for itself
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

from nbutils import data
from nbutils.cases import integers, on, scalars, seeds
from nbutils.checks import below, close, grade, verify
from nbutils.figures import GREY, panels
from nbutils.training import batches

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # the matrices are small: a second thread would mostly wait
plt.style.use('nbutils.book')

# %% [markdown]
# ## Data parallel training: all-reduce of the gradients
#
# A **process** is a running program with a memory of its own. Several processes can run on one computer or on many. On this
# page they exchange data only by sending messages. Each knows how many they are, $K$ (in PyTorch the *world size*), and its own
# number
# from 0 to $K - 1$, its **rank**.

# %% tags=["hide-input"]
def member(job, rank, K, group, folder, results):
    try:
        os.environ.setdefault('GLOO_SOCKET_IFNAME', 'lo0' if sys.platform == 'darwin' else 'lo')  # stay on this machine
        if group:
            dist.init_process_group('gloo', init_method=f'file://{folder}/meet', rank=rank, world_size=K)
        results.put((rank, job(rank, K), None))
        if group:
            dist.barrier()  # nobody leaves while another one still waits for data
            dist.destroy_process_group()
    except BaseException:
        results.put((rank, None, traceback.format_exc()))

def run(job, K, group=True, seconds=60):
    fork, got = multiprocessing.get_context('fork'), {}
    with tempfile.TemporaryDirectory() as folder:
        results = fork.Queue()
        processes = [fork.Process(target=member, args=(job, k, K, group, folder, results), daemon=True) for k in range(K)]
        try:
            for process in processes:
                process.start()
            while len(got) < K:
                rank, result, error = results.get(timeout=seconds)
                if error:
                    raise RuntimeError(f'process {rank} of {K}: {error}')
                got[rank] = result
            for process in processes:
                process.join(5)
        finally:  # whatever happened, no process is left
            for process in processes:
                if process.pid:
                    process.kill()
                    process.join()
    return [got[rank] for rank in range(K)]

# %% [markdown]
# Our function `run(job, K)` starts $K$ processes and lets each compute `job(rank, K)`. In the job, `dist.all_reduce(g)` adds the
# tensors `g` of all processes and puts the sum into `g` on each of them:

# %%
def add_up(rank, K):
    g = torch.tensor([[1.0, 2.0], [3.0, 6.0]])[rank]
    dist.all_reduce(g)
    return g.tolist()

for rank, g in enumerate(run(add_up, 2)):
    print(f'process {rank} has the sum {g}, so the mean {[v / 2 for v in g]}')

# %% [markdown]
# No process leaves `all_reduce` before all have called it. The function `run`, whose code is folded above, makes the processes as copies of
# the notebook, by *fork*. On Windows this works in WSL only. A script of your own you start with `torchrun`, as the end of this
# page shows.
#
# In **data parallel** training each process has a copy of the model with the same parameters $\boldsymbol\theta$, and a
# part of the batch, its **shard**. Let $\mathbf{g}_k$ be the gradient of the mean loss over the rows of process $k$, and
# $\bar{\mathbf{g}}$ the gradient of the mean loss over the whole batch. If all shards have the same number of rows, and the
# loss of a row does not depend on the other rows, then
#
# ```{math}
# :label: dist-mean
# \bar{\mathbf{g}} = \frac{1}{K} \sum_{k=0}^{K-1} \mathbf{g}_k .
# ```
#
# The reason is that the mean of the means of equally large groups is the mean of all. In code these are three lines, between
# `loss.backward()` and `optimizer.step()`:

# %%
def average(model, K):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= K

# %% mystnb={"image": {"alt": "Two columns, process 0 and process 1. In each, from top to bottom, four boxes: 32 rows of 784 numbers; model with theta; gradient, 25,450 numbers; the same step. A wide box with the words all-reduce, the mean of both lies across both columns between gradient and step."}} tags=["hide-input"]
fig, ax = panels(1, height=3.3)
boxes = [(3.6, '32 rows: 32 × 784'), (2.7, 'model, parameters $\\boldsymbol{\\theta}$'),
         (1.8, 'gradient $\\mathbf{g}_{%d}$: 25,450 numbers'), (0.0, 'step: the same new $\\boldsymbol{\\theta}$')]
for k, x in enumerate((0.0, 3.4)):
    ax.text(x, 4.3, f'process {k}', ha='center', fontsize=11.5)
    for row, (y, words) in enumerate(boxes):
        ax.text(x, y, words % k if '%' in words else words, ha='center', va='center', fontsize=11.5,
                bbox={'boxstyle': 'round,pad=0.35', 'fc': 'none', 'ec': 'C0'})
    for top, bottom in ((3.6, 2.7), (2.7, 1.8), (1.8, 0.9), (0.9, 0.0)):
        ax.annotate('', (x, bottom + 0.27), (x, top - 0.27), arrowprops={'arrowstyle': '->', 'color': GREY})
ax.add_patch(plt.Rectangle((-1.2, 0.63), 5.8, 0.54, fc='none', ec='C1', lw=1.5))
ax.text(1.7, 0.9, 'all-reduce: the mean $\\bar{\\mathbf{g}}$ on both', ha='center', va='center', fontsize=11.5)
ax.set(xlim=(-1.6, 5.0), ylim=(-0.4, 4.6))
ax.axis('off');

# %% [markdown] tags=["caption"]
# Data parallel training on two processes. They start with equal parameters and take equal steps, so the parameters stay equal.
# In a step only gradients are sent.

# %% [markdown]
# We try it on 64 handwritten digits and a network with 32 hidden units. Each process takes every $K$-th row: `rows` is this
# slice of the batch.

# %%
train = data.mnist('train')
X, y = torch.tensor(train.x), torch.tensor(train.y)          # (4000, 784)
X_64, y_64 = X[:64], y[:64]

def net():
    torch.manual_seed(0)                    # the same start on every process
    return nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))

# %%
def flat(model):                      # the gradient as one vector
    return torch.cat([p.grad.ravel() for p in model.parameters()])

# %%
def by_hand(rank, K):
    model, rows = net(), slice(rank, None, K)
    F.cross_entropy(model(X_64[rows]), y_64[rows]).backward()
    average(model, K)
    return flat(model).numpy()

def gap(one, other):                  # relative to the first
    return np.linalg.norm(other - one) / np.linalg.norm(one)

hand = {K: run(by_hand, K) for K in (1, 2, 4)}
one = hand[1][0]                      # a single process, all 64 rows
print('numbers in the gradient:', len(one))
for K in (2, 4):
    print(K, 'processes as one:',
          all(gap(one, other) < 1e-12 for other in hand[K]))

# %% [markdown]
# The gradients agree up to rounding: the order of the additions differs.
#
# ### DistributedDataParallel
#
# In practice you wrap the model in `DistributedDataParallel`, or **DDP**. It averages the gradients while `backward()` still
# runs: the gradients of the last layers are ready first, so they are sent first. At the start DDP copies the parameters of
# process 0 to all others. Our three lines do not, so they need the same seed everywhere.

# %%
def by_ddp(rank, K):
    model, rows = DistributedDataParallel(net()), slice(rank, None, K)
    F.cross_entropy(model(X_64[rows]), y_64[rows]).backward()
    return flat(model).numpy()

wrapped = run(by_ddp, 2)
print('DDP as one process:', all(gap(one, g) < 1e-12 for g in wrapped))

# %% [markdown]
# ```{exercise} ★★ Experiment: add, and forget to divide
# :label: dist-forget
# Somebody leaves out `p.grad /= K`, so the optimizer gets $K$ times the gradient. How many times as long is the first step with
# plain gradient descent, and with Adam? Predict both, rounded to whole numbers, as the pair `step_factors(K)`. Then try it: set
# `p.grad` of a parameter by hand, call `optimizer.step()`, and repeat with `K * p.grad`.
# ```

# %%
def step_factors(K):
    """Factors of the first step, ints: int K >= 1 -> (SGD's, Adam's).

    step_factors(1) is (1, 1).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def first_step(optimizer, scale):
    p = nn.Parameter(torch.zeros(3))
    p.grad = scale * torch.tensor([0.3, -0.1, 0.2])
    optimizer([p], lr=0.1).step()
    return p.detach().norm().item()

def tried(K):
    return tuple(round(first_step(optimizer, K) / first_step(optimizer, 1))
                 for optimizer in (torch.optim.SGD, torch.optim.Adam))

grade(step_factors, tried, K=integers(1, 64), tries=12)

# %% [markdown]
# ```{solution-start} dist-forget
# :class: dropdown
# ```
# Gradient descent takes a step of $K$ times the length, as with a learning rate $K$ times as large. Adam divides the gradient by its
# own size, so the factor cancels, up to Adam's small $\epsilon$. With Adam you hardly see the mistake. With plain gradient descent
# the training may diverge when you add more processes. The wrong answers expect the same for both, or a square root.

# %% jupyter={"source_hidden": true}
def step_factors_solution(K):
    return K, 1

def both_longer(K):
    return K, K

def both_equal(K):
    return 1, 1

def a_root(K):
    return K, round(K**0.5)

assert grade(step_factors_solution, tried, K=integers(1, 64), tries=12)
assert not grade(both_longer, tried, K=integers(1, 64), tries=12)
assert not grade(both_equal, tried, K=integers(1, 64), tries=12)
assert not grade(a_root, tried, K=integers(1, 64), tries=12)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def as_one(results, scale):
    return all(gap(one, scale * other) < 1e-12 for other in results)

def added(scale):  # what average leaves where each process has twice the gradient of the one before
    def job(rank, K):
        model = nn.Linear(1, 1, bias=False)
        model.weight.grad = torch.full((1, 1), 2.0**rank)
        average(model, K)
        return model.weight.grad.item()
    return run(job, 2) == [3 * scale] * 2

verify(
    'average leaves the mean of the gradients on each process',
    added,
    slip=('leaves the sum', lambda scale: added(2 * scale)),
    scale=[0.5],
)
ways = {'by hand on 2': hand[2], 'by hand on 4': hand[4], 'DDP on 2': wrapped}
verify(
    'on 2 and 4 processes by hand, and on 2 with DDP, each process has the gradient of the whole batch',
    lambda way: as_one(ways[way], 1),
    slip=('forgets to divide by K', lambda way: as_one(ways[way], len(ways[way]))),
    way=['by hand on 2', 'by hand on 4', 'DDP on 2'],
)

def by_formulas(mean):  # the same gradient without autograd
    linear, _, last = net()
    with torch.no_grad():
        h = linear(X_64).relu()
        z = (last(h).softmax(1) - F.one_hot(y_64, 10)) / (64 if mean else 1)
        back = (z @ last.weight) * (h > 0)
        return torch.cat([part.ravel() for part in (back.T @ X_64, back.sum(0), z.T @ h, z.sum(0))]).numpy()

verify(
    'one process has the gradient of the formulas of backpropagation',
    lambda mean: close(one, by_formulas(mean)),
    slip=('takes the sum over the rows', lambda mean: close(one, by_formulas(not mean))),
    mean=[True],
)

# %% tags=["checks"]
def sums(results, scale):
    return all(after == [scale * 4.0, scale * 8.0] for after in results)

verify(
    'all_reduce leaves the sum on both processes',
    lambda scale: sums(run(add_up, 2), scale),
    slip=('expects the mean', lambda scale: sums(run(add_up, 2), scale / 2)),
    scale=[1],
)

def first_weight(rank, K, wrap):
    torch.manual_seed(rank)
    model = wrap(nn.Linear(3, 1))
    return next(model.parameters())[0, 0].item()

def starts_equal(wrap):
    first, second = run(lambda rank, K: first_weight(rank, K, wrap), 2)
    return first == second

verify(
    'DDP copies the parameters of process 0',
    lambda pair: starts_equal(pair[0]),
    slip=('says so of a plain model', lambda pair: starts_equal(pair[1])),
    pair=[(DistributedDataParallel, nn.Sequential)],
)

# %% tags=["checks"]
def fails(rank, K):
    if rank == 1:
        raise ValueError('no rows')
    dist.all_reduce(torch.ones(1))  # waits for process 1

jobs = {'fails': fails, 'adds up': add_up}

def error_of(job, words):
    try:
        run(job, 2)
    except RuntimeError as error:
        return words in str(error) and not multiprocessing.active_children()
    return False

verify(
    'run raises the error of a process, does not wait for the others, and leaves no process behind',
    lambda pair: error_of(jobs[pair[0]], 'ValueError: no rows'),
    slip=('expects it of a job without an error', lambda pair: error_of(jobs[pair[1]], 'ValueError: no rows')),
    pair=[('fails', 'adds up')],
)

# %% [markdown]
# ## Three traps: uneven shards, batch normalization, DistributedSampler
#
# ### Uneven shards: the mean of means is not the mean
#
# Now process 0 has the first 48 rows and process 1 the other 16. DDP still takes the plain mean of the two gradients. We compare it with
# the gradient that one process computes from all 64 rows.

# %%
def uneven(rank, K):
    model = DistributedDataParallel(net())
    rows = slice(0, 48) if rank == 0 else slice(48, 64)
    F.cross_entropy(model(X_64[rows]), y_64[rows]).backward()
    return flat(model).numpy()

equal_weights = run(uneven, 2)
print(f'relative error, 48 + 16 rows: {gap(one, equal_weights[0]):.2f}')

# %% [markdown]
# Each of the last 16 rows counts three times as much as each of the others. Let process $k$ have $n_k$ of
# the $n$ rows. The right weights are the shares of the rows:
#
# ```{math}
# :label: dist-uneven
# \bar{\mathbf{g}} = \sum_{k=0}^{K-1} \frac{n_k}{n}\, \mathbf{g}_k .
# ```
#
# DDP divides by $K$. So we let each process multiply the *sum* of its losses by $K/n$. The two factors $K$
# cancel, and what remains is the gradient of the sum over all rows, divided by $n$:

# %%
def weighted(rank, K):
    model = DistributedDataParallel(net())
    rows = slice(0, 48) if rank == 0 else slice(48, 64)
    losses = F.cross_entropy(
        model(X_64[rows]), y_64[rows], reduction='sum')
    (losses * K / 64).backward()
    return flat(model).numpy()

right_weights = run(weighted, 2)
print('as one process:', gap(one, right_weights[0]) < 1e-12)

# %% [markdown]
# The trap is common with text. Each process may have the same number of sentences, but sentences differ in length. If each process
# takes the mean over its own words, then a word counts for more on a process with fewer words.
#
# ### Batch normalization: each process has its own mean
#
# **Batch normalization** takes each feature, subtracts its mean over the rows of the batch, and divides by its standard
# deviation over these rows. PyTorch adds a tiny number to the variance, which keeps it from dividing by zero. So the output for a row depends on
# the other rows. Let process 0 have the rows 0, 1, 2, 3 of a single feature, and process 1 the rows 10, 11, 12, 13.

# %%
z = torch.tensor([[0, 1, 2, 3], [10, 11, 12, 13]]).double()
norm = nn.BatchNorm1d(1, affine=False)     # in training mode

def local(rank, K):
    return norm(z[rank][:, None])[:, 0].tolist()

# %%
def show(rows):
    return ' '.join(f'{v:5.2f}' for v in rows)

for rank, rows in enumerate(run(local, 2)):
    print(f'process {rank}:', show(rows))
print('one process:', show(norm(z.reshape(8, 1))[:, 0].tolist()))

# %% [markdown]
# The two processes return the same numbers, so nothing shows any more that the rows of process 1 are larger. The remedy is to add up
# the number of rows, the sums and the sums of squares over all processes first:

# %%
def synchronized(z):                       # (rows here, features)
    counts = torch.full_like(z[0], len(z))
    sums = torch.stack([counts, z.sum(0), (z**2).sum(0)])
    dist.all_reduce(sums)
    mean, square = sums[1] / sums[0], sums[2] / sums[0]
    return (z - mean) / (square - mean**2 + 1e-5).sqrt()

# %%
def both(rank, K):
    return synchronized(z[rank][:, None])[:, 0].tolist()

for rank, rows in enumerate(run(both, 2)):
    print(f'process {rank}:', show(rows))

# %% [markdown]
# Our version has the right outputs, but not the right gradients, because autograd does not follow `dist.all_reduce` to the other processes. On
# GPUs, `nn.SyncBatchNorm.convert_sync_batchnorm(model)` replaces each such layer by one with the right outputs and the right
# gradients. Layer normalization works on each row
# alone, so it does not need any of this.
#
# ### DistributedSampler counts rows twice
#
# `DistributedSampler` deals out the rows of a data set, the same number to each process. Let us give it 10 rows and 3 processes:

# %%
def dealt(n, K):
    return [list(DistributedSampler(range(n), K, rank, shuffle=False))
            for rank in range(K)]

for rank, rows in enumerate(dealt(10, 3)):
    print(f'process {rank}: rows', *rows)

# %% [markdown]
# There are 12 places for 10 rows, so rows 0 and 1 appear twice. In training, where the rows are shuffled before each epoch, this hardly matters. But a test
# score counts two rows double. For example, let the loss of row $i$ be $i$:

# %%
losses = torch.arange(10.0)
twice = torch.cat([losses[rows] for rows in dealt(10, 3)])
print(f'mean over the rows {losses.mean():.2f},'
      f' over the places {twice.mean():.2f}')

# %% [markdown]
# For a test, take the rows `range(rank, n, K)` in place of the sampler. Then all-reduce the sum of the losses and the number of rows, and divide.
#
# ```{exercise} ★★ Program: average gradients of uneven shards
# :label: dist-shards
# Write `combine(gradients, counts)`. It gets the gradient of the mean loss of each process and the number of its rows. It returns
# the gradient of the mean loss over all rows. A process may have no rows. PyTorch's mean loss of no rows is
# `nan`, and then so is its gradient. At least one process has rows.
# ```

# %%
def combine(gradients, counts):
    """The gradient for all rows: (K, d) and (K,) float64 -> (d,).

    combine(tensor([[1.], [5.]]), tensor([3., 1.])) is tensor([2.]).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def row_by_row(gradients, counts):
    repeated = [g for g, n in zip(gradients.tolist(), counts.tolist(), strict=True) for _ in range(int(n))]
    return torch.tensor(repeated).mean(0)

def drawn_counts(K, seed):
    counts = torch.randint(0, 5, (K,), generator=torch.Generator().manual_seed(seed)).double()
    return counts if counts.sum() else counts + 2

def drawn_gradients(counts, seed):
    g = torch.randn(len(counts), 2, generator=torch.Generator().manual_seed(seed)).round(decimals=1)
    return torch.where(counts[:, None] > 0, g, torch.nan)

shard_cases = dict(
    gradients=lambda counts: seeds().map(lambda seed: drawn_gradients(counts, seed)),
    counts=(on(1, 2) | integers(1, 5)).flatmap(lambda K: seeds().map(lambda seed: drawn_counts(K, seed))),
)
grade(combine, row_by_row, tries=60, **shard_cases)

# %% [markdown]
# ```{solution-start} dist-shards
# :class: dropdown
# ```
# Weigh each gradient by the share of its rows, and leave out the processes without rows: `nan` times zero is `nan`, not zero. The wrong
# answers take the mean of the means, let `nan` through, and divide by the number of processes.

# %% jupyter={"source_hidden": true}
def combine_solution(gradients, counts):
    some = counts > 0
    return counts[some] @ gradients[some] / counts.sum()

def mean_of_means(gradients, counts):
    return gradients[counts > 0].mean(0)

def lets_nan_through(gradients, counts):
    return counts @ gradients / counts.sum()

def divides_by_processes(gradients, counts):
    some = counts > 0
    return counts[some] @ gradients[some] / len(counts)

assert grade(combine_solution, row_by_row, tries=60, **shard_cases)
assert not grade(mean_of_means, row_by_row, tries=60, **shard_cases)
assert not grade(lets_nan_through, row_by_row, tries=60, **shard_cases)
assert not grade(divides_by_processes, row_by_row, tries=60, **shard_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
weights = {'by rows': right_weights, 'equal': equal_weights}
verify(
    'with the sum of the losses times K/n, DDP with 48 and 16 rows gives the gradient of the whole batch',
    lambda pair: as_one(weights[pair[0]], 1),
    slip=('takes the mean of the means', lambda pair: as_one(weights[pair[1]], 1)),
    pair=[('by rows', 'equal')],
)

forms = {'synchronized': both, 'local': local}

def normalized(job):
    together = norm(z.reshape(8, 1))[:, 0]
    return close(torch.tensor(run(job, 2)).ravel(), together)

verify(
    'with sums over all processes, the normalized rows are those of one process',
    lambda pair: normalized(forms[pair[0]]),
    slip=('lets each process take its own mean', lambda pair: normalized(forms[pair[1]])),
    pair=[('synchronized', 'local')],
)

def places_and_rows(n, K, rows):
    places = sorted(row for part in dealt(n, K) for row in part)
    return len(places) == -(-n // K) * K and set(places) == set(range(n)) and len(places) - len(set(places)) == rows(n, K)

verify(
    'the sampler fills the last places with rows that are already dealt',
    lambda n, K: places_and_rows(n, K, lambda n, K: -n % K),
    slip=('expects each row once', lambda n, K: places_and_rows(n, K, lambda n, K: 0)),
    n=integers(4, 40), K=integers(1, 4), tries=60,
)
verify(
    'counting by range(rank, n, K) meets each row once',
    lambda n, K: sorted(row for rank in range(K) for row in range(rank, n, K)) == list(range(n)),
    slip=('takes the sampler', lambda n, K: sorted(row for part in dealt(n, K) for row in part) == list(range(n))),
    n=integers(4, 40), K=integers(1, 4), tries=60,
)

# %% [markdown]
# ## Ring all-reduce: how much is sent
#
# How does `all_reduce` add up? One process could act as a server: all others send it their $P$ numbers, and it sends the sum back to
# each. Then the server alone sends $(K - 1)P$ numbers, more and more as processes are added.
#
# In a **ring** the processes together send just as many numbers as with a server, but each sends the same share. The vector is
# cut into $K$ pieces, and each process
# sends only to its right neighbour. In each of the first $K - 1$ rounds, every process sends one piece to its neighbour, which
# adds it to its own, and sends this sum on in the next round. After these rounds each process has one complete piece, with all
# $K$ summands. In the other $K - 1$ rounds the complete pieces are passed on, until every
# process has all of them. The figure below shows the rounds of four processes. There are $2(K - 1)$ rounds with $P/K$ numbers
# each. So if $K$ divides $P$, each process sends
#
# ```{math}
# :label: dist-ring
# S = 2\, \frac{K - 1}{K}\, P
# ```
#
# numbers. This is less than $2P$, however many processes there are. The next cell is what one process does in round $t$, which counts
# from 0. In round 0 process $k$ sends piece $k$, and in each later round the piece that it has just received. So in round $t$
# this is piece $k - t$, counted modulo $K$. `isend` starts to send and does not wait, `recv` waits until the data are there.

# %%
def ring_round(g, rank, K, t):
    pieces = g.tensor_split(K)               # parts of g, not copies
    out, into = pieces[(rank - t) % K], pieces[(rank - t - 1) % K]
    received = torch.empty_like(into)
    sending = dist.isend(out, (rank + 1) % K)
    dist.recv(received, (rank - 1) % K)
    sending.wait()
    into.copy_(into + received if t < K - 1 else received)
    return out.numel()                       # numbers sent

# %%
def ring_all_reduce(g, rank, K):
    return sum(ring_round(g, rank, K, t) for t in range(2 * (K - 1)))

# %% [markdown]
# Each process starts with 1,200 random numbers. We compare the result with `dist.all_reduce` and count:

# %%
def ring_job(rank, K, P=1200):
    g = torch.randn(P, generator=torch.Generator().manual_seed(rank))
    total = g.clone()
    dist.all_reduce(total)
    return ring_all_reduce(g, rank, K), close(g, total), g.numpy()

# %%
rings = {K: run(ring_job, K) for K in (2, 3, 4, 6)}
for K, results in rings.items():
    print(f'K = {K}: right {all(right for _, right, _ in results)},',
          'each sends', *{sent for sent, _, _ in results},
          f'formula {2 * (K - 1) * 1200 // K}, server {(K - 1) * 1200}')

# %% [markdown]
# To watch the ring, we let four processes start with ones. Then each number says how many summands it has already collected.

# %%
def watch(rank, K):
    g, seen = torch.ones(K), []              # pieces of one number
    for t in range(2 * (K - 1)):
        ring_round(g, rank, K, t)
        seen.append(g.tolist())
    return seen

counts = np.array(run(watch, 4))             # (process, round, piece)

# %% mystnb={"image": {"alt": "Six tables of 4 by 4 numbers in two rows, one for each round. After rounds 1 and 2 a diagonal of twos, then threes, moves through ones; after round 3 each row has one four; after rounds 4, 5 and 6 there are two, three and four fours in each row."}} tags=["hide-input"]
fig, axes = panels(3, rows=2, height=1.9)
for t, ax in enumerate(axes.flat):
    ax.imshow(np.ones((4, 4)), cmap='Purples', vmin=0, vmax=1.4, alpha=(counts[:, t] - 1) / 9, aspect='auto')
    for k in range(4):
        for j in range(4):
            whole = counts[k, t, j] == 4
            ax.text(j, k, int(counts[k, t, j]), ha='center', va='center', fontsize=12, weight='bold' if whole else 'normal')
    ax.set(title=f'after {t + 1} rounds' if t else 'after 1 round', xticks=range(4), yticks=range(4))
    ax.grid(False)
axes[0, 0].set_ylabel('process')
axes[1, 0].set(xlabel='piece', ylabel='process');

# %% [markdown] tags=["caption"]
# How many summands each piece (column) has on each process (row), after each round. After three rounds each process
# holds one complete piece, with all 4 summands (bold). After six rounds all pieces are complete everywhere.

# %% [markdown]
# The order of the additions differs from piece to piece. But each complete piece is computed once and then copied, so all processes hold
# the same bits. Therefore their models do not drift apart by rounding.
#
# ```{exercise} ★★ Pencil: when does the ring pay?
# :label: dist-times
# To send $s$ numbers from one process to another takes $\alpha + \beta s$ seconds: $\alpha$ to begin, and $\beta$ for each number. A
# server with $K - 1$ other processes receives their messages one at a time, and then it sends the sum to them one at a time. In a round of the ring
# all send and receive at the same time. How long does each way take for $P$ numbers, where $K$ divides $P$? Write the answer as `durations`. By which factor is
# the ring faster if $\beta P$ is much larger than $K\alpha$, and if $\alpha$ is much larger than $\beta P$?
# ```

# %%
def durations(P, K, alpha, beta):
    """Seconds of (server, ring): ints P, K >= 1, floats -> (float, float).

    K divides P. durations(100, 1, 1.0, 1.0) is (0.0, 0.0).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_adding(P, K, alpha, beta):
    def message(s):
        return alpha + beta * s

    server = [message(P) for direction in ('in', 'out') for other in range(1, K)]
    pieces = [message(len(piece)) for half in range(2) for piece in np.split(np.zeros(P), K)[1:]]
    return float(sum(server)), float(sum(pieces))

time_cases = dict(P=lambda K: integers(1, 9).map(lambda size: size * K), K=on(1, 2) | integers(1, 8),
                  alpha=scalars(0, 5), beta=scalars(0.1, 5))
grade(durations, by_adding, tries=60, **time_cases)

# %% [markdown]
# ```{solution-start} dist-times
# :class: dropdown
# ```
# The server needs $2(K - 1)$ messages of $P$ numbers: $2(K - 1)(\alpha + \beta P)$ seconds. The ring needs $2(K - 1)$ rounds
# with messages of $P/K$ numbers: $2(K - 1)(\alpha + \beta P/K)$ seconds. For $K \ge 2$ the ratio of the two tends to $K$ if $\beta P$ grows. If
# $\alpha$ is much larger than $\beta P$, it is about one. The wrong answers begin only once, send all $P$ numbers in each round, and let the ring take $K$
# rounds in each half.

# %% jupyter={"source_hidden": true}
def durations_solution(P, K, alpha, beta):
    return 2 * (K - 1) * (alpha + beta * P), 2 * (K - 1) * (alpha + beta * P / K)

def begins_once(P, K, alpha, beta):
    return alpha + 2 * (K - 1) * beta * P, alpha + 2 * (K - 1) * beta * P / K

def whole_vector(P, K, alpha, beta):
    return 2 * (K - 1) * (alpha + beta * P), 2 * (K - 1) * (alpha + beta * P)

def one_round_more(P, K, alpha, beta):
    return 2 * (K - 1) * (alpha + beta * P), 2 * K * (alpha + beta * P / K)

assert grade(durations_solution, by_adding, tries=60, **time_cases)
assert not grade(begins_once, by_adding, tries=60, **time_cases)
assert not grade(whole_vector, by_adding, tries=60, **time_cases)
assert not grade(one_round_more, by_adding, tries=60, **time_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def added_up(results, P):
    return all(right and len(g) == P for _, right, g in results)

verify(
    'the ring adds up, also where K does not divide P',
    lambda K, P: added_up(run(lambda rank, K: ring_job(rank, K, P), K), P),
    slip=('expects one number more', lambda K, P: added_up(rings[K], P)),
    K=[3], P=[7],
)
verify(
    'each process sends 2 (K - 1) P / K numbers',
    lambda K, P: all(sent == 2 * (K - 1) * P / K for sent, _, _ in rings[K]),
    slip=('counts one round more', lambda K, P: all(sent == (2 * K - 1) * P / K for sent, _, _ in rings[K])),
    K=[2, 3, 4, 6], P=[1200],
)
verify(
    'after the ring all processes hold the same bits',
    lambda K: all((g == rings[K][0][2]).all() for _, _, g in rings[K]),
    slip=('compares with the sum in the order of the ranks', lambda K: all(
        (g == sum(torch.randn(1200, generator=torch.Generator().manual_seed(k)) for k in range(K)).numpy()).all()
        for _, _, g in rings[K])),
    K=[3, 4, 6],
)
verify(
    'after 3 of 6 rounds each of 4 processes has one complete piece, and after 6 rounds all',
    lambda rounds: ((counts[:, rounds - 1] == 4).sum(1) == rounds - 2).all(),
    slip=('says so one round earlier', lambda rounds: ((counts[:, rounds - 2] == 4).sum(1) == rounds - 2).all()),
    rounds=[3, 4, 5, 6],
)

# %% [markdown]
# ## Training with DDP, gradient accumulation, FSDP and torchrun
#
# Now we train on all training digits for two epochs, in batches of 80. The program is the usual loop with two changes: DDP is around the
# model, and each process takes its shard of each batch. All processes shuffle with the same seed, so they see the same batches.

# %%
test = data.mnist('test')
X_test, y_test = torch.tensor(test.x), torch.tensor(test.y)

def train_shard(rank, K, wrap=DistributedDataParallel):
    model = wrap(net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    g = torch.Generator().manual_seed(0)
    model.train()
    for X_b, y_b in batches(g, 80, X, y, epochs=2):
        mine = slice(rank, None, K)
        optimizer.zero_grad()
        F.cross_entropy(model(X_b[mine]), y_b[mine]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        return model(X_test).argmax(1).numpy()      # (1000,)

# %%
told = {K: run(train_shard, K) for K in (1, 2, 4)}
for K, answers in told.items():
    print(f'K = {K}: right {(answers[0] == y_test.numpy()).mean():.2f},',
          'all say the same as one process:',
          all((a == told[1][0]).all() for a in answers))

# %% [markdown]
# One, two and four processes give the same answer on each test digit. Now we leave out DDP:
# `nn.Sequential` takes its place, and sends nothing. Then two processes train two models, each on half of the rows:

# %%
apart = run(lambda rank, K: train_shard(rank, K, wrap=nn.Sequential), 2)
print('two processes without DDP say the same:',
      (apart[0] == apart[1]).all())

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# You go from one process to $K$, and each keeps its batch of 80 rows. Then the whole batch grows to $80K$ rows, so an epoch has
# only $1/K$ of the steps. The learning rate that was right for 80 rows need not be right any more. On this page the *whole* batch has 80
# rows for each $K$. That is why the results agree.
# :::
#
# ### Gradient accumulation with no_sync
#
# If a batch does not fit into memory, you compute it in parts and let `backward()` add up the gradients. With DDP, each
# `backward()` sends gradients, although only the sum is needed. Inside `with model.no_sync():` nothing is sent. So you run the
# forward and the backward pass of all parts but the last inside. In the code, `nullcontext()` stands for a block that changes
# nothing. To count what is sent, we register a *hook*: a function that DDP calls in place of its own all-reduce.

# %%
def accumulate(rank, K, quiet):
    model, sent = DistributedDataParallel(net()), []
    def count(_, bucket):
        sent.append(bucket.buffer().numel())
        return allreduce_hook(None, bucket)
    model.register_comm_hook(None, count)
    for part in range(4):
        rows = slice(4 * rank + part, None, 4 * K)
        with model.no_sync() if quiet and part < 3 else nullcontext():
            (F.cross_entropy(model(X_64[rows]), y_64[rows]) / 4).backward()
    return sum(sent), flat(model).numpy()

# %%
parts = {quiet: run(lambda rank, K: accumulate(rank, K, quiet), 2)
         for quiet in (False, True)}
for quiet, results in parts.items():
    sent, g = results[0]
    print(f'no_sync {quiet!s:5}: {sent:6} numbers reduced,',
          'as one process:', gap(one, g) < 1e-12)

# %% [markdown]
# ### FSDP: the parameters are shared out as well
#
# With DDP each process holds all parameters, all gradients, and all that the optimizer keeps for them. **FSDP** (fully sharded data
# parallel) gives each process only a part of each. Shortly before parameters are needed, they are gathered from all processes, and
# afterwards they are dropped again. In PyTorch this is one line, `fully_shard(model)`. Then `p.to_local()` is the part of `p` that this
# process holds, and `p.full_tensor()` gathers the whole.

# %%
def by_fsdp(rank, K):
    model, rows = net(), slice(rank, None, K)
    fully_shard(model)
    F.cross_entropy(model(X_64[rows]), y_64[rows]).backward()
    held = sum(p.to_local().numel() for p in model.parameters())
    whole = [p.grad.full_tensor().ravel() for p in model.parameters()]
    return held, torch.cat(whole).numpy()

# %%
halves = run(by_fsdp, 2)
for rank, (held, g) in enumerate(halves):
    print(f'process {rank} holds {held} of {len(g)} parameters,',
          'gradient as one process:', gap(one, g) < 1e-12)

# %% [markdown]
# Here the whole model is gathered at once. For a large model you call `fully_shard` on each of its blocks first, and on the model last.
# Then only few blocks are whole at any time. Models with very wide layers are also cut *inside* the layers: each process computes some columns of a
# matrix product. This is called [*tensor parallel*](#dist-tensor-parallel).
#
# ### torchrun, and the same script on GPUs
#
# Outside of a notebook you write a script, and `torchrun` starts it $K$ times. It tells each process its rank and the
# world size by environment variables. If the computer has a GPU for each process, the script uses the GPUs, and they exchange data with NVIDIA's library
# *nccl*. Otherwise it uses CPUs and the library *gloo*, as this page does.

# %%
script = '''import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
device = "cuda:" + os.environ["LOCAL_RANK"] if gpu else "cpu"
dist.init_process_group("nccl" if gpu else "gloo")
rank, K = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
x = torch.randn(64, 2)                                # (64, 2)
y = x @ torch.tensor([[2.0], [-1.0]]) + 0.5           # (64, 1)
x, y = x[rank::K].to(device), y[rank::K].to(device)
model = DistributedDataParallel(torch.nn.Linear(2, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for _ in range(100):
    optimizer.zero_grad()
    (model(x) - y).square().mean().backward()
    optimizer.step()
weights = [f"{v:.2f}" for v in model.module.weight[0].tolist()]
print(f"process {rank} of {K}: {len(x)} rows, weights", *weights)
del model                                             # before the group
dist.destroy_process_group()'''

# %% [markdown]
# The command is `torchrun --standalone --nproc-per-node 2 script.py`. Each of the two processes then prints its rank, that it has 32
# rows, and the weights $2.00$ and $-1.00$, with which the data were made. Delete the model first, because DDP still uses the
# group of processes; otherwise the end of the program can hang. On several computers `torchrun` is
# started once on each, with `--nnodes` and `--rdzv-endpoint` in place of `--standalone`.

# %% [markdown]
# ```{exercise} ★★ Program: tensor parallel
# :label: dist-tensor-parallel
# Two layers compute $\phi(\mathbf{X}\mathbf{W}_1)\mathbf{W}_2$ with ReLU as $\phi$, and $K$ processes share out the weights. Each
# computes $\phi(\mathbf{X}\mathbf{A})\mathbf{B}$ with a part $\mathbf{A}$ of $\mathbf{W}_1$ and a part $\mathbf{B}$ of
# $\mathbf{W}_2$, and one `all_reduce` adds up the results. Write `my_parts(W_1, W_2, k, K)`, which returns $\mathbf{A}$ and $\mathbf{B}$ of
# process $k$, such that the sum is right and each process holds one $K$-th of both matrices.
# ```

# %%
def my_parts(W_1, W_2, k, K):
    """A and B of process k: float64 (d, h) and (h, q) -> two tensors.

    K divides h. For K = 1 they are W_1 and W_2.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def summed(split):
    def output(K, shape, seed):
        g = torch.Generator().manual_seed(seed)
        d, h, q = shape[0] * K, shape[1] * K, shape[2]
        X, W_1, W_2 = (torch.randn(n, m, generator=g) for n, m in ((3, d), (d, h), (h, q)))
        held = [split(W_1, W_2, k, K) for k in range(K)]
        if any(A.numel() * K != W_1.numel() or B.numel() * K != W_2.numel() for A, B in held):
            raise ValueError('each process holds one K-th of each matrix')
        return sum((X @ A).relu() @ B for A, B in held)
    return output

one_process = summed(lambda W_1, W_2, k, K: (W_1 / K, W_2) if K < 2 else (W_1[:, k::K], W_2[k::K]))
shapes = integers(1, 4).flatmap(lambda d: integers(1, 3).map(lambda h: (d, h, d % 3 + 1)))
cut_cases = dict(K=integers(1, 4), shape=shapes, seed=seeds())
grade(summed(my_parts), one_process, tries=40, **cut_cases)

# %% [markdown]
# ```{solution-start} dist-tensor-parallel
# :class: dropdown
# ```
# ReLU acts on each hidden unit alone, so the hidden units are shared out: process $k$ gets the columns of $\mathbf{W}_1$ that compute its
# units, and the rows of $\mathbf{W}_2$ that read them. The product with $\mathbf{W}_2$ is a sum over the hidden units, and each process
# adds up its own. The wrong answers take rows of both matrices, columns whose rows belong to another process, and the same units on each
# process. PyTorch calls the two cuts `ColwiseParallel` and `RowwiseParallel`. It stores a weight as (outputs, inputs), so its columns are our
# rows. It gives the output of one process, and each of the two holds half of the weights:

# %% jupyter={"source_hidden": true}
def my_parts_solution(W_1, W_2, k, K):
    h = W_1.shape[1] // K
    return W_1[:, k * h:(k + 1) * h], W_2[k * h:(k + 1) * h]

def by_library(rank, K):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
    whole = model(X_64)
    plan = {'0': ColwiseParallel(), '2': RowwiseParallel()}
    cut = parallelize_module(model, init_device_mesh('cpu', (K,)), plan)
    shapes = [tuple(cut[i].weight.to_local().shape) for i in (0, 2)]
    return shapes, (cut(X_64) - whole).abs().max().item()

for rank, (shapes, difference) in enumerate(run(by_library, 2)):
    print(f'process {rank} holds weights of shape', *shapes, 'difference', below(difference, 1e-12))

# %% jupyter={"source_hidden": true}
def rows_of_both(W_1, W_2, k, K):
    d, h = W_1.shape[0] // K, W_1.shape[1] // K
    return (W_1[k * d:(k + 1) * d], W_2[k * h:(k + 1) * h])

def rows_of_another(W_1, W_2, k, K):
    return my_parts_solution(W_1, W_2, k, K)[0], my_parts_solution(W_1, W_2, (k + 1) % K, K)[1]

def the_same_units(W_1, W_2, k, K):
    return my_parts_solution(W_1, W_2, 0, K)

assert grade(summed(my_parts_solution), one_process, tries=40, **cut_cases)
assert not grade(summed(rows_of_both), one_process, tries=40, **cut_cases)
assert not grade(summed(rows_of_another), one_process, tries=40, **cut_cases)
assert not grade(summed(the_same_units), one_process, tries=40, **cut_cases)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def started(rank, K, path, port):  # what torchrun does for each process, in processes that have imported torch
    places = {'RANK': rank, 'LOCAL_RANK': rank, 'WORLD_SIZE': K, 'LOCAL_WORLD_SIZE': K, 'MASTER_PORT': port}
    os.environ['MASTER_ADDR'] = '127.0.0.1'
    os.environ.update({name: str(v) for name, v in places.items()})
    torch.set_default_dtype(torch.float32)
    with redirect_stdout(io.StringIO()) as said:
        runpy.run_path(path)
    return said.getvalue()

def launch(text, K):
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'script.py')
        path.write_text(text)
        return run(lambda rank, K: started(rank, K, path, port), K, group=False)

def finds(K, rows):
    words = f' of {K}: {rows} rows, weights 2.00 -1.00'
    return all(f'process {rank}{words}' in said for rank, said in enumerate(launch(script, K)))

# %% tags=["checks"]
verify(
    'two and four processes with DDP answer on each test digit as one process does',
    lambda K: all((a == told[1][0]).all() for a in told[K]),
    slip=('says so of processes that do not communicate', lambda K: all((a == told[1][0]).all() for a in apart[:K])),
    K=[2, 4],
)

verify(
    'four parts with no_sync give the gradient of the batch, and all gradients are sent once',
    lambda quiet: all(sent == len(g) and gap(one, g) < 1e-12 for sent, g in parts[quiet]),
    slip=('leaves no_sync out', lambda quiet: all(sent == len(g) for sent, g in parts[not quiet])),
    quiet=[True],
)
verify(
    'with fully_shard each of two processes holds half of the parameters and has the gradient of the batch',
    lambda share: all(gap(one, g) < 1e-12 and held == share * len(g) for held, g in halves),
    slip=('expects all of them', lambda share: all(held == 2 * share * len(g) for held, g in halves)),
    share=[0.5],
)
verify(
    'the script finds the weights with which its data were made, on each process',
    lambda K: finds(K, 64 // K),
    slip=('expects all rows on each process', lambda K: finds(K, 64)),
    K=[2],
)

# %% [markdown]
# ## Summary
#
# In data parallel training each process computes the gradient of the mean loss of its shard. The mean of these gradients, weighted by the numbers of
# rows, is the gradient of the whole batch. Uneven shards without these weights, batch normalization, and samplers that repeat rows break the
# equality, and no error message says so. A ring adds $P$ numbers on $K$ processes, and each process sends $2\frac{K-1}{K}P$ numbers. DDP keeps
# all parameters on each process, FSDP shares them out as well, and `torchrun` starts the same script on CPUs and on GPUs.
#
# **Further reading.** {cite:t}`li2020pytorch` describe how DDP is built, for readers who want to know what happens during `backward()`.
# {cite:t}`rajbhandari2020zero` introduce the sharing of parameters, gradients and moments. {cite:t}`patarasuk2009bandwidth`
# prove that the ring cannot be beaten: in every all-reduce some process has to send at least $2\frac{K-1}{K}P$ numbers.
