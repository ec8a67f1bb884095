#!/usr/bin/env bash
# Kills a training with -9 at KILLS (200) random moments, goes on each time, and compares the final
# weights with those of an uninterrupted run, bit by bit. A small job with dropout, Adam and a
# schedule; a run that comes to its end before 200 kills is begun anew in another folder.
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

# arguments NAME: of the run called so. A background function would be a shell that outlives its kill.
arguments() { echo train "$work/job.toml" --quiet --run "$work/$1" --output "$work/$1-model"; }
"$trireme" $(arguments whole)
killed=0 resumed=0 differing=0 failed=0 round=0 ended=0
while [ "$killed" -lt "$kills" ]; do
  round=$((round + 1))
  while :; do
    # All of one round's processes share its folder; threads change from one to the next.
    "$trireme" $(arguments "pieces$round") --resume --threads $((killed % 2 + 1)) >"$work/log" 2>&1 &
    child=$!
    sleep "$(awk -v seed="$RANDOM$killed" 'BEGIN { srand(seed); print 0.02 + 0.6 * rand() }')"
    code=0
    if [ "$killed" -lt "$kills" ]; then kill -9 "$child" 2>/dev/null || true; fi
    wait "$child" 2>/dev/null || code=$?
    if grep -q "went on after step" "$work/log"; then resumed=$((resumed + 1)); fi
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
conclude "$status" "$killed kills, $resumed starts went on in the middle, $failed failed; $differing of $ended runs end in other bits"
