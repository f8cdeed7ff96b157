# %% [markdown]
# # A small language model
#
# The training that tests audit. It has the form that a section gives its own.

# %%
import torch
from torch import nn
from torch.nn import functional as F

from nbutils.data import alice
from nbutils.weights import Training

# %%
symbols = sorted({*alice()})
code = {symbol: i for i, symbol in enumerate(symbols)}


def encoded(text):
    """The numbers of the characters of a text, (n,)."""
    return torch.tensor([code[symbol] for symbol in text])


class Language(nn.Module):
    """The scores of each next character: a GRU over one-hot characters, then a linear layer."""

    def __init__(self, hidden=64):
        super().__init__()
        self.gru = nn.GRU(len(symbols), hidden, batch_first=True)
        self.scores = nn.Linear(hidden, len(symbols))

    def forward(self, text, h=None):  # (B, T) -> (B, T, symbols)
        h, last = self.gru(F.one_hot(text, len(symbols)).to(self.scores.weight.dtype), h)
        return self.scores(h), last


# %%
def training(steps=4000, batch=16, length=64):
    text = encoded(alice('train'))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Language()
    optimizer = torch.optim.Adam(model.parameters())

    def loss(generator):
        starts = torch.randint(len(text) - length, (batch, 1), generator=generator)
        parts = text[starts + torch.arange(length + 1)]
        return F.cross_entropy(model(parts[:, :-1])[0].flatten(0, 1), parts[:, 1:].flatten())

    def rate(step):
        return 0.01 * (1 - step / steps)

    return Training(model, optimizer, torch.Generator().manual_seed(0), loss, text, steps, rate=rate, clip=1.0)


# %%
def bits(model, text):
    """Bits per character of a text, read from its beginning to its end without a break."""
    numbers = encoded(text)
    with torch.no_grad():
        scores = model(numbers[None, :-1])[0][0]
    return float(F.cross_entropy(scores, numbers[1:]) / torch.log(torch.tensor(2.0)))
