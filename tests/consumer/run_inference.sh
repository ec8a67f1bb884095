#!/usr/bin/env bash
# run_inference.sh SOURCE_DIR BUILD_DIR: installs, checks that the inference library needs nothing
# but the C++ library, then builds inference/ against the installed files by CMake and by
# pkg-config.
set -euo pipefail
source=$1 build=$2
work=$build/consumer/inference
prefix=$work/prefix
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$prefix" >/dev/null

library=$(find "$prefix" -name libtrireme_inference.so)
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
echo "needs: $(echo "$needed" | tr '\n' ' ')"
if echo "$needed" | grep -vE '^(libstdc\+\+|libm|libgcc_s|libc|libpthread|libdl|ld-linux.*)\.so'; then
  echo "the inference library needs more than the C++ library" >&2
  exit 1
fi

echo "== CMake package"
cmake -S "$source/tests/consumer/inference" -B "$work/project" -G Ninja \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/project"
for program in in_c in_c_static in_cpp; do "$work/project/$program"; done

echo "== pkg-config"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name trireme-inference.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
cc -std=c99 -Wall -Wextra -Werror -pedantic "$source/tests/consumer/inference/main.c" \
  -o "$work/by_pkg_config" $(pkg-config --cflags --libs trireme-inference)
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$work/by_pkg_config"
