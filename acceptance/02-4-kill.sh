#!/usr/bin/env bash
# Kills a training with kill -9 at KILLS (200) random moments, resumes each time, and compares the
# final weights with those of an uninterrupted run, bit by bit. The job is small and has dropout,
# Adam and a schedule. When a run ends before all kills are done, another starts in a new folder.
source "$(dirname "$0")/common.sh"
build_release
kills=${KILLS:-200}
work=$out/kill
rm -rf "$work"
mkdir -p "$work"
awk 'BEGIN { srand(3); print "a,b,target"
  for (i = 0; i < 2000; ++i) { a = rand(); b = rand(); print a "," b "," sin(6 * a) * b } }' >"$work/train.csv"
cat >"$work/job.toml" <<'JOB'
[data]
train = "train.csv"
validation_split = 0.2
batch = 16

[model]
layers = [
  { linear = { units = 32, activation = "tanh" } },
  { dropout = { rate = 0.1 } },
  { linear = { units = 1 } },
]

[train]
loss = "mse"
optimizer = { adam = { learning_rate = 0.01 } }
schedule = { cosine = { warmup_steps = 50 } }
epochs = 200

[checkpoint]
every_steps = 25
best = "loss"
JOB

# arguments NAME: prints the arguments of the run NAME. It does not start the run: a function in the
# background would be a shell that survives the kill of its child.
arguments() { echo train "$work/job.toml" --quiet --run "$work/$1" --output "$work/$1-model"; }
"$trireme" $(arguments whole)
killed=0 resumed=0 differing=0 failed=0 round=0 ended=0
while [ "$killed" -lt "$kills" ]; do
  round=$((round + 1))
  while :; do
    # All processes of a round share its folder. The number of threads changes between them.
    "$trireme" $(arguments "pieces$round") --resume --threads $((killed % 2 + 1)) >"$work/log" 2>&1 &
    child=$!
    sleep "$(awk -v seed="$RANDOM$killed" 'BEGIN { srand(seed); print 0.02 + 0.6 * rand() }')"
    code=0
    if [ "$killed" -lt "$kills" ]; then kill -9 "$child" 2>/dev/null || true; fi
    wait "$child" 2>/dev/null || code=$?
    if grep -q "resumed after step" "$work/log"; then resumed=$((resumed + 1)); fi
    if [ "$code" -eq 137 ]; then killed=$((killed + 1)); continue; fi
    [ "$code" -eq 0 ] || { failed=$((failed + 1)); cat "$work/log"; }
    break
  done
  [ "$failed" -eq 0 ] || break
  ended=$((ended + 1))
  cmp "$work/whole-model/weights.safetensors" "$work/pieces$round-model/weights.safetensors" ||
    differing=$((differing + 1))
done
status=0
[ "$failed" -eq 0 ] && [ "$differing" -eq 0 ] && [ "$ended" -ge 1 ] && [ "$killed" -ge "$kills" ] || status=1
conclude "$status" "$killed kills, $resumed starts resumed, $failed failed; $differing of $ended runs end with different bits"
