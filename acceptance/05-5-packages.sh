#!/usr/bin/env bash
# Debian packages install in a fresh Debian 12 made by debootstrap, train the demo there, build the
# consumer projects, and leave nothing behind. Every command and C++ block of README and docs runs.
source "$(dirname "$0")/common.sh"
tools/install-deps.sh --test
status=0
make package >"$out/05-5-package.log" 2>&1 || status=1
errors=$(lintian --fail-on none build/packages/*.deb 2>/dev/null | tee "$out/05-5-lintian.log" | grep -c '^E:' || true)
[ "$errors" -eq 0 ] || { cat "$out/05-5-lintian.log"; status=1; }
tests/packages/bootstrap.sh . build/packages | tee "$out/05-5-bootstrap.log" || status=1
make build-release >"$out/05-5-build.log" 2>&1 || status=1
tests/docs/run_docs.sh "$PWD" "$PWD/build/release" >"$out/05-5-docs.log" 2>&1 || status=1
blocks=$(sed -n 's/^docs: //p' "$out/05-5-docs.log" | tail -n 1)
packages=$(find build/packages -maxdepth 1 -name '*.deb' | wc -l)
conclude "$status" "$packages packages, $errors errors of lintian; ${blocks:-no blocks run}"
