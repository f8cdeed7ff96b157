"""Stored trainings: what is resumed meets what is stored, what is stale is named, and a small language model is audited."""
import pytest
import safetensors.torch
import torch

from nbutils import weights
from nbutils.data import alice
from nbutils.maintain import facts, notebooks
from nbutils.maintain import weights as make

SOURCE = '''# %%
import torch

from nbutils.weights import Training

# %%
rows = 50


def numbers():
    return torch.linspace(-1, 1, rows)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.drop, self.two = torch.nn.Linear(1, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1)

    def forward(self, x):
        return self.two(self.drop(self.one(x).tanh()))


# %%
print('not needed by the training')


# %%
def training(steps=90):
    torch.manual_seed(0)
    x = numbers()
    model = Net()

    def loss(generator):
        part = x[torch.randint(rows, (8,), generator=generator), None]
        return ((model(part) - part.sin()) ** 2).mean()  # an easy task

    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    return Training(model, optimizer, torch.Generator().manual_seed(1), loss, x, steps, clip=1.0)
'''
RECIPE = make.Recipe('small', 'small.py', 'training', 30)


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
    """The weights of small.py."""
    folder = tmp_path_factory.mktemp('trained')
    (folder / 'small.py').write_text(SOURCE)
    return make.train(RECIPE, folder)


@pytest.fixture
def stored(trained, tmp_path, monkeypatch):
    """A folder with small.py and its weights."""
    (tmp_path / 'small.py').write_text(SOURCE)
    monkeypatch.setattr(weights, 'FOLDER', tmp_path)
    (tmp_path / 'small.safetensors').write_bytes(trained)
    return tmp_path


def load(folder):
    task = make.training(RECIPE, folder)
    return task, weights.load('small', task)


def edit(folder, old, new):
    text = (folder / 'small.py').read_text()
    assert old in text
    (folder / 'small.py').write_text(text.replace(old, new))


# ---- what is stored ----

def test_resumed_steps_meet_those_that_are_stored(stored):
    task, kept = load(stored)
    losses = weights.resume(task, kept)
    assert torch.equal(losses, kept.curve[30:70]) and weights.apart(task.model, kept.after) == 0
    assert kept.curve.dtype == torch.float64 and kept.curve.shape == (90,) and not task.model.training


def same_state(task, kept):
    now = weights.state(task)
    return now.keys() == kept.keys() and all(torch.equal(now[name], tensor) for name, tensor in kept.items())


def test_a_training_goes_on_from_its_end_as_if_it_had_not_stopped(stored):
    whole, kept = load(stored)
    losses = weights.advance(whole, 0, 100)[90:]
    task, _ = load(stored)
    weights.restore(task, kept.end)
    assert torch.equal(weights.advance(task, 90, 10), losses) and same_state(task, weights.state(whole))


def test_an_end_without_its_state_is_refused(stored):
    path = stored / 'small.safetensors'
    with safetensors.safe_open(path, 'pt') as file:
        tensors, about = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()
    safetensors.torch.save_file({key: tensor for key, tensor in tensors.items() if not key.startswith('end/optimizer')}, path, about)
    with pytest.raises(ValueError, match='end is stored without all of its state: run make weights NAME=small'):
        load(stored)


def test_the_whole_training_is_met_from_its_first_step(stored):
    task, kept = load(stored)
    assert torch.equal(weights.advance(task, 0, 90), kept.curve) and same_state(task, kept.end)


def test_without_the_moments_it_misses(stored):
    task, kept = load(stored)
    losses = weights.resume(task, kept, moments=False)
    assert losses[0] == kept.curve[30] and losses[1] != kept.curve[31] and weights.apart(task.model, kept.after) > 0.01


def test_without_the_generator_it_misses(stored):
    task, kept = load(stored)
    kept.state['generator'] = torch.Generator().manual_seed(5).get_state()
    assert weights.resume(task, kept)[0] != kept.curve[30]


def test_with_one_parameter_changed_it_misses(stored):
    task, kept = load(stored)
    kept.state['model.two.bias'] += 1e-6
    weights.resume(task, kept)
    assert weights.apart(task.model, kept.after) > 1e-9


def test_resuming_twice_is_the_same_and_leaves_what_is_stored(stored):
    task, kept = load(stored)
    assert torch.equal(weights.resume(task, kept), weights.resume(task, kept))
    assert torch.equal(kept.state['generator'], load(stored)[1].state['generator'])


def test_the_global_generator_is_left_alone(stored):
    task, kept = load(stored)
    before = torch.get_rng_state()
    weights.resume(task, kept)
    assert torch.equal(torch.get_rng_state(), before)


def test_training_again_gives_the_same_bytes(stored):
    assert make.train(RECIPE, stored) == (stored / 'small.safetensors').read_bytes()


