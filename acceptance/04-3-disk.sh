#!/usr/bin/env bash
# Limits the larger table of a click job to half of its memory at each of 2 servers, so that the
# other rows are on disk in RocksDB. Steps are synchronous, so the loss must equal that of the same
# job without a limit.
source "$(dirname "$0")/common.sh"
build_release
cmake --build --preset release --target trireme_distributed_cli -j "$(nproc)"
status=0
clicks=${CLICKS:-400000} ids=${IDS:-200000}

# figures_of PORT: prints the current table metrics of the job's servers, one a line; nothing if
# there are no servers.
figures_of() {
  local target
  for target in $(curl -s -m 3 "http://127.0.0.1:$1/targets" | grep -oE '127\.0\.0\.1:[0-9]+'); do
    curl -s -m 3 "http://$target/metrics" | grep -E '^trireme_server_(rows|disk_rows|memory_bytes)' || true
  done
}

# train NAME SETTING...: trains with 2 trainers and 2 servers. Writes NAME.log, all table metrics
# (NAME.all), and the last ones of a complete set (NAME.last).
train() {
  local name=$out/04-3-$1 job
  shift
  rm -rf "$name" "$name"-* "$name".*
  : >"$name.all"
  "$trireme" launch --metrics-port 9464 --trainers 2 --servers 2 examples/jobs/clicks_deepfm.toml --set distributed.mode=synchronous \
    --set data.train.synthetic_clicks="$clicks" --set data.train.ids="$ids" --set data.test.ids="$ids" "$@" --output "$name" >"$name.log" 2>&1 &
  job=$!
  while kill -0 "$job" 2>/dev/null; do
    figures_of 9464 >"$name.now" || true
    cat "$name.now" >>"$name.all"
    if [ "$(grep -c memory_bytes "$name.now")" -ge 4 ]; then mv "$name.now" "$name.last"; fi
    sleep 0.5
  done
  wait "$job" || status=1
  tail -n 6 "$name.log"
}
# lines METRIC FILE: prints the values of a metric of the embedding table; largest, smallest and sum
# print one value of them.
lines() { sed -nE "s/^trireme_server_$1\{table=\"[^\"]*embedding_0.weight\"\} ([0-9.e+]+)$/\1/p" "$2"; }
largest() { lines "$1" "$2" | sort -g | tail -n 1; }
sum() { lines "$1" "$2" | awk '{ s += $1 } END { printf "%d", s }'; }
smallest() { lines "$1" "$2" | sort -g | head -n 1; }

train memory
whole=$(smallest memory_bytes "$out/04-3-memory.last")
limit=$((${whole%.*} / 2))
train disk --set distributed.memory_limit="$limit"
on_disk=$(sum disk_rows "$out/04-3-disk.last") rows=$(sum rows "$out/04-3-disk.last")
used=$(largest memory_bytes "$out/04-3-disk.all")
# Concurrent calls each make room for themselves, so that together they may exceed the limit
# briefly.
at_least "$((limit + limit / 20))" "${used:-1e30}" || status=1
[ "${on_disk:-0}" -gt $((rows / 4)) ] || status=1
for what in loss auc; do
  a=$(value_of "test $what" "$out/04-3-memory.log") b=$(value_of "test $what" "$out/04-3-disk.log")
  awk -v a="${a:-9}" -v b="${b:--9}" 'BEGIN { d = a - b; exit !(d < 2e-5 && d > -2e-5) }' || status=1
  text="${text:-}; test $what ${b:-none}, in memory ${a:-none}"
done
conclude "$status" "$rows rows, $on_disk of them on disk at the end, at most ${used:-?} of $limit bytes in memory per server$text"
