"""The command `trireme`."""

import os
import shutil
import sys
from pathlib import Path

from trireme.errors import NotFoundError


def program() -> str:
    """The path of the program: $TRIREME_COMMAND, that of the wheel, or one in PATH.

    Raises:
        NotFoundError: if there is none
    """
    own = Path(__file__).parent / "bin" / "trireme"
    found = os.environ.get("TRIREME_COMMAND") or (str(own) if own.exists() else
                                                  shutil.which("trireme"))
    if not found or not os.access(found, os.X_OK):
        raise NotFoundError(f"there is no program trireme: {own} does not exist\n"
                            "  hint   $TRIREME_COMMAND can name it")
    return found


def main() -> None:
    """Becomes the program trireme of the wheel, with the same arguments."""
    own = Path(__file__).parent / "bin" / "trireme"
    if not own.exists():
        sys.exit(f"trireme: {own} does not exist; the package was built without it")
    os.execv(own, [str(own), *sys.argv[1:]])
