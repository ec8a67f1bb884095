"""Functions of Values: ops, and functions composed of them."""

from trireme._made.ops import *  # noqa: F403
from trireme._made.ops import __all__  # noqa: F401
