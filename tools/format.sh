#!/usr/bin/env bash
# Formats our C++ files with clang-format-19; with --check only names those that differ.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=$(command -v clang-format-19 || true)
if [ -z "$tool" ]; then
  echo "$0: clang-format-19 is not installed; run: tools/install-deps.sh --test" >&2
  exit 1
fi
# Tracked files, and new ones that git does not ignore; deleted ones are passed over.
mapfile -t files < <(git ls-files --cached --others --exclude-standard -- \
  '*.cc' '*.h' '*.c' | sort -u | while read -r f; do [ -f "$f" ] && echo "$f"; done)
[ ${#files[@]} -gt 0 ] || exit 0

if [ "${1:-}" = --check ]; then
  # `--dry-run` prints one warning per difference; the file names are what helps.
  differing=$(printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 8 "$tool" --dry-run 2>&1 |
    sed -nE 's/^([^:]+):[0-9]+:[0-9]+: warning:.*/\1/p' | sort -u)
  if [ -n "$differing" ]; then
    echo "not in the project's format (run: make format):" >&2
    echo "$differing" | sed 's/^/  /' >&2
    exit 1
  fi
  echo "format: ${#files[@]} files ok"
else
  printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 8 "$tool" -i
fi
