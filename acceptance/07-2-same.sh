#!/usr/bin/env bash
# One network trained from C++, Python and a job file with one seed: the losses of 100 steps have
# equal bits.
source "$(dirname "$0")/common.sh"
build_python "$out/07-2-build.log" trireme_cli
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/same.cc" <<'CODE'
#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

int main(int, char** argv) {
  tr::Program program("same");
  const tr::Value image = program.input("image", tr::f32, {tr::batch, 1, 28, 28});
  const tr::Value label = program.input("label", tr::i64, {tr::batch});
  tr::Value x = nn::linear(nn::flatten(image), {.units = 64, .activation = nn::relu});
  const tr::Value logits = nn::linear(nn::dropout(x, {.rate = 0.1}), {.units = 10});
  const tr::Value loss = mean(nn::cross_entropy(logits, label));
  tr::Trainer trainer(program, {.loss = loss,
                                .optimizer = tr::Adam{.learning_rate = 1e-3},
                                .session = {.threads = 2, .seed = 7}});
  trainer.fit(tr::data::fashion_mnist("train").shuffle(7).batch(64),
              {.max_steps = 100, .progress = false, .run = argv[1], .log_every = 1});
}
CODE
cat >"$work/same.py" <<'CODE'
import sys

import trireme as tr

image = tr.Input((1, 28, 28), name="image")
x = tr.nn.linear(tr.nn.flatten(image), 64, activation="relu")
model = tr.Model(image, tr.nn.linear(tr.nn.dropout(x, rate=0.1), 10))
model.compile(tr.optim.Adam(lr=1e-3), "cross_entropy", target="label", seed=7, threads=2)
model.fit(tr.datasets.fashion_mnist("train"), batch_size=64, seed=7, max_steps=100, run=sys.argv[1],
          log_every=1, progress=False)
CODE
cat >"$work/same.toml" <<'CODE'
[data]
train = "fashion_mnist/train"
batch = 64

[model]
layers = [
  { linear = { units = 64, activation = "relu" } },
  { dropout = { rate = 0.1 } },
  { linear = { units = 10 } },
]

[train]
loss = "cross_entropy"
optimizer = { adam = { learning_rate = 1e-3 } }
schedule = "constant"
max_steps = 100
seed = 7

[output]
log_every = 1
CODE
c++ -std=c++20 -O1 -Iinclude -Ibuild/release/generated/include "$work/same.cc" -o "$work/same" \
  -Lbuild/release/src -ltrireme -Wl,-rpath,"$PWD/build/release/src"
"$work/same" "$work/cpp" || status=1
PYTHONPATH=build/release/python build/venv/bin/python "$work/same.py" "$work/python" || status=1
"$trireme" train "$work/same.toml" --run "$work/job" -o "$work/model" >"$out/07-2-job.log" || status=1

# losses WAY: a line for each step.
losses() { sed -nE 's/.*"event": ?"train".*"loss": ?([^,}]*).*/\1/p' "$work/$1/metrics.jsonl"; }
for way in cpp python job; do losses $way >"$work/$way.txt"; done
steps=$(wc -l <"$work/cpp.txt")
[ "$steps" -eq 100 ] || status=1
for way in python job; do
  cmp "$work/cpp.txt" "$work/$way.txt" || status=1
done
conclude "$status" "$steps steps from C++, Python and a job; the last losses are $(tail -qn 1 "$work"/{cpp,python,job}.txt | paste -sd ' ')"
