#!/usr/bin/env python3
"""Writes the copyright notices of the libraries that a binary contains, as their licences ask.

    tools/third_party_notices.py NOTICES $(tools/install-deps.sh --list)
    tools/third_party_notices.py NOTICES --bundled trireme.libs $(tools/install-deps.sh --list)

The arguments are Debian packages; those that are no libraries (name without -dev) are left out.
--bundled adds the packages of the shared libraries in a folder, which may have the names that
auditwheel gives them (libpng16-0a0c6ccf.so.16.39.0).
Fails if a package or its notice is missing."""

import argparse
import os
import pathlib
import re
import subprocess
import sys


def package_of(library):
    """The package that installs a library of this file name."""
    name = re.sub(r"-[0-9a-f]{8}(?=\.)", "", library)
    found = subprocess.run(["dpkg-query", "-S", f"*/{name}"], capture_output=True, text=True)
    owners = [line.split(":")[0] for line in found.stdout.splitlines()
              if re.search(r": /(usr/)?lib/", line)]  # not those of a cross compiler
    if not owners:
        sys.exit(f"third_party_notices.py: no package installs {name}")
    return owners[0]


def notice_of(package):
    path = pathlib.Path("/usr/share/doc") / package / "copyright"
    if not path.exists():
        sys.exit(f"third_party_notices.py: {path} is missing")
    return path.read_text(encoding="utf-8", errors="replace").strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--bundled", metavar="FOLDER", help="also the shared libraries in FOLDER")
    options = parser.parse_intermixed_args()
    packages = {package for package in options.packages if package.endswith("-dev")}
    for library in sorted(os.listdir(options.bundled)) if options.bundled else []:
        packages.add(package_of(library))
    by_notice = {}
    for package in sorted(packages):
        by_notice.setdefault(notice_of(package), []).append(package)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write("Trireme contains code of these libraries, as the Debian packages named here\n"
                   "build it. Trireme itself has the licence in the file LICENSE.\n")
        for notice, names in by_notice.items():
            file.write(f"\n{'=' * 80}\n{', '.join(names)}\n{'=' * 80}\n\n{notice}\n")


if __name__ == "__main__":
    main()
