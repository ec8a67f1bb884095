"""Metrics in addition to the loss."""

from trireme._made.metrics import *  # noqa: F403
from trireme._made.metrics import __all__  # noqa: F401
