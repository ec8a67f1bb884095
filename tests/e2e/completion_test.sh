#!/usr/bin/env bash
# completion_test.sh TRIREME: completes words in bash and fish, checks the syntax for zsh, and
# checks the man pages with mandoc.
set -euo pipefail
trireme=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

expect() {  # WHAT GOT WANTED
  [ "$2" = "$3" ] || { echo "$1: got \"$2\", not \"$3\"" >&2; exit 1; }
  echo "ok    $1"
}
needs() { command -v "$1" >/dev/null || { echo "skip  $1 is not installed"; return 1; }; }

"$trireme" completion bash >"$work/c.bash"
in_bash() {
  # shellcheck disable=SC2016
  bash -c 'source "$0"; COMP_WORDS=(trireme "$@"); COMP_CWORD=$#; _trireme; echo "${COMPREPLY[@]}"' \
    "$work/c.bash" "$@"
}
expect "bash: a command" "$(in_bash tr)" "train"
expect "bash: a subcommand" "$(in_bash data ve)" "verify"
expect "bash: options" "$(in_bash check --p)" "--print-job"
expect "bash: options of the program" "$(in_bash --ver)" "--version"
expect "bash: nothing" "$(in_bash no_such_)" ""
touch "$work/job.toml"
expect "bash: files" "$(in_bash train "$work/jo")" "$work/job.toml"

"$trireme" completion zsh >"$work/_trireme"
if needs zsh; then zsh -n "$work/_trireme"; echo "ok    zsh: syntax"; fi

"$trireme" completion fish >"$work/c.fish"
if needs fish; then
  in_fish() { fish -c "source $work/c.fish; complete -C 'trireme $1'" | cut -f 1 | tr '\n' ' '; }
  expect "fish: a command" "$(in_fish tr)" "train "
  expect "fish: a subcommand" "$(in_fish 'data ve')" "verify "
  expect "fish: options" "$(in_fish 'check --p')" "--print-job "
fi

code=0
"$trireme" completion tcsh >"$work/out" 2>&1 || code=$?
expect "another shell" "$code" "2"

mkdir "$work/man1"
"$trireme" man "$work/man1"
expect "man pages" "$(ls "$work/man1/trireme.1" "$work/man1/trireme-train.1" | wc -l)" "2"
if needs mandoc; then mandoc -T lint -W error "$work"/man1/*.1; echo "ok    mandoc"; fi
code=0
"$trireme" man "$work/none" >"$work/out" 2>&1 || code=$?
expect "no folder" "$code" "4"
