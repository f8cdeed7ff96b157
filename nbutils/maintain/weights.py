"""Train what pages load: `python -m nbutils.maintain.weights [NAME ...]` (`make weights`); without a name, what is stale.

`book/weights.yml` names each training: the `.py` file of its section, the function there that gives a
`nbutils.weights.Training`, and the step whose state is kept. Or it lists `runs`, the arguments of the function for each:
then their losses and answers are kept, and no weights. Of the file, that function alone is executed, with what it reads,
float64 being the default. The digests of this code and of the data are stored with the weights.
"""
import argparse
import contextlib
import hashlib
import json
import sys
import time
from typing import NamedTuple

import yaml

from nbutils import weights
from nbutils.maintain import environment, notebooks, sections, sources

LISTED = notebooks.ROOT / 'book' / 'weights.yml'
BYTES = 1_500_000  # of one file


class Recipe(NamedTuple):
    """A line of book/weights.yml."""
    name: str
    source: str    # the path of a `.py` file in percent format
    training: str  # the name of a function in it
    at: int | None = None      # the step whose state is kept
    runs: list | None = None   # or the arguments of each run, of which the losses and answers are kept


def recipes(path=LISTED):
    """All trainings that are listed, by name."""
    listed = yaml.safe_load(path.read_text('utf-8'))
    return {name: Recipe(name, **fields) for name, fields in listed.items()}


def code(recipe, root=notebooks.ROOT):
    """The statements of the source that the training needs, as syntax trees. Raises ValueError where it is not there."""
    section = sections.Section(root / recipe.source)
    wanted = [n for n, names in enumerate(section.names) if recipe.training in names.binds]
    if not wanted:
        raise ValueError(f'{recipe.source} has no {recipe.training}, which book/weights.yml names for {recipe.name}')
    needed = [wanted[-1]]
    while True:  # what functions read may be defined behind them
        trees = section.needed(needed)
        names = {name for n in needed for name in section.names[n].reads_later}
        more = [n for n, one in enumerate(section.names) if one.binds & names and n not in needed]
        if not more:
            return trees
        needed = sorted({*needed, *more})


def source_digest(recipe, root=notebooks.ROOT):
    """A digest of the code of a training, whatever its comments, docstrings and layout."""
    return hashlib.sha256(' '.join(map(sections.plain, code(recipe, root))).encode()).hexdigest()


