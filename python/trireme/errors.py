"""Exceptions of Trireme. Each has a complete message and can be pickled."""


class Error(Exception):
    """Any error of Trireme."""


class UsageError(Error, ValueError):
    """An error of the caller: a wrong shape, type, option or order of calls."""


class DataError(Error, ValueError):
    """Wrong content of a file or an array: truncated, corrupted, out of range."""


class NotFoundError(Error, LookupError):
    """A file, data set, layer or parameter does not exist."""


class IoError(Error, OSError):
    """The operating system failed: permissions, a full disk, no memory."""


class NumericError(Error, ArithmeticError):
    """NaN or infinity where training must stop."""


class InternalError(Error, RuntimeError):
    """A bug in Trireme; please report it."""
