#!/usr/bin/env bash
# The tests of the 21 faults of commit 802a32a fail there, as their table says, and the tests of
# today pass. Builds that commit with AddressSanitizer, and the tests of today in the presets where
# they live. tests/faults.md lists the faults. Arguments are those of compare_commits.py.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
old=$PWD/build/802a32a
[ -d "$old" ] || git worktree add --detach "$old" 802a32a
status=0
python3 tests/faults/compare_commits.py "$old" "$@" | tee "$out/06-4-faults.log" || status=1
exit "$status"
