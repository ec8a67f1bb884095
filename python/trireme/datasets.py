"""Data sets: known ones, and files."""

from trireme._made import datasets as _made
from trireme._made.datasets import *  # noqa: F403

__all__: list[str] = []
__all__ += _made.__all__
