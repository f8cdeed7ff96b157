"""Trainings that a page cannot afford, stored so that a reader can audit them.

`make weights` has run such a training once, from the section's own code, in float64. It has kept the whole state at one
step and at the end, the parameters 40 steps after the former, and the loss of every step. A page takes those 40 steps again,
in view: they must lead to the stored parameters and losses. Then it shows what the end can do, from which a reader may also
train on.

Where a page compares many trainings, no weights are kept: of each there is the loss of every step and what the trained model
answered. A page takes their first steps again, in view, and must meet the stored losses.

    task = training()                          # the section's own: model, optimizer, generator, loss
    stored = weights.load('name', task)
    losses = weights.resume(task, stored)      # from the step that was kept, 40 steps
    weights.apart(task.model, stored.after)    # near 1e-15: it met the stored parameters
    weights.restore(task, stored.end)          # what the whole training gave

    found = weights.runs('name', data)         # by the arguments of the section's training, such as ('lenet', 0)
    weights.retrace(training('lenet', 0), found['lenet', 0])  # small: its first steps met the stored losses
"""
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
STEPS = 40  # how many are taken again
FIRST = 10  # how many of a run without weights


class Training(NamedTuple):
    """What one training needs, before its first step.

    `loss(generator)` draws a batch and gives its loss, a number; all that is random comes from the `generator`, on the CPU.
    `data` is what is trained on: a tensor, or an array. `rate(step)`, if given, is the learning rate of a step, from 0 on.
    `answers(model)`, if given, is a tensor that the trained model gives; it is kept where the weights are not.
    """
    model: Any
    optimizer: Any
    generator: Any
    loss: Callable
    data: Any
    steps: int
    rate: Callable | None = None
    clip: float | None = None  # the greatest norm of a gradient
    answers: Callable | None = None


class Stored(NamedTuple):
    """A stored training: the whole `state` at step `at` and at the `end`; the parameters `after` 40 steps more than `at`;
    `curve` (steps,), the loss before each step; and `about`, what else is known, as text by name."""
    at: int
    state: dict
    after: dict
    end: dict
    curve: Any
    about: dict


class Run(NamedTuple):
    """What is kept of a training without its weights: `curve` (steps,), the loss before each step, and the `answers`."""
    curve: Any
    answers: Any


def advance(training, first, number):
    """Take the steps first, first + 1, ... of a training: the losses before each, shape (number,).

    Layers that draw by themselves, such as dropout, draw from a seed that the training's generator gives at each step.
    """
    import torch

    model, optimizer, losses = training.model, training.optimizer, []
    model.train()
    with torch.random.fork_rng(devices=[]):
        for step in range(first, first + number):
            torch.random.default_generator.manual_seed(int(torch.randint(2**62, (), generator=training.generator)))
            if training.rate is not None:
                for group in optimizer.param_groups:
                    group['lr'] = training.rate(step)
            optimizer.zero_grad()
            value = training.loss(training.generator)
            value.backward()
            if training.clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), training.clip)
            optimizer.step()
            losses.append(value.detach())
    model.eval()
    return torch.stack(losses)


def state(training):
    """All that the next step hangs on, as tensors by name: parameters, moments of the optimizer, the generator."""
    found = {f'model.{name}': tensor.clone() for name, tensor in training.model.state_dict().items()}
    for number, moments in training.optimizer.state_dict()['state'].items():
        found |= {f'optimizer.{number}.{name}': tensor.clone() for name, tensor in moments.items()}
    return found | {'generator': training.generator.get_state().clone()}


def restore(training, kept, *, moments=True):
    """Bring a training to a kept state, in place; with `moments=False` the optimizer begins anew."""
    training.model.load_state_dict({name[6:]: tensor for name, tensor in kept.items() if name.startswith('model.')})
    found = {}
    for name, tensor in kept.items():
        if name.startswith('optimizer.') and moments:
            _, number, moment = name.split('.', 2)
            found.setdefault(int(number), {})[moment] = tensor.clone()
    training.optimizer.load_state_dict({'state': found, 'param_groups': training.optimizer.state_dict()['param_groups']})
    training.generator.set_state(kept['generator'])


def resume(training, stored, *, steps=STEPS, moments=True):
    """Go on from the step that was kept: the losses of the steps, to compare with `stored.curve` from `stored.at` on."""
    restore(training, stored.state, moments=moments)
    return advance(training, stored.at, steps)


def apart(model, parameters):
    """The largest difference between a model's parameters and stored ones, as a share of the largest of each tensor."""
    now = model.state_dict()
    shares = [(now[name] - kept).abs().max() / kept.abs().max().clamp(min=1e-300) for name, kept in parameters.items()]
    return float(max(shares))


def digest(data):
    """The SHA-256 of a tensor or an array: its kind, its shape and its numbers."""
    import numpy as np

    array = np.ascontiguousarray(data)
    return hashlib.sha256(f'{array.dtype.str} {array.shape} '.encode() + array.tobytes()).hexdigest()


def load(name, training):
    """The stored weights of this name. Raises FileNotFoundError where there are none, ValueError where they are damaged, or
    were trained on other data or with another model or optimizer than this training has; both with the remedy."""
    tensors, about, remedy = read(name, training.data)
    parts = {part: {key[len(part) + 1:]: tensor for key, tensor in tensors.items() if key.startswith(f'{part}/')}
             for part in ('state', 'after', 'end')}
    shapes = [{key: (tuple(tensor.shape), tensor.dtype) for key, tensor in one.items()}
              for one in (training.model.state_dict(), parts['after'])]
    if shapes[0] != shapes[1] or type(training.optimizer).__name__ != about['optimizer']:
        raise ValueError(f'the weights {name} belong to another model or optimizer than this one: {remedy}')
    if parts['state'].keys() != parts['end'].keys():
        raise ValueError(f'of the weights {name} the end is stored without all of its state: {remedy}')
    return Stored(about['at'], parts['state'], parts['after'], parts['end'], tensors['curve'], about)


def runs(name, data):
    """The stored runs of this name, each by the arguments of its training. Raises what `load` raises, with the remedy."""
    tensors, about, _ = read(name, data)
    return {tuple(run): Run(tensors[f'{n}/curve'], tensors[f'{n}/answers']) for n, run in enumerate(about['runs'])}


def retrace(training, run, *, steps=FIRST):
    """Take the first steps of a run again: the largest difference of their losses from the stored, as a share of these."""
    kept = run.curve[:steps]
    return float(((advance(training, 0, steps) - kept).abs() / kept.abs()).max())


def read(name, data):
    """The tensors of a file, what it says of itself, and the remedy that an error should name."""
    from safetensors import SafetensorError, safe_open

    path = FOLDER / f'{name}.safetensors'
    remedy = f'run make weights NAME={name} in a checkout of the book, or install nbutils again'
    if not path.is_file():
        raise FileNotFoundError(f'there is no {path}: {remedy}')
    try:
        with safe_open(path, 'pt') as file:
            tensors, about = {key: file.get_tensor(key) for key in file.keys()}, json.loads(file.metadata()['about'])
    except (SafetensorError, OSError, TypeError, KeyError, ValueError) as error:
        raise ValueError(f'{path} is damaged ({error}): {remedy}') from error
    if about['data'] != digest(data):
        raise ValueError(f'the weights {name} were trained on other data than these: {remedy}')
    return tensors, about, remedy
