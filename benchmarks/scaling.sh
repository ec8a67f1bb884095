#!/usr/bin/env bash
# scaling.sh [FILE]: measures on this machine the constants of the cost model of
# docs/explanation/scaling.md, and the results that the model is compared with: 1 to 3 trainers with
# 1 and 2 parameter servers, rings of 2 to 4 processes, tables in memory and half on disk,
# checkpoints, messages, and steps of one process. Writes one JSON file, by default
# build/bench/scaling.json. Takes 5 minutes on a quiet machine.
#   benchmarks/scaling.sh && tools/scaling_model.py --measured build/bench/scaling.json
# tools/scaling/measured.json is such a file. To use new results, replace it and run
# tools/scaling_model.py --page.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
file=${1:-build/bench/scaling.json}
tools/install-deps.sh --bench
cmake --preset release -DTRIREME_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release -j "${JOBS:-$(nproc)}" \
  --target transport parameter_server all_reduce sparse_table checkpoint train_case
bin=build/release/bin
lines=build/bench/scaling  # the output of each program
rm -rf "$lines"
mkdir -p "$lines" "$(dirname "$file")"

echo "messages"
"$bin/transport" 2 >"$lines/transport"
for servers in 1 2; do
  for trainers in 1 2 3; do
    echo "parameter servers: $trainers trainers, $servers servers"
    "$bin/parameter_server" 1000000 4 "$trainers" "$servers" >>"$lines/parameter_server"
  done
done
for processes in 2 3 4; do
  for megabytes in 0.004 1 16; do
    echo "all-reduce: $processes processes, $megabytes MB"
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none \
      --mca btl tcp,self --mca mpi_yield_when_idle 1 -n "$processes" \
      "$bin/all_reduce" "$megabytes" 15 >>"$lines/all_reduce"
  done
done
echo "tables"
"$bin/sparse_table" 10000000 3 >"$lines/sparse_table"
"$bin/sparse_table" 2000000 1 "$lines" >>"$lines/sparse_table"
echo "checkpoints"
"$bin/checkpoint" "$lines" >"$lines/checkpoint"
echo "steps of one process"
for case in deepfm resnet20; do "$bin/train_case" "$case" 1 8 >>"$lines/train_case"; done

python3 - "$lines" "$file" <<'PYTHON'
import datetime, json, os, sys
folder, file = sys.argv[1:]
cpu = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
measured = {"machine": cpu[0], "cores": os.cpu_count(), "date": datetime.date.today().isoformat()}
for name in ("transport", "parameter_server", "all_reduce", "sparse_table", "checkpoint", "train_case"):
    with open(os.path.join(folder, name), encoding="utf-8") as lines:
        measured[name] = [json.loads(line) for line in lines]
with open(file, "w", encoding="utf-8") as to:
    to.write("{\n" + ",\n".join(
        f'  "{key}": [\n    ' + ",\n    ".join(map(json.dumps, value)) + "\n  ]" if isinstance(value, list)
        else f'  "{key}": {json.dumps(value)}' for key, value in measured.items()) + "\n}\n")
PYTHON
echo "$file"
