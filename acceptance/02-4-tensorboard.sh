#!/usr/bin/env bash
# Reads the event files of a stopped and resumed training with the package tensorboard from PyPI, in
# a virtual environment, and compares every scalar with metrics.jsonl.
source "$(dirname "$0")/common.sh"
build_release
work=$out/tensorboard
rm -rf "$work/run" "$work/model"
mkdir -p "$work"
tools/python-env.sh tensorboard
awk 'BEGIN { srand(3); print "a,b,target"
  for (i = 0; i < 400; ++i) { a = rand(); b = rand(); print a "," b "," a * b } }' >"$work/train.csv"
cat >"$work/job.toml" <<'JOB'
[data]
train = "train.csv"
validation_split = 0.2
batch = 16
[model]
layers = [ { linear = { units = 8, activation = "tanh" } }, { linear = { units = 1 } } ]
[train]
loss = "mse"
epochs = 5
JOB
train() { "$trireme" train "$work/job.toml" --quiet --run "$work/run" --output "$work/model" --set output.log_every=1 "$@"; }
train --set train.max_steps=33
train --resume
status=0
build/venv/bin/python - "$work/run" <<'PYTHON' | tee "$work/scalars" || status=1
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

folder = sys.argv[1]
events = EventAccumulator(folder, size_guidance={"scalars": 0})
events.Reload()
read = {(tag, e.step): e.value for tag in events.Tags()["scalars"] for e in events.Scalars(tag)}
count = 0
written = {}
for line in open(folder + "/metrics.jsonl"):
    line = json.loads(line)
    for key in set(line) - {"event", "time", "step", "epoch"}:
        written[line["event"] + "/" + key, line["step"]] = line[key]
for place, value in written.items():
    assert abs(read[place] - value) <= 1e-6 * abs(value), (place, value, read[place])
assert set(read) == set(written), set(read) ^ set(written)
print(f"scalars: {len(read)}")
PYTHON
conclude "$status" "tensorboard reads $(value_of scalars "$work/scalars") scalars, all equal to metrics.jsonl"
