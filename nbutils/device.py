"""Where tensors live."""


def best():
    """The `torch.device` to compute on: an accelerator that has float64 where there is one, else the CPU.

    Apple's GPU has no float64, in which this book computes, and is passed over.
    """
    import torch

    return torch.device('cuda' if torch.cuda.is_available() else 'cpu')
