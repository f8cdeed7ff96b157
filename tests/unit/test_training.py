import pytest
import torch
from torch.nn.functional import mse_loss

from nbutils import device
from nbutils.training import batches, fit


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def problem(n=7):
    g = generator(1)
    X, y = torch.randn(n, 3, generator=g, dtype=torch.float64), torch.randn(n, 1, generator=g, dtype=torch.float64)
    model = torch.nn.Linear(3, 1, dtype=torch.float64)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.linspace(-1, 2, p.numel()).view(p.shape))
    return model, X, y


def state(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def by_hand(model, steps, rate, clip=None):
    """The parameters (w, b) after SGD with these rates, from the formulas for a linear model, and the losses."""
    theta, losses = state(model).clone(), []
    for (X, y), eta in zip(steps, rate, strict=True):
        X1 = torch.cat([X, torch.ones(len(X), 1, dtype=X.dtype)], 1)
        r = X1 @ theta - y[:, 0]
        g = 2 * X1.T @ r / len(r)
        losses.append((r ** 2).mean())
        theta = theta - eta * g * (min(1, clip / g.norm()) if clip else 1)
    return theta, torch.stack(losses)


# ---- batches ----

def test_each_epoch_has_every_row_once_and_a_short_last_batch():
    rows = torch.arange(10)
    dealt = [part for part, in batches(generator(), 4, rows, epochs=3)]
    assert [len(part) for part in dealt] == [4, 4, 2] * 3
    orders = [torch.cat(dealt[i:i + 3]).tolist() for i in (0, 3, 6)]
    assert all(sorted(order) == list(range(10)) for order in orders)
    assert orders[0] != orders[1] != orders[2] != orders[0] and list(range(10)) not in orders


def test_one_epoch_unless_more_are_asked_for():
    assert len(list(batches(generator(), 5, torch.arange(10)))) == 2


def test_batches_of_one():
    assert sorted(part.item() for part, in batches(generator(), 1, torch.arange(4))) == [0, 1, 2, 3]


def test_a_batch_larger_than_the_data_holds_all_of_it():
    (part,), = batches(generator(), 99, torch.arange(3))
    assert sorted(part.tolist()) == [0, 1, 2]


def test_rows_stay_together():
    x = torch.arange(9)
    for a, b, c in batches(generator(), 2, x, 10 * x, torch.stack([x, -x], 1)):
        assert torch.equal(10 * a, b) and torch.equal(c, torch.stack([a, -a], 1))


def test_the_seed_decides_the_order():
    def order(seed):
        return torch.cat([part for part, in batches(generator(seed), 3, torch.arange(20), epochs=2)]).tolist()

    assert order(5) == order(5) != order(6)


def test_two_calls_with_one_generator_are_two_epochs_of_one():
    rows, one, two = torch.arange(8), generator(), generator()
    apart = [part.tolist() for _ in range(2) for part, in batches(one, 3, rows)]
    assert apart == [part.tolist() for part, in batches(two, 3, rows, epochs=2)]


def test_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    list(batches(generator(), 3, torch.arange(8)))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize('size, lengths, said', [
    (2, (5, 4), r'tensors of \[4, 5\] rows'), (2, (0,), r'of \[0\] rows'), (2, (), r'of \[\] rows'), (0, (5,), 'size 0'),
])
def test_bad_input_is_refused_at_once(size, lengths, said):
    with pytest.raises(ValueError, match=said):
        batches(generator(), size, *(torch.zeros(n) for n in lengths))


# ---- fit ----

def test_steps_are_those_of_the_formulas():
    model, X, y = problem()
    steps = list(batches(generator(), 3, X, y, epochs=4))
    want, losses = by_hand(model, steps, [0.05] * 12)
    got = fit(model, mse_loss, torch.optim.SGD(model.parameters(), 0.05), batches(generator(), 3, X, y, epochs=4))
    torch.testing.assert_close(state(model), want)
    torch.testing.assert_close(got, losses)
    assert got.shape == (12,) and not got.requires_grad


def test_old_gradients_are_cleared_before_the_first_step():
    model, X, y = problem()
    want, _ = by_hand(model, [(X, y)], [0.05])
    mse_loss(model(X), 5 * y).backward()
    fit(model, mse_loss, torch.optim.SGD(model.parameters(), 0.05), [(X, y)])
    torch.testing.assert_close(state(model), want)


def test_twice_with_the_same_seed_is_the_same():
    def run():
        model, X, y = problem(50)
        return fit(model, mse_loss, torch.optim.Adam(model.parameters()), batches(generator(3), 8, X, y, epochs=2)), state(model)

    (one, a), (two, b) = run(), run()
    assert torch.equal(one, two) and torch.equal(a, b)


def test_the_scheduler_steps_after_every_batch():
    model, X, y = problem()
    rates = [0.08, 0.04, 0.02, 0.01]
    want, _ = by_hand(model, [(X, y)] * 4, rates)
    optimizer = torch.optim.SGD(model.parameters(), 0.08)
    fit(model, mse_loss, optimizer, [(X, y)] * 4, scheduler=torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5))
    torch.testing.assert_close(state(model), want)


