"""Data sets: known ones, and files."""

from trireme._made.datasets import *  # noqa: F403
from trireme._made.datasets import __all__  # noqa: F401
