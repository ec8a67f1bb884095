#!/usr/bin/env bash
# configure_without_distributed.sh CMAKE SOURCE_DIR: configures with TRIREME_BUILD_DISTRIBUTED=OFF,
# where pkg-config and CMake do not find what training by many processes stands on.
set -euo pipefail
cmake=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A pkg-config that does not know these.
cat >"$work/pkg-config" <<'TEXT'
#!/bin/sh
for word in "$@"; do
  case $word in *grpc*|*rocksdb*|*httplib*|*libcrypto*) exit 1 ;; esac
done
exec pkg-config "$@"
TEXT
chmod +x "$work/pkg-config"

configure() {
  "$cmake" -S "$source" -B "$work/$1" -G Ninja -DTRIREME_BUILD_DISTRIBUTED="$2" \
    -DPKG_CONFIG_EXECUTABLE="$work/pkg-config" -DCMAKE_DISABLE_FIND_PACKAGE_Gloo=ON
}
if configure with ON >/dev/null 2>&1; then
  echo "it was configured without gRPC: this test hides nothing" >&2
  exit 1
fi
configure without OFF
if grep -nE 'libgrpc|librocksdb|libgloo|httplib|libcrypto|src/distributed' "$work/without/build.ninja" | head; then
  exit 1
fi