def test_rates_follow_the_step():
    p = torch.nn.Linear(1, 1, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(p.weight)
    task = weights.Training(p, torch.optim.SGD(p.parameters(), 9.0), torch.Generator(), lambda g: -p.weight.sum(), torch.zeros(1), 3,
                            rate=lambda step: 10.0 ** step)
    weights.advance(task, 1, 2)
    assert p.weight.item() == 110


def test_gradients_are_clipped():
    p = torch.nn.Linear(1, 1, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(p.weight)
    task = weights.Training(p, torch.optim.SGD(p.parameters(), 1.0), torch.Generator(), lambda g: -50 * p.weight.sum(), torch.zeros(1), 1,
                            clip=2.0)
    weights.advance(task, 0, 1)
    assert p.weight.item() == pytest.approx(2, rel=1e-6)


# ---- what no longer fits ----

def test_fresh_weights_are_not_stale(stored):
    assert make.stale(RECIPE, stored) == ''


@pytest.mark.parametrize('old, new', [
    ('  # an easy task', ''), ("print('not needed by the training')", "print('nor is this')"), ('rows = 50', 'rows = (50)'),
    ('return torch.linspace(-1, 1, rows)', 'return torch.linspace(\n        -1, 1, rows)'),
])
def test_comments_layout_and_other_code_do_not_count(stored, old, new):
    edit(stored, old, new)
    assert make.stale(RECIPE, stored) == ''


@pytest.mark.parametrize('old, new', [('part.sin()', 'part.cos()'), ('Dropout(0.2)', 'Dropout(0.1)'), ('manual_seed(1)', 'manual_seed(2)')])
def test_other_code_is_named_with_the_command(stored, old, new):
    edit(stored, old, new)
    assert make.stale(RECIPE, stored) == 'the weights small were trained by other code than small.py has now: make weights NAME=small'


@pytest.mark.parametrize('old, new, said', [
    ('torch.linspace(-1, 1, rows)', 'torch.linspace(-2, 1, rows)', 'trained on other data than these: run make weights NAME=small'),
    ('rows = 50', 'rows = 51', 'trained on other data than these: run make weights NAME=small'),
    ('torch.nn.Linear(8, 1)', 'torch.nn.Linear(8, 1, bias=False)', 'belong to another model or optimizer .* make weights NAME=small'),
    ('Adam', 'RMSprop', 'belong to another model or optimizer .* make weights NAME=small'),
])
def test_other_data_and_another_model_are_refused_when_loading(stored, old, new, said):
    edit(stored, old, new)
    with pytest.raises(ValueError, match=said):
        load(stored)
    assert 'make weights NAME=small' in make.stale(RECIPE, stored)


def test_another_step_is_named(stored):
    assert 'step 30 was kept, and book/weights.yml says 31: make weights NAME=small' in make.stale(RECIPE._replace(at=31), stored)


def test_missing_and_damaged_weights_are_named_with_the_remedy(stored):
    path = stored / 'small.safetensors'
    content = path.read_bytes()
    for damaged in (content[:-100], content[:5], b'', b'{}' * 50):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match='small.safetensors is damaged .* make weights NAME=small'):
            load(stored)
    path.unlink()
    with pytest.raises(FileNotFoundError, match='there is no .*small.safetensors: run make weights NAME=small'):
        load(stored)
    assert 'make weights NAME=small' in make.stale(RECIPE, stored)


def test_a_source_without_the_training_is_named(stored):
    edit(stored, 'def training', 'def other')
    assert 'small.py has no training, which book/weights.yml names for small' in make.stale(RECIPE, stored)


# ---- what cannot be stored ----

@pytest.mark.parametrize('at', [0, 51, 90])
def test_a_step_without_steps_behind_it_is_refused(stored, at):
    with pytest.raises(ValueError, match='small has 90 steps: keep one that leaves 40 behind it'):
        make.train(RECIPE._replace(at=at), stored)


def test_a_loss_that_remembers_is_refused(stored):
    edit(stored, '    def loss(generator):\n', '    seen = []\n\n    def loss(generator):\n        seen.append(1)\n')
    edit(stored, 'part.sin()', '(part * len(seen)).sin()')
    with pytest.raises(ValueError, match='small resumed at step 30 misses what it gave'):
        make.train(RECIPE, stored)


def test_a_large_model_is_refused(stored, monkeypatch):
    monkeypatch.setattr(make, 'BYTES', 1000)
    with pytest.raises(ValueError, match='bytes, and a file may have 1,000: train a smaller model'):
        make.train(RECIPE, stored)


def test_an_unknown_name_and_an_unwritable_folder_are_named(stored, tmp_path, monkeypatch):
    monkeypatch.setattr(make, 'recipes', lambda: {'small': RECIPE})
    monkeypatch.setattr(make, 'train', lambda recipe, say: b'weights')
    monkeypatch.setenv('PYTHONHASHSEED', '0')
    with pytest.raises(SystemExit, match='book/weights.yml has no large: it has small'):
        make.main(['large'])
    monkeypatch.setattr(weights, 'FOLDER', tmp_path / 'small.py')
    with pytest.raises(SystemExit, match='Stopped: .*small.safetensors cannot be written .* folder can be written'):
        make.main(['small'])


# ---- runs without weights ----

RUNS = make.Recipe('several', 'small.py', 'of_size', runs=[[8, 0], [8, 1], [4, 0]])
OF_SIZE = '''

# %%
def of_size(size, seed):
    torch.manual_seed(seed)
    x, model = numbers(), Net()

    def loss(generator):
        part = x[torch.randint(rows, (size,), generator=generator), None]
        return ((model(part) - part.sin()) ** 2).mean()

    def answers(model):
        return (model(x[:, None])[:, 0] > 0).detach()

    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    return Training(model, optimizer, torch.Generator().manual_seed(seed), loss, x, 30, answers=answers)
'''


@pytest.fixture
def several(tmp_path, monkeypatch):
    """A folder with small.py and the runs of several sizes and seeds."""
    (tmp_path / 'small.py').write_text(SOURCE + OF_SIZE)
    monkeypatch.setattr(weights, 'FOLDER', tmp_path)
    (tmp_path / 'several.safetensors').write_bytes(make.train(RUNS, tmp_path))
    return tmp_path


def test_of_each_run_the_losses_and_answers_are_kept(several):
    found = weights.runs('several', make.training(RUNS, several).data)
    assert [*found] == [(8, 0), (8, 1), (4, 0)] and make.stale(RUNS, several) == ''
    for run, kept in found.items():
        task = make.training(RUNS, several, run)
        assert torch.equal(weights.advance(task, 0, 30), kept.curve) and torch.equal(task.answers(task.model), kept.answers)


def test_a_step_draws_what_it_draws_in_a_section(several):
    edit(several, '- part.sin())', '- torch.rand(size, 1, generator=generator))')
    stored = safetensors.torch.load(make.train(RUNS, several))
    with make.in_float64():
        curve = weights.advance(make.training(RUNS, several, (8, 0)), 0, 30)
    assert torch.equal(curve, stored['0/curve'])


def test_the_first_steps_of_a_run_meet_its_losses_and_those_of_another_run_do_not(several):
    found = weights.runs('several', make.training(RUNS, several).data)
    assert weights.retrace(make.training(RUNS, several, (8, 0)), found[8, 0]) == 0
    for other in (8, 1), (4, 0):
        assert weights.retrace(make.training(RUNS, several, other), found[8, 0]) > 0.01


def test_runs_that_no_longer_fit_are_named_with_the_command(several):
    for runs in RUNS.runs[:2], [*RUNS.runs, [5, 0]]:
        problem = make.stale(RUNS._replace(runs=runs), several)
        assert problem == 'the runs several are not those of book/weights.yml: make weights NAME=several'
    edit(several, 'x[:, None])[:, 0] > 0', 'x[:, None])[:, 0] < 0')
    assert make.stale(RUNS, several) == 'the weights several were trained by other code than small.py has now: make weights NAME=several'
    edit(several, 'rows = 50', 'rows = 51')
    with pytest.raises(ValueError, match='trained on other data than these: run make weights NAME=several'):
        weights.runs('several', make.training(RUNS, several).data)


def test_runs_that_remember_and_runs_that_are_large_are_refused(several, monkeypatch):
    monkeypatch.setattr(make, 'BYTES', 100)
    with pytest.raises(ValueError, match='several takes .* bytes, and a file may have 100: keep fewer runs'):
        make.train(RUNS, several)
    edit(several, 'torch.manual_seed(seed)\n    x', 'x')
    with pytest.raises(ValueError, match=r'several \[8, 0\] begun again misses what it gave .*: draw all that is random from its generator'):
        make.train(RUNS, several)


# ---- a small language model, whose forty steps tests/unit/test_portable.py takes again ----

def test_the_language_model_stands_beside_counts():
    """A net that costs a minute does not reach what counting runs of five reaches in half a second, and passes runs of four."""
    recipe = make.recipes()['alice_gru']
    task = make.training(recipe)
    weights.restore(task, weights.load('alice_gru', task).end)
    names = {'__name__': 'bits'}
    with make.in_float64():
        exec((notebooks.ROOT / recipe.source).read_text('utf-8'), names)
        net = names['bits'](task.model, alice('test'))
    four, five = (facts.bits_per_character(alice('train'), alice('test'), order) for order in (4, 5))
    assert five < net < four
