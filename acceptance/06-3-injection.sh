#!/usr/bin/env bash
# While models, compiled models, checkpoints, records, tables, pictures and caches are saved and
# loaded, every allocation and every call of the operating system fails once, under
# AddressSanitizer: at least 2000 points, and no damaged file, unclear error, open file or leak.
# Leaks of the JSON library's own constructor are not counted, and where a library ends the process,
# that is counted apart.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
source tools/sanitizer_options.sh
cmake --preset asan -DTRIREME_LONG_TESTS=ON >/dev/null
cmake --build --preset asan --target faults_test -j "$(nproc)"
log=$out/06-3-injection.log
status=0
TRIREME_CACHE_DIR=$PWD/build/asan/cache build/asan/bin/faults_test 2>&1 | tee "$log" || status=1
cmake --preset asan -DTRIREME_LONG_TESTS=OFF >/dev/null
# total WORD: prints the sum of the numbers before WORD in the lines of all cases.
total() { sed -nE "s/^faults of .* ([0-9]+) $1.*/\1/p" "$log" | awk '{ n += $1 } END { print n + 0 }'; }
points=$(total points)
damaged=$(total damaged)
unclear=$(total unclear)
open=$(total "open files")
leaks=$(total leaks)
ended=$(total ended)
at_least "$points" 2000 || status=1
[ $((damaged + unclear + open + leaks)) -eq 0 ] || status=1
conclude "$status" "$points points, $damaged damaged files, $unclear unclear errors, $open open files, $leaks leaks; $ended times a library ended the process"
