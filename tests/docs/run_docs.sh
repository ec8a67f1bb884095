#!/usr/bin/env bash
# run_docs.sh SOURCE_DIR BUILD_DIR [PAGE...]: installs the build to a fresh prefix and runs the
# pages' commands there.
set -euo pipefail
source=$1 build=$2
shift 2
work=$build/docs
rm -rf "$work/prefix"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/prefix" >/dev/null
# The programs must not find the repository: only the installation and the packages of data sets.
TRIREME_DATA='' exec python3 "$source/tests/docs/run_docs.py" --source "$source" --prefix "$work/prefix" \
  --work "$work/pages" "$@"
