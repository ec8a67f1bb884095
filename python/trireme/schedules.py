"""Learning rates as functions of the step."""

from trireme._core import Schedule
from trireme._made.records import Plateau
from trireme._made.schedules import *  # noqa: F403
from trireme._made.schedules import __all__  # noqa: F401
