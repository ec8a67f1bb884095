"""Runs the commands and programs of the documentation as they are printed.

    run_docs.py --source DIR --prefix DIR --work DIR [PAGE...]

Each page runs in an empty folder of its own, with the installation at --prefix on the paths.
docs/README.md ("Conventions") explains the marks of code blocks. Prints one line per block and,
last, their count; exits 1 if a block fails. """

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

MARK = re.compile(r"<!--\s*(file|not run):\s*(.*?)\s*-->")
PROGRAMS = {"cpp": ("c++", "-std=c++20", ".cc", "trireme"), "c": ("cc", "-std=c99", ".c", "trireme-inference")}
LIMIT = 1500  # seconds for one block


class Block:
    """A fenced code block: its language, text, line number, and mark ("file", NAME) or ("not run",
    REASON)."""

    def __init__(self, language, line, mark):
        self.language, self.line, self.mark, self.lines = language, line, mark, []

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def blocks_of(text):
    """The code blocks of a Markdown page, in order."""
    found, current, mark = [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*```(\w*)\s*$", line)
        if current is not None:
            if fence:
                found.append(current)
                current = None
            else:
                current.lines.append(line)
        elif fence:
            current, mark = Block(fence.group(1), number, mark), None
        elif line.strip():
            match = MARK.fullmatch(line.strip())
            mark = match.groups() if match else None
    return found


def run(command, folder, environment):
    """None if the command succeeds, else the end of its output."""
    try:
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"did not end within {LIMIT} s"
    return None if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout[-3000:]}"


def run_block(block, folder, environment):
    """Runs or compiles one block. Returns None, or what failed; raises LookupError if there is
    nothing to run."""
    if block.mark and block.mark[0] == "not run":
        raise LookupError
    if block.mark:
        (folder / block.mark[1]).write_text(block.text)
    if block.language == "sh":
        return run(["bash", "-euo", "pipefail", "-c", block.text], folder, environment)
    if block.language not in PROGRAMS:
        raise LookupError
    compiler, standard, ending, package = PROGRAMS[block.language]
    source = folder / (block.mark[1] if block.mark else f"line_{block.line}{ending}")
    source.write_text(block.text)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", package], env=environment, check=True,
                           capture_output=True, text=True).stdout.split()
    return run([compiler, standard, "-Wall", "-Wextra", "-Werror", source.name, "-o", f"line_{block.line}", *flags],
               folder, environment)


def environment_of(prefix):
    libraries = next(path.parent for path in prefix.rglob("libtrireme.so"))
    return {**os.environ,
            "PATH": f"{prefix}/bin:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": str(libraries),
            "PKG_CONFIG_PATH": str(libraries / "pkgconfig"),
            "CMAKE_PREFIX_PATH": str(prefix),
            "NO_COLOR": "1"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, required=True, help="the repository")
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="where Trireme is installed")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for the pages' folders")
    parser.add_argument("pages", nargs="*", help="default: README.md and all of docs/")
    arguments = parser.parse_args()
    source = arguments.source.resolve()
    pages = arguments.pages or ["README.md", *sorted(str(p.relative_to(source)) for p in (source / "docs").rglob("*.md"))]
    environment = environment_of(arguments.prefix.resolve())
    count, failed = 0, 0
    for page in pages:
        folder = arguments.work.resolve() / re.sub(r"\W", "_", page)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for block in blocks_of((source / page).read_text()):
            begin = time.monotonic()
            try:
                problem = run_block(block, folder, environment)
            except LookupError:
                continue
            count += 1
            failed += problem is not None
            print(f"{page}:{block.line}: {block.language} {'ok' if problem is None else 'FAILED'}"
                  f" {time.monotonic() - begin:.1f} s" + (f"\n{problem}" if problem else ""), flush=True)
    print(f"docs: {count - failed} of {count} blocks run as printed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