@contextlib.contextmanager
def in_float64():
    """Sections set this default dtype. It also decides what a step draws from a generator."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@in_float64()
def training(recipe, root=notebooks.ROOT, arguments=None):
    """The training as it is before its first step; of several runs the one with these arguments, or the first."""
    import ast

    names = {'__name__': recipe.name}
    exec(compile(ast.fix_missing_locations(ast.Module(list(code(recipe, root)), [])), recipe.source, 'exec'), names)
    return names[recipe.training](*(arguments or (recipe.runs or [()])[0]))


def stale(recipe, root=notebooks.ROOT):
    """Why stored weights do not fit the source and the data as they are, with the remedy; '' where they do."""
    remedy = f'make weights NAME={recipe.name}'
    try:
        task = training(recipe, root)
        stored = weights.runs(recipe.name, task.data) if recipe.runs else weights.load(recipe.name, task)
    except (FileNotFoundError, ValueError) as error:
        return f'{error}' if remedy in f'{error}' else f'{error}: mend it, then {remedy}'
    about = weights.read(recipe.name, task.data)[1] if recipe.runs else stored.about
    if about['source'] != source_digest(recipe, root):
        return f'the weights {recipe.name} were trained by other code than {recipe.source} has now: {remedy}'
    if recipe.runs:
        missing = [run for run in recipe.runs if tuple(run) not in stored] or [*stored][len(recipe.runs):]
        return f'the runs {recipe.name} are not those of book/weights.yml: {remedy}' if missing else ''
    if stored.at != recipe.at:
        return f'of the weights {recipe.name} step {stored.at} was kept, and book/weights.yml says {recipe.at}: {remedy}'
    return ''


@in_float64()
def audits():
    """For each training whose weights are stored, how far from them the steps end that are taken again."""
    found = {}
    for recipe in [one for one in recipes().values() if not one.runs]:
        task = training(recipe)
        stored = weights.load(recipe.name, task)
        weights.resume(task, stored)
        found[recipe.name] = weights.apart(task.model, stored.after)
    return found


@in_float64()
def train(recipe, root=notebooks.ROOT, say=lambda line: None):
    """Run a training from its first step to its last; gives the content of its file.

    Before that it is resumed, as a page will do. Raises ValueError where this misses, or the file would be too large.
    """
    import safetensors.torch
    import torch

    if recipe.runs:
        return train_runs(recipe, root, say)
    task = training(recipe, root)
    if not 0 < recipe.at <= task.steps - weights.STEPS:
        raise ValueError(f'{recipe.name} has {task.steps} steps: keep one that leaves {weights.STEPS} behind it')
    parts, curve, start, first = {}, [], time.process_time(), 0
    for last, part in ((recipe.at, 'state'), (recipe.at + weights.STEPS, 'after'), (task.steps, 'end')):
        while first < last:
            number = min(100, last - first)
            curve.append(weights.advance(task, first, number))
            first += number
            took = time.process_time() - start
            say(f'{recipe.name}: step {first} of {task.steps}, loss {curve[-1].mean():.3f}, {took:.0f} s')
        kept = task.model.state_dict() if part == 'after' else weights.state(task)
        parts |= {f'{part}/{name}': tensor.clone().contiguous() for name, tensor in kept.items()}
    about = {'at': recipe.at, 'steps': task.steps, 'optimizer': type(task.optimizer).__name__,
             'source': source_digest(recipe, root), 'data': weights.digest(task.data)}
    kept, again = {name[6:]: tensor for name, tensor in parts.items() if name.startswith('state/')}, training(recipe, root)
    weights.restore(again, kept)
    losses = weights.advance(again, recipe.at, weights.STEPS)
    missed = weights.apart(again.model, {name[6:]: tensor for name, tensor in parts.items() if name.startswith('after/')})
    if not missed < 1e-9 or not torch.allclose(losses, torch.cat(curve)[recipe.at:recipe.at + weights.STEPS], rtol=1e-9):
        raise ValueError(f'{recipe.name} resumed at step {recipe.at} misses what it gave ({missed:.0e}): draw all that is '
                         f'random from its generator, and have its loss change nothing but the generator')
    content = safetensors.torch.save(parts | {'curve': torch.cat(curve)}, {'about': json.dumps(about)})
    if len(content) > BYTES:
        raise ValueError(f'{recipe.name} takes {len(content):,} bytes, and a file may have {BYTES:,}: train a smaller model')
    return content


def train_runs(recipe, root=notebooks.ROOT, say=lambda line: None):
    """Take all steps of each run; gives the content of the file, with losses and answers. Raises ValueError where the first
    steps of a run, taken again, differ, or the file would be too large."""
    import safetensors.torch

    parts, start = {}, time.process_time()
    for n, run in enumerate(recipe.runs):
        task = training(recipe, root, run)
        curve = weights.advance(task, 0, task.steps)
        kept = weights.Run(curve, task.answers(task.model).contiguous())
        again = training(recipe, root, run)
        if (missed := weights.retrace(again, kept)) > 0:
            raise ValueError(f'{recipe.name} {run} begun again misses what it gave ({missed:.0e}): draw all that is random '
                             f'from its generator')
        parts |= {f'{n}/curve': kept.curve, f'{n}/answers': kept.answers}
        say(f'{recipe.name} {run}: loss {curve[-100:].mean():.3f}, {time.process_time() - start:.0f} s')
    about = {'runs': recipe.runs, 'source': source_digest(recipe, root), 'data': weights.digest(task.data)}
    content = safetensors.torch.save(parts, {'about': json.dumps(about)})
    if len(content) > BYTES:
        raise ValueError(f'{recipe.name} takes {len(content):,} bytes, and a file may have {BYTES:,}: keep fewer runs')
    return content


def main(argv=None):
    parser = argparse.ArgumentParser(description='Train the models that pages load.')
    parser.add_argument('names', nargs='*', help='of book/weights.yml; without any, what is stale')
    names, listed = parser.parse_args(argv).names, recipes()
    if unknown := sorted({*names} - {*listed}):
        sys.exit(f'Stopped: book/weights.yml has no {", ".join(unknown)}: it has {", ".join(listed)}.')
    environment.restart('nbutils.maintain.weights', argv)
    for recipe in [listed[name] for name in names] if names else [one for one in listed.values() if stale(one)]:
        try:
            content = train(recipe, say=lambda line: print(line, flush=True))
            sources.replace(weights.FOLDER / f'{recipe.name}.safetensors', content)
        except (ValueError, sources.SourceError) as error:
            sys.exit(f'Stopped: {error}.')
        print(f'{recipe.name}: {len(content) / 1e6:.2f} MB')


if __name__ == '__main__':
    main()
