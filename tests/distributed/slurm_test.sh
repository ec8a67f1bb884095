#!/usr/bin/env bash
# Jobs under a real Slurm: munge, slurmctld and three slurmd on this machine, in a folder of their
# own.
#   tests/distributed/slurm_test.sh TRIREME
# Exits with 77, saying why, where there is no Slurm.
set -euo pipefail
trireme=$(readlink -f "$1")
here=$(cd "$(dirname "$0")" && pwd)
exec </dev/null
PATH=$PATH:/usr/sbin:/sbin
for tool in munged slurmctld slurmd srun; do
  if ! command -v $tool >/dev/null; then
    echo "skipped: $tool is not installed (tools/install-deps.sh --test)"
    exit 77
  fi
done

work=$(mktemp -d /tmp/trireme_slurm_XXXXXX)
chmod 755 "$work"
daemons=()
finish() {
  status=$?
  if [ $status -ne 0 ]; then
    tail -n 20 "$work"/*.log "$work"/*.out 2>/dev/null || true
    echo "FAILED: ${why:-see above}"
  fi
  kill "${daemons[@]}" 2>/dev/null || true
  # A slurmd waits for its steps, and the daemon of a cancelled step sometimes never ends.
  for _ in $(seq 100); do
    kill -0 "${daemons[@]}" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "${daemons[@]}" 2>/dev/null || true
  for process in $(pgrep slurmstepd || true); do
    if tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -q "$work"; then
      kill -KILL "$process" 2>/dev/null || true
    fi
  done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
fail() {
  why=$*
  exit 1
}
# until SECONDS COMMAND...: until it succeeds.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || fail "not within its time: $*"
    sleep 0.2
  done
}
says() { grep -qF -- "$2" "$1" || fail "no \"$2\" in $1"; }

# --- Slurm
read -r port1 port2 port3 port4 < <(python3 - <<'PY'
import socket
sockets = [socket.socket() for _ in range(4)]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])
PY
)
host=$(hostname -s)
user=$(id -un)
dd if=/dev/urandom of="$work/munge.key" bs=1 count=1024 status=none
chmod 400 "$work/munge.key"
export SLURM_CONF=$work/slurm.conf
cat >"$SLURM_CONF" <<CONF
ClusterName=trireme
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port1
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SchedulerType=sched/builtin
SelectType=select/linear
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$port2 CPUs=1
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$port3 CPUs=1
NodeName=n3 NodeHostname=$host NodeAddr=127.0.0.1 Port=$port4 CPUs=1
PartitionName=all Nodes=n1,n2,n3 Default=YES State=UP
CONF
mkdir "$work/state" "$work"/spool.n{1,2,3}
munged --foreground --force --key-file "$work/munge.key" --socket "$work/munge.socket" \
  --pid-file "$work/munge.pid" --log-file "$work/munge.log" --seed-file "$work/munge.seed" \
  >"$work/munged.log" 2>&1 &
daemons+=($!)
until_true 20 test -S "$work/munge.socket"
slurmctld -D >"$work/slurmctld.out" 2>&1 &
daemons+=($!)
for node in n1 n2 n3; do
  slurmd -D -N $node >"$work/slurmd.$node.out" 2>&1 &
  daemons+=($!)
done
three_idle() { [ "$(sinfo -h -o %D -t idle 2>/dev/null || true)" = 3 ]; }
until_true 60 three_idle

# --- Jobs
cd "$work"
# job FILE MODE EXAMPLES EPOCHS
job() {
  sed -e "s/@MODE@/$2/; s/@EXAMPLES@/$3/; s/@EPOCHS@/$4/" "$here/clicks.toml.in" >"$1"
}
launch() { srun -N3 -n3 "$trireme" launch --interface lo --credentials "$work/$1" "${@:2}"; }
process_of() { pgrep -f "role $1 $2 --name $3( |\$)" | head -n 1; }
none_left() { ! pgrep -f "role [a-z]+ $1 " >/dev/null; }

echo "== what Slurm tells"
srun -N3 -n3 -l env | grep -E 'SLURM_(PROCID|STEP_ID|STEP_NUM_TASKS|STEP_NUM_NODES|STEP_NODELIST)=' | sort >env.out
[ "$(grep -c 'SLURM_STEP_NUM_TASKS=3$' env.out)" = 3 ] || fail "SLURM_STEP_NUM_TASKS is not told"
says env.out "1: SLURM_PROCID=1"
says env.out "SLURM_STEP_NODELIST=n[1-3]"
# A batch script is not placed: here it runs a job alone.
job "$work/batch.toml" all_reduce 4000 1
sbatch -N3 -n3 --wait -o batch.out --wrap "$trireme launch --trainers 1 $work/batch.toml -o batch_model"
says batch.out " 4000 examples"
says batch.out "saved to batch_model"

echo "== parameters on servers, one of each role on each of three nodes"
job "$work/servers.toml" asynchronous 16000 1
launch keys1 --trainers 3 --servers 3 "$work/servers.toml" >servers.out 2>&1 || fail "srun: $?"
says servers.out " 16000 examples"
says servers.out "test auc: 0."
until_true 10 none_left "$work/servers.toml"

echo "== all_reduce, and a process that is killed"
job "$work/together.toml" all_reduce 60000 3
launch keys2 --trainers 3 "$work/together.toml" -o model >together.out 2>&1 &
step=$!
trainer_runs() { [ -n "$(process_of trainer "$work/together.toml" trainer_1)" ]; }
until_true 60 trainer_runs
sleep 2
kill -KILL "$(process_of trainer "$work/together.toml" trainer_1)"
another_runs() { [ -n "$(process_of trainer "$work/together.toml" trainer_4)" ]; }
until_true 20 another_runs
wait $step || fail "srun: $?"
says together.out "trainer_1 was ended by signal 9; another one is started"
says together.out "test auc: 0."
test -s model/model.json || fail "no model was saved"
until_true 10 none_left "$work/together.toml"

echo "== a job that is cancelled"
job "$work/long.toml" all_reduce 60000 200
launch keys3 --trainers 3 "$work/long.toml" >long.out 2>&1 &
step=$!
long_runs() { [ -n "$(process_of trainer "$work/long.toml" trainer_2)" ]; }
until_true 60 long_runs
sleep 1
scancel --me
code=0
wait $step || code=$?
[ $code -ne 0 ] || fail "a cancelled job ended well"
says long.out "stopped"
until_true 20 none_left "$work/long.toml"
echo "passed"
