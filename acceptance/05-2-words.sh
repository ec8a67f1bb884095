#!/usr/bin/env bash
# `make check` with its rules for words passes, and every page of docs reads at grade 10 or below.
# The list of retired names is part of `make check`.
source "$(dirname "$0")/common.sh"
status=0
make check >"$out/05-2-check.log" 2>&1 || status=1
tools/install-deps.sh --test >"$out/05-2-install.log" 2>&1
tools/python-env.sh textstat >>"$out/05-2-install.log" 2>&1
tools/readability.py --max 10 | tee "$out/05-2-grades.txt" || status=1
pages=$(grep -cE '^ *[0-9.]+ +[0-9]+ +[0-9]+ ' "$out/05-2-grades.txt" || true)
grade=$(grep -E '^ *[0-9.]+ +[0-9]+ +[0-9]+ ' "$out/05-2-grades.txt" | sort -g | tail -n 1 | awk '{print $1}')
retired=$(grep -vc '^#' tools/prose/retired_names.txt || true)
conclude "$status" "$pages pages, highest grade $grade; $retired retired names without a hit"
