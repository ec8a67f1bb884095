#!/usr/bin/env bash
# Two launchers on two network namespaces, which are as good as two machines: each has an address of
# its own, and a wire between them that can be cut.
#   tests/distributed/hosts_test.sh TRIREME
# Exits with 77, saying why, where namespaces cannot be made.
set -euo pipefail
trireme=$(readlink -f "$1")
here=$(cd "$(dirname "$0")" && pwd)
exec </dev/null
source "$here/../../tools/two_namespaces.sh"
work=$(mktemp -d /tmp/trireme_hosts_XXXXXX)
why=
finish() {
  status=$?
  if [ $status -ne 0 ] && [ $status -ne 77 ]; then
    tail -n 40 "$work"/*.out 2>/dev/null || true
    echo "FAILED: ${why:-see above}"
  fi
  remove_namespaces
  rm -rf "$work"
}
trap finish EXIT
fail() {
  why=$*
  exit 1
}
says() { grep -qF -- "$2" "$1" || fail "no \"$2\" in $1"; }
until_says() {
  local end=$((SECONDS + $1))
  until grep -qF -- "$3" "$2" 2>/dev/null; do
    [ $SECONDS -lt $end ] || fail "no \"$3\" in $2 within $1 s"
    sleep 0.2
  done
}

join_namespaces

cd "$work"
# job FILE MODE EPOCHS
job() {
  sed -e "s/@MODE@/$2/; s/@EXAMPLES@/30000/; s/@EPOCHS@/$3/" "$here/clicks.toml.in" >"$1"
}
# launch NAMESPACE RANK ARGUMENTS...
launch() {
  local space=$1 rank=$2
  shift 2
  ip netns exec "$space" env RANK="$rank" WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 \
    "$trireme" launch --interface wire --credentials keys "$@"
}

echo "== parameters on servers of both"
job servers.toml asynchronous 1
launch $second 1 --trainers 2 --servers 2 servers.toml >servers.1.out 2>&1 &
launch $first 0 --trainers 2 --servers 2 servers.toml >servers.0.out 2>&1 || fail "launcher 0: $?"
wait $! || fail "launcher 1: $?"
says servers.0.out " 30000 examples"

echo "== all_reduce, and a wire that is cut"
job together.toml all_reduce 4
launch $second 1 --trainers 2 together.toml -o model >together.1.out 2>&1 &
other=$!
launch $first 0 --trainers 2 together.toml -o model >together.0.out 2>&1 &
leader=$!
sleep 4
# While both work: they listen at the wire, metrics on loopback, and nothing elsewhere.
ip netns exec $first ss -Hltn | awk '{ print $4 }' >listening.out
grep -q '10\.77\.0\.1\]*:29500$' listening.out || fail "no process listens at the wire"
! grep -vE '10\.77\.0\.1|127\.0\.0\.1' listening.out || fail "a process listens elsewhere"
ip -n $second link set wire down
until_says 60 together.0.out "is gone; the job continues without it"
wait $leader || fail "launcher 0: $?"
says together.0.out "test auc: 0."
test -s model/model.json || fail "no model was saved"
code=0
wait $other || code=$?
[ $code -eq 4 ] || fail "launcher 1 ended with $code"
says together.1.out "launcher 0 has not been heard of for 60 s"
ip -n $second link set wire up

echo "== a launcher that is cut off for so long that it is given up, and is back"
job back.toml asynchronous 100000
launch $second 1 --trainers 2 --servers 2 back.toml -o back >back.1.out 2>&1 &
other=$!
launch $first 0 --trainers 2 --servers 2 back.toml -o back >back.0.out 2>&1 &
leader=$!
until_says 60 back.0.out " examples"
sleep 2
ip -n $second link set wire down
until_says 60 back.0.out "is gone; the job continues without it"
until_says 60 back.0.out "2 servers went back to epoch "
ip -n $second link set wire up
until_says 60 back.0.out "[launch] launcher 1 on "
until_says 60 back.0.out " is back"
until_says 60 back.1.out "has left: others have its place"
sleep 20  # longer than anybody waits for a place
kill -0 $leader 2>/dev/null || fail "launcher 0 has ended"
kill -0 $other 2>/dev/null || fail "launcher 1 has ended"
kill -TERM $(cat /proc/$leader/task/$leader/children)  # what the shell waits for
code=0
wait $leader || code=$?
[ $code -eq 143 ] || fail "launcher 0 ended with $code, but SIGTERM stopped it"
code=0
wait $other || code=$?
[ $code -eq 6 ] || fail "launcher 1 ended with $code, but launcher 0 stopped it"
echo "passed"
