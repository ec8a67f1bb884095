"""Learning rates as functions of the step."""

from trireme._core import Schedule
from trireme._made.records import Plateau
from trireme._made import schedules as _made
from trireme._made.schedules import *  # noqa: F403

__all__ = ["Plateau", "Schedule"]
__all__ += _made.__all__
