#!/usr/bin/env bash
# bootstrap.sh SOURCE_DIR PACKAGES_DIR [WORK_DIR]: installs the Debian packages of `make package` in
# a fresh Debian 12 and uses them there: trains the demo, predicts with its model, and builds the
# consumer projects by CMake and by pkg-config. Needs root and debootstrap. The mirror and the other
# sources are those of this machine's apt.
set -euo pipefail
source=$(realpath "$1") packages=$(realpath "$2")
work=${3:-$(mktemp -d)}
root=$work/root
[ "$(id -u)" -eq 0 ] || { echo "bootstrap.sh needs root, for debootstrap and chroot" >&2; exit 2; }
mkdir -p "$work"
trap 'umount "$root/proc" 2>/dev/null || true' EXIT

sources=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null || true)
mirror=$(sed -n 's/^URIs: *//p' <<<"$sources" | head -n 1)
[ -n "$mirror" ] || mirror=$(awk '$1 == "deb" { print $2; exit }' /etc/apt/sources.list)

step() { echo "== $*"; }
inside() { chroot "$root" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/bin:/bin:/usr/sbin:/sbin DEBIAN_FRONTEND=noninteractive "$@"; }

step "a fresh Debian 12 by debootstrap"
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
  { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
cp -L /etc/resolv.conf "$root/etc/" 2>/dev/null || true
cp /etc/apt/apt.conf.d/*registry* /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
rm -f "$root/etc/apt/sources.list"
cp /etc/apt/sources.list.d/*.sources "$root/etc/apt/sources.list.d/" 2>/dev/null || true
cp /etc/apt/sources.list "$root/etc/apt/" 2>/dev/null || true
mount -t proc proc "$root/proc"

step "install the packages with apt"
mkdir -p "$root/packages"
cp "$packages"/*.deb "$root/packages/"
inside apt-get -q update >"$work/apt.log" 2>&1
inside sh -c 'apt-get -q install -y --no-install-recommends /packages/*.deb dataset-fashion-mnist' \
  >>"$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log" >&2; exit 1; }
inside dpkg-query -W -f '${Package} ${Version} ${Installed-Size} kB\n' \
  libtrireme0 libtrireme-onnx0 libtrireme-dev libtrireme-inference0 trireme-tools trireme-distributed

step "train the demo, and predict"
cp -r "$source/examples/jobs" "$root/root/jobs"
inside trireme --version
inside sh -c 'cd /root && trireme train jobs/fashion_conv.toml --set data.limit=6400 --set train.epochs=1 --quiet'
inside sh -c 'cd /root && trireme predict fashion_conv --data fashion_mnist/test --rows 0:3'
inside sh -c 'cd /root && trireme launch --trainers 2 jobs/fashion_softmax.toml --set data.limit=6400 --set train.epochs=1 | tail -n 1'

step "build the consumer projects"
inside apt-get -q install -y --no-install-recommends g++ cmake ninja-build pkg-config >>"$work/apt.log" 2>&1
cp -r "$source/tests/consumer" "$root/root/consumer"
for project in project onnx distributed inference; do
  inside sh -c "cmake -S /root/consumer/$project -B /root/build/$project -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null && cmake --build /root/build/$project"
done
inside /root/build/project/consumer
inside /root/build/onnx/consumer
for program in in_c in_c_static in_cpp; do inside "/root/build/inference/$program"; done
inside sh -c 'c++ -std=c++20 /root/consumer/project/main.cc -o /root/by_pkg_config $(pkg-config --cflags --libs trireme) && /root/by_pkg_config'
inside sh -c 'cc -std=c99 /root/consumer/inference/main.c -o /root/c_by_pkg_config $(pkg-config --cflags --libs trireme-inference) && /root/c_by_pkg_config'

step "remove the packages"
inside sh -c 'apt-get -q remove -y "*trireme*"' >>"$work/apt.log" 2>&1
left=$(find "$root/usr" -iname '*trireme*' | head)
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
umount "$root/proc"
rm -rf "$root"
echo "packages: installed, used and removed in a fresh Debian 12"