@pytest.mark.parametrize('clip', [0.1, 1e9])
def test_gradients_are_clipped_by_their_norm(clip):
    model, X, y = problem()
    want, _ = by_hand(model, [(X, y)] * 3, [0.05] * 3, clip)
    fit(model, mse_loss, torch.optim.SGD(model.parameters(), 0.05), [(X, y)] * 3, clip=clip)
    torch.testing.assert_close(state(model), want, rtol=1e-5, atol=1e-5)


def test_training_mode_while_training_and_evaluation_mode_after():
    model, X, y = problem()
    seen = []

    def loss(got, want):
        seen.append(model.training)
        return mse_loss(got, want)

    model.eval()
    fit(model, loss, torch.optim.SGD(model.parameters(), 0.05), batches(generator(), 3, X, y))
    assert seen == [True] * 3 and not model.training


def test_several_inputs_and_the_target_last():
    class Sum(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

        def forward(self, u, v):
            return self.a[0] * u - self.a[1] * v

    u, v, y = torch.tensor([3.0]), torch.tensor([5.0]), torch.tensor([7.0])
    model = Sum()
    losses = fit(model, mse_loss, torch.optim.SGD(model.parameters(), 0.01), [(u, v, y)])
    assert losses.tolist() == [(3.0 - 10 - 7) ** 2]
    torch.testing.assert_close(model.a.detach(), torch.tensor([1 + 0.28 * 3, 2 - 0.28 * 5]))


def test_a_data_loader_will_do():
    model, X, y = problem()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, y), 3)
    want, _ = by_hand(model, loader, [0.05] * 3)
    fit(model, mse_loss, torch.optim.SGD(model.parameters(), 0.05), loader)
    torch.testing.assert_close(state(model), want)


def test_batches_that_are_used_up_are_refused():
    model, X, y = problem()
    once = batches(generator(), 3, X, y)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    fit(model, mse_loss, optimizer, once)
    with pytest.raises(ValueError, match='no batch'):
        fit(model, mse_loss, optimizer, once)


def test_on_the_best_device_as_on_the_cpu():
    results = []
    for where in (torch.device('cpu'), device.best()):
        model, X, y = problem()
        model.to(where)
        losses = fit(model, mse_loss, torch.optim.SGD(model.parameters(), 0.05), batches(generator(), 3, X, y))
        on_device = fit(model, mse_loss, torch.optim.SGD(model.parameters(), 0.05),
                        batches(generator(), 3, X.to(where), y.to(where)))
        assert losses.device.type == 'cpu' and next(model.parameters()).device.type == where.type
        results.append(torch.cat([losses, on_device, state(model).cpu()]))
    torch.testing.assert_close(*results)
