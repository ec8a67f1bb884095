"""Optimizers, and what modifies their updates."""

from trireme._core import Lbfgs, LbfgsResult, Optimizer, Schedule
from trireme._made import optim as _made
from trireme._made.optim import *  # noqa: F403
from trireme._made.records import Average, Clip, Plateau
from trireme.errors import UsageError

__all__ = ["Average", "Clip", "Lbfgs", "LbfgsResult", "Optimizer", "Plateau", "Schedule", "by_name"]
__all__ += _made.__all__


def by_name(name: str) -> Optimizer:
    """An optimizer with its default options, by its name: "adam", "sgd"."""
    names = {made.lower(): made for made in _made.__all__}
    if not isinstance(name, str) or name.lower() not in names:
        raise UsageError(f'{name!r} is no optimizer\n  hint   one of {", ".join(sorted(names))}')
    optimizer: Optimizer = getattr(_made, names[name.lower()])()
    return optimizer
