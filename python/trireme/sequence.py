"""Functions of sequences of different lengths, without padding."""

from trireme._made import sequence as _made
from trireme._made.sequence import *  # noqa: F403

__all__: list[str] = []
__all__ += _made.__all__
