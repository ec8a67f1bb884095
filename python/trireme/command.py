"""The command `trireme` of the wheel."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes the program trireme, with the same arguments."""
    program = Path(__file__).parent / "bin" / "trireme"
    if not program.exists():
        sys.exit(f"trireme: {program} does not exist; the package was built without it")
    os.execv(program, [str(program), *sys.argv[1:]])
