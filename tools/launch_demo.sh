#!/usr/bin/env bash
# The demo of training by several processes: tools/launch_demo.sh path/to/trireme. Trains a network on Fashion-MNIST by three
# processes, kills one of them while you watch (kill -9), and shows what the saved model makes of a picture.
# TRIREME_DEMO_DIR: where the model goes (build/launch-demo).
set -euo pipefail
trireme=$(realpath "$1")
cd "$(dirname "$0")/.."
out=${TRIREME_DEMO_DIR:-build/launch-demo}
rm -rf "$out"
mkdir -p "$out"
job=examples/jobs/fashion_mlp.toml

"$trireme" launch --trainers 3 "$job" --set train.epochs=4 -o "$out/model" &
launch=$!
trap 'kill "$launch" 2>/dev/null || true' EXIT

# victim: the process of trainer_1, once it is there.
victim() { pgrep -P "$launch" -f -- "--name trainer_1" || pgrep -f -- "role trainer $job .*--name trainer_1 " || true; }
for _ in $(seq 100); do
  [ -n "$(victim)" ] && break
  sleep 0.1
done
sleep "${TRIREME_DEMO_WAIT:-8}"
pid=$(victim | head -n 1)
if [ -n "$pid" ]; then
  echo "demo: kill -9 $pid, which is trainer_1"
  kill -9 "$pid"
fi
wait "$launch"
trap - EXIT
"$trireme" eval "$out/model" --data fashion_mnist/test
