#!/usr/bin/env bash
# Writes the golden files of this version into tests/golden/VERSION, which must not exist yet.
#   tests/golden/make.sh VERSION
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 VERSION" >&2; exit 2; }
cd "$(dirname "$0")/../.."
cmake --preset dev >/dev/null
cmake --build --preset dev --target golden_make
build/dev/bin/golden_make "tests/golden/$1"
du -ab "tests/golden/$1"
