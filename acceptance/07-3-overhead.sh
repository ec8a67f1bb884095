#!/usr/bin/env bash
# From Python at least 0.97 times as fast as from C++: fit of an MLP with batches of 64; a recurrent
# step of one's own 0.98 times. An op of an Array costs at most 20 us, and a chain of 12 is one
# kernel. NumPy and Arrays share memory. A first script (a small regression, 1,000 steps) is at
# least as fast as with PyTorch and JAX, which it installs: as it stands, and with jit also faster
# than both of them in either form. Side by side, ROUNDS (7) times.
source "$(dirname "$0")/common.sh"
build_python "$out/07-3-build.log" fit_case
status=0
rounds=${ROUNDS:-7}
export PYTHONPATH=$PWD/build/release/python
python=build/venv/bin/python

# median FILE: of the numbers, one on each line.
median() { sort -n "$1" | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }'; }
figure=""
for case in mlp rnn; do
  rm -f "$out/07-3-$case"-*.txt
  for ((round = 0; round < rounds; round++)); do
    build/release/bin/fit_case $case 2 >>"$out/07-3-$case-cpp.txt" || status=1
    $python benchmarks/fit_case.py $case 2 >>"$out/07-3-$case-python.txt" || status=1
  done
  ratio=$(awk -v a="$(median "$out/07-3-$case-python.txt")" \
    -v b="$(median "$out/07-3-$case-cpp.txt")" 'BEGIN { printf "%.3f", a / b }')
  wanted=0.97
  [ $case = mlp ] || wanted=0.98
  at_least "$ratio" $wanted || status=1
  figure+="$case $ratio, "
done

peers=build/peers-arrays
[ -d $peers ] || {
  /usr/bin/python3 -m venv $peers
  $peers/bin/pip install -q numpy jax torch >"$out/07-3-pip.log" 2>&1
}
$peers/bin/python benchmarks/arrays.py --rounds "$rounds" | tee "$out/07-3-arrays.log" || status=1
us() { sed -n "s/^$1: \([0-9.]*\) us per step/\1/p" "$out/07-3-arrays.log"; }
op=$(sed -n 's/^one op.*: \([0-9.]*\) us, .*/\1/p' "$out/07-3-arrays.log")
at_least 20 "${op:-99}" || status=1
grep -q 'us, 1 kernel' "$out/07-3-arrays.log" || status=1
ours=$(us "trireme compiled")
for peer in "torch eager" "jax eager" "jax compiled"; do
  at_least "$(us "$peer")" "${ours:-9999}" || status=1
done
eager=$(us "trireme eager")
for peer in "torch eager" "jax eager"; do
  at_least "$(us "$peer")" "${eager:-9999}" || status=1
done
figure+="op of an Array $op us, first script $ours us a step (eager $eager), "
figure+="PyTorch $(us "torch eager"), JAX $(us "jax compiled") (eager $(us "jax eager"))"
$python -m unittest -q python.tests.test_arrays.Arrays.test_memory_is_shared_where_the_name_says_so \
  python.tests.test_arrays.Arrays.test_dlpack || status=1
conclude "$status" "$figure"
