#!/usr/bin/env bash
# .ci/run from an empty compiler cache in at most 30 minutes, package installation included; and, in
# the preset dev, at most 60 s from a one-line change of an op, an nn and a distributed file to the
# end of the tests of its room. Run it on a quiet machine; the loop needs a built dev preset (about
# 15 minutes).
source "$(dirname "$0")/common.sh"
status=0
full_ci 30 || status=1
figure="CI $minutes minutes"

cmake --preset dev >/dev/null
cmake --build --preset dev -j "$(nproc)" --target ops_test nn_test distributed_test >"$out/05-1-dev.log" 2>&1
# loop FILE ROOM JOBS: appends a line of code to the file, builds the room's tests, runs JOBS of
# them at once, and restores the file. The number makes it a line that no compiler cache has.
loop() {
  local file=$1 room=$2 jobs=$3 start=$SECONDS seconds
  cp "$file" "$out/05-1-saved"
  echo "namespace { [[maybe_unused]] const int one_more_line = $RANDOM; }" >>"$file"
  cmake --build --preset dev -j "$(nproc)" --target "${room}_test" >>"$out/05-1-dev.log" 2>&1 &&
    ctest --preset dev -j "$jobs" -R "^${room}_test" >>"$out/05-1-dev.log" 2>&1 || status=1
  seconds=$((SECONDS - start))
  cp "$out/05-1-saved" "$file"
  [ "$seconds" -le 60 ] || status=1
  figure+=", $room $seconds s"
}
loop src/ops/atan.cc ops "$(nproc)"
loop src/nn/convolution.cc nn "$(nproc)"
loop src/distributed/server/client.cc distributed 12  # they mostly wait
conclude "$status" "$figure"
