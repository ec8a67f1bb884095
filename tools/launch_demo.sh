#!/usr/bin/env bash
# Demo of distributed training: tools/launch_demo.sh path/to/trireme. Trains a network on
# Fashion-MNIST with three processes, kills one of them (kill -9) after the first epoch, and
# evaluates the saved model. TRIREME_DEMO_DIR: the folder of the model (build/launch-demo).
set -euo pipefail
trireme=$(realpath "$1")
cd "$(dirname "$0")/.."
out=${TRIREME_DEMO_DIR:-build/launch-demo}
rm -rf "$out"
mkdir -p "$out"
out=$(realpath "$out")
job=examples/jobs/fashion_mlp.toml
export TRIREME_JOBS=$out/jobs  # the demo sees its own job only

"$trireme" launch --trainers 3 "$job" --set train.epochs=4 -o "$out/model" &
launch=$!
trap 'kill "$launch" 2>/dev/null || true' EXIT

# Prints the process id of trainer_1 if the first epoch is over and the job still runs.
victim() {
  "$trireme" job status --json 2>/dev/null | python3 -c '
import json, sys
try:
    status = json.load(sys.stdin)
except ValueError:
    sys.exit()
if status.get("tasks", {}).get("epoch", 0) >= 1 and not status["done"]:
    print(*[p["pid"] for p in status["processes"] if p["name"] == "trainer_1"])'
}
pid=
while [ -z "$pid" ] && kill -0 "$launch" 2>/dev/null; do
  pid=$(victim || true)
  [ -n "$pid" ] || sleep 0.1
done
if [ -n "$pid" ]; then
  echo "demo: kill -9 $pid (trainer_1) after the first epoch"
  kill -9 "$pid"
fi
wait "$launch"
trap - EXIT
"$trireme" eval "$out/model" --data fashion_mnist/test
