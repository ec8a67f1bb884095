#!/usr/bin/env bash
# Installs the Debian packages that Trireme needs. Returns quickly if all are installed.
#   tools/install-deps.sh          to build and to run the demo
#   tools/install-deps.sh --test   also packages of the tests and checks, some of them from PyPI
#   tools/install-deps.sh --alone  without the packages of distributed training, for
#                                  -DTRIREME_BUILD_DISTRIBUTED=OFF
#   tools/install-deps.sh --bench  also packages that benchmarks compare with
#   tools/install-deps.sh --wheel  also packages that a wheel of the Python package is built with
#   tools/install-deps.sh --list   prints the packages to build with, and installs nothing; with
#                                  --alone after it, those of --alone
# docs/reference/dependencies.md has the purpose of each package.
set -euo pipefail

build=(
  g++ cmake ninja-build make pkg-config ccache mold git python3
  llvm-19-dev libdnnl-dev libopenblas-pthread-dev
  libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
  libturbojpeg0-dev libpng-dev zlib1g-dev libzstd-dev libxxhash-dev
  libarchive-dev libpugixml-dev libyaml-cpp-dev libsentencepiece-dev libprotozero-dev
  libkissfft-dev
  dataset-fashion-mnist
)
distributed=(libgrpc++-dev libssl-dev librocksdb-dev libgloo-dev libcpp-httplib-dev)
tests=(
  libgtest-dev libgmock-dev librapidcheck-dev
  clang-19 libclang-rt-19-dev llvm-19 clang-format-19
  g++-aarch64-linux-gnu qemu-user etcd-server openssl
  debootstrap lintian dpkg-dev zsh fish mandoc
  slurm-wlm munge openmpi-bin mpich iproute2 iptables codespell
  libonnx-testdata
  curl python3-jsonschema python3-numpy python3-sklearn python3-torch python3-venv python3-dev
)

bench=(libopenmpi-dev openmpi-bin)
wheel=(python3-dev python3-venv libbz2-dev liblzma-dev nettle-dev advancecomp)

wanted=("${build[@]}" "${distributed[@]}")
case "${1:-}" in
  "") ;;
  --test) wanted+=("${tests[@]}") ;;
  --alone) wanted=("${build[@]}") ;;
  --list)
    [ "${2:-}" != --alone ] || wanted=("${build[@]}")
    printf '%s\n' "${wanted[@]}"
    exit 0
    ;;
  --bench) wanted+=("${bench[@]}") ;;
  --wheel) wanted+=("${wheel[@]}") ;;
  *) echo "usage: $0 [--test | --alone | --bench | --wheel | --list]" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  cat >&2 <<TEXT
$0: this script installs Debian packages, and this system has no apt-get.
Trireme is built and tested on Debian 12. Elsewhere, install the equivalents of
  ${wanted[*]}
by hand (LLVM must be version 19), then run: cmake --preset release && cmake --build --preset release
TEXT
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
# What Debian lacks. Without it a few tests are skipped, and say so.
finish() {
  if [ "${1:-}" = --test ]; then
    for package in safetensors sacrebleu seqeval prometheus_client kubernetes_validate nanobind onnx skl2onnx; do
      "$(dirname "$0")/python-env.sh" "$package" || true
    done
  fi
  exit 0
}
if [ ${#missing[@]} -eq 0 ]; then
  finish "$@"
fi
echo "installing ${#missing[@]} packages: ${missing[*]}"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "$0: not root and no sudo; ask an administrator to run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -q "$@" </dev/null; }

# The package lists may be absent (a fresh container) or stale (a package that has moved on).
install() { apt install --no-install-recommends "${missing[@]}"; }
if ! apt-cache show "${missing[@]}" >/dev/null 2>&1; then
  apt update
fi
if ! install; then
  apt update
  if ! install; then
    echo "$0: apt-get could not install the packages above. Debian 12 (bookworm) has them all;" >&2
    echo "on another release, look for the nearest names (LLVM must be version 19)." >&2
    exit 1
  fi
fi
finish "$@"
