"""Functions of sequences of different lengths, without padding."""

from trireme._made.sequence import *  # noqa: F403
from trireme._made.sequence import __all__  # noqa: F401
