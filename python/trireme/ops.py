"""Functions of Values: ops, and functions composed of them."""

from trireme._made import ops as _made
from trireme._made.ops import *  # noqa: F403

__all__: list[str] = []
__all__ += _made.__all__
