"""Losses of each example. tr.mean(tr.losses.cross_entropy(logits, label)) is one number."""

from trireme._made import losses as _made
from trireme._made.losses import *  # noqa: F403

__all__: list[str] = []
__all__ += _made.__all__
