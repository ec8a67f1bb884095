"""Losses of each example. tr.mean(tr.losses.cross_entropy(logits, label)) is one number."""

from trireme._made.losses import *  # noqa: F403
from trireme._made.losses import __all__  # noqa: F401
