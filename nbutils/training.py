"""The loop that trains every network of the book; `regression/minibatch_training` writes it out and checks it."""


def batches(generator, size, *tensors, epochs=1):
    """Deal out the rows of some tensors in random order: in each epoch, every row once.

    The tensors have the shapes (n, ...) and may lie on any device; `generator` is a `torch.Generator` on the CPU, so that
    the order is the same everywhere, and it shuffles anew at the beginning of each epoch. Yields tuples with a part of
    shape (size, ...) of each tensor; the last batch of an epoch has what is left. Raises ValueError at once where the
    tensors are empty or of different length, or where `size` is less than one.
    """
    import torch

    rows = sorted({len(t) for t in tensors})
    if len(rows) != 1 or rows == [0]:
        raise ValueError(f'tensors of {rows} rows: give one or more, all with the same number of rows, not zero')
    if size < 1:
        raise ValueError(f'batches of size {size}: give at least 1')
    orders = (torch.randperm(rows[0], generator=generator) for _ in range(epochs))
    return (tuple(t[i.to(t.device)] for t in tensors) for order in orders for i in order.split(size))


def fit(model, loss, optimizer, batches, *, scheduler=None, clip=None):
    """Take one step of the optimizer for each batch (*inputs, target) against the gradient of its loss.

    The loss of a batch is the number `loss(model(*inputs), target)`. `batches` is an iterable, here or from
    `torch.utils.data`; each batch moves to where the model's parameters are. `scheduler` steps after every batch, and
    `clip` is the greatest norm that a gradient may have. The model trains in training mode and is left in evaluation
    mode. Gives the losses before each step, shape (steps,), on the CPU. Raises ValueError where there is no batch.
    """
    import torch

    device, losses = next(model.parameters()).device, []
    model.train()
    for batch in batches:
        *inputs, target = (part.to(device) for part in batch)
        optimizer.zero_grad()
        value = loss(model(*inputs), target)
        value.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        losses.append(value.detach())
    model.eval()
    if not losses:
        raise ValueError('there is no batch to train on: an iterator of batches can be used only once')
    return torch.stack(losses).cpu()
