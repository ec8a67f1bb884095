#!/usr/bin/env bash
# run.sh shared|static SOURCE_DIR BUILD_DIR: installs that kind of library, then builds and runs
# project/ against the installed files alone.
set -euo pipefail
kind=$1 source=$2 build=$3
work=$build/consumer/$kind
prefix=$work/prefix
jobs=${JOBS:-$(nproc)}
rm -rf "$prefix" "$work/project" "$work/onnx" "$work/distributed"
mkdir -p "$work"

shared_here=$(sed -n 's/^BUILD_SHARED_LIBS:BOOL=//p' "$build/CMakeCache.txt")
wanted=ON
[ "$kind" = shared ] || wanted=OFF
library=$build
if [ "$shared_here" != "$wanted" ]; then
  # The other kind: the library alone, with the flags of this build and in a folder beside it, so
  # that paths relative to the folder are the same and ccache finds every object.
  library=$(dirname "$build")/$(basename "$build")_$kind
  distributed=$(sed -n 's/^TRIREME_BUILD_DISTRIBUTED:BOOL=//p' "$build/CMakeCache.txt")
  flags=$(sed -n 's/^CMAKE_CXX_FLAGS_DEBUG:[A-Z]*=//p' "$build/CMakeCache.txt")
  unity=$(sed -n 's/^TRIREME_UNITY:[A-Z]*=//p' "$build/CMakeCache.txt")
  type=$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$build/CMakeCache.txt")
  cmake -S "$source" -B "$library" -G Ninja -DCMAKE_BUILD_TYPE="$type" \
    -DCMAKE_CXX_FLAGS_DEBUG="$flags" -DBUILD_SHARED_LIBS="$wanted" \
    -DTRIREME_BUILD_DISTRIBUTED="$distributed" -DTRIREME_UNITY="$unity" \
    -DTRIREME_BUILD_TESTS=OFF -DTRIREME_BUILD_EXAMPLES=OFF -DTRIREME_BUILD_APPS=OFF >/dev/null
  targets=(trireme trireme_onnx_library trireme_inference_shared trireme_inference_static)
  [ "$distributed" = OFF ] || targets+=(trireme_distributed_library)
  cmake --build "$library" -j "$jobs" --target "${targets[@]}"
fi
cmake --install "$library" --prefix "$prefix" >/dev/null

# Nothing installed may name the source tree or the build, or carry our private targets and flags.
if grep -rlF -e "$source/src" -e "$build" "$prefix" --include='*.cmake' --include='*.pc' --include='*.h'; then
  echo "the files above name the tree that built them" >&2
  exit 1
fi
if grep -nE 'trireme_(flags|llvm|openblas|dnnl|gloo|internal)|PkgConfig::(GRPC|ROCKSDB|HTTPLIB|CRYPTO)|-Werror' "$prefix"/lib*/cmake/Trireme/*.cmake; then
  echo "private targets or flags leak into the package" >&2
  exit 1
fi

echo "== CMake package, $kind"
cmake -S "$source/tests/consumer/project" -B "$work/project" -G Ninja \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/project"
"$work/project/consumer"

echo "== pkg-config, $kind"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name trireme.pc)")
export PKG_CONFIG_PATH
static=()
[ "$kind" = shared ] || static=(--static)
# shellcheck disable=SC2046
c++ -std=c++20 "$source/tests/consumer/project/main.cc" -o "$work/by_pkg_config" \
  $(pkg-config "${static[@]}" --cflags --libs trireme)
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$work/by_pkg_config"

echo "== models of ONNX, $kind"
cmake -S "$source/tests/consumer/onnx" -B "$work/onnx" -G Ninja \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/onnx"
(cd "$work" && onnx/consumer)
# shellcheck disable=SC2046
c++ -std=c++20 "$source/tests/consumer/onnx/main.cc" -o "$work/onnx_by_pkg_config" \
  $(pkg-config "${static[@]}" --cflags --libs trireme-onnx)
(cd "$work" && LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") ./onnx_by_pkg_config)

if [ -n "$(find "$prefix" -name trireme-distributed.pc)" ]; then
  echo "== training by many processes, $kind"
  cmake -S "$source/tests/consumer/distributed" -B "$work/distributed" -G Ninja \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$work/distributed"
  "$work/distributed/member" | tail -n 1
  if [ -x "$prefix/bin/trireme" ]; then
    TRIREME_JOBS=$work/jobs "$prefix/bin/trireme" launch --program "$work/distributed/member" \
      --trainers 2 | grep "by 2"
  fi
  # shellcheck disable=SC2046
  c++ -std=c++20 "$source/tests/consumer/distributed/main.cc" -o "$work/member_by_pkg_config" \
    $(pkg-config "${static[@]}" --cflags --libs trireme-distributed)
  LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$work/member_by_pkg_config" | tail -n 1
fi

echo "== the README's example, $kind"
sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$source/README.md" >"$work/readme.cc"
# shellcheck disable=SC2046
c++ -std=c++20 -Wall -Wextra -Werror "$work/readme.cc" -o "$work/readme" \
  $(pkg-config "${static[@]}" --cflags --libs trireme)
