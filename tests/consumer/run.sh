#!/usr/bin/env bash
# run.sh shared|static SOURCE_DIR BUILD_DIR: installs that kind of library, then builds and runs
# project/ against the installed files alone.
set -euo pipefail
kind=$1 source=$2 build=$3
work=$build/consumer/$kind
prefix=$work/prefix
jobs=${JOBS:-$(nproc)}
rm -rf "$prefix" "$work/project"
mkdir -p "$work"

shared_here=$(sed -n 's/^BUILD_SHARED_LIBS:BOOL=//p' "$build/CMakeCache.txt")
wanted=ON
[ "$kind" = shared ] || wanted=OFF
library=$build
if [ "$shared_here" != "$wanted" ]; then
  # The other kind: the library alone, with the flags of this build and in a folder beside it, so that
  # paths relative to the folder are the same and ccache finds every object.
  library=$(dirname "$build")/$(basename "$build")_$kind
  flags=$(sed -n 's/^CMAKE_CXX_FLAGS_DEBUG:[A-Z]*=//p' "$build/CMakeCache.txt")
  type=$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$build/CMakeCache.txt")
  cmake -S "$source" -B "$library" -G Ninja -DCMAKE_BUILD_TYPE="$type" \
    -DCMAKE_CXX_FLAGS_DEBUG="$flags" -DBUILD_SHARED_LIBS="$wanted" \
    -DTRIREME_BUILD_TESTS=OFF -DTRIREME_BUILD_EXAMPLES=OFF -DTRIREME_BUILD_APPS=OFF >/dev/null
  cmake --build "$library" -j "$jobs" --target trireme trireme_inference_shared trireme_inference_static
fi
cmake --install "$library" --prefix "$prefix" >/dev/null

# Nothing installed may name the source tree or the build, or carry our private targets and flags.
if grep -rlF -e "$source/src" -e "$build" "$prefix" --include='*.cmake' --include='*.pc' --include='*.h'; then
  echo "the files above name the tree that built them" >&2
  exit 1
fi
if grep -nE 'trireme_(flags|llvm|openblas|dnnl)|-Werror' "$prefix"/lib*/cmake/Trireme/*.cmake; then
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

echo "== the README's example, $kind"
sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$source/README.md" >"$work/readme.cc"
# shellcheck disable=SC2046
c++ -std=c++20 -Wall -Wextra -Werror "$work/readme.cc" -o "$work/readme" \
  $(pkg-config "${static[@]}" --cflags --libs trireme)
