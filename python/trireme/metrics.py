"""Metrics in addition to the loss."""

from trireme._made import metrics as _made
from trireme._made.metrics import *  # noqa: F403

__all__: list[str] = []
__all__ += _made.__all__
