#!/usr/bin/env bash
# components_test.sh BUILD_DIR: installs every component alone. Each installed file belongs to
# exactly one component, and each component has the files that it is for.
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

files() { (cd "$1" && find . -type f -o -type l | sort); }
has() {
  grep -qE "$2" "$work/$1.files" || { echo "component $1 has no $2" >&2; exit 1; }
}

cmake --install "$build" --prefix "$work/all" >/dev/null
files "$work/all" >"$work/all.files"
components=(library onnx dev tools inference)
[ ! -e "$(find "$work/all" -name trireme_distributed)" ] || components+=(distributed)
for component in "${components[@]}"; do
  mkdir "$work/$component"
  cmake --install "$build" --prefix "$work/$component" --component "$component" >/dev/null
  files "$work/$component" >"$work/$component.files"
done
for component in "${components[@]}"; do cat "$work/$component.files"; done | sort >"$work/sum.files"
if ! diff "$work/all.files" "$work/sum.files"; then
  echo "the files above (<) are in no component, or (>) in several" >&2
  exit 1
fi
has library '/libtrireme\.so\.0$'
has onnx '/libtrireme_onnx\.so\.0$'
has inference '/libtrireme_inference\.so\.0$'
has tools '/bin/trireme$'
has dev '/include/trireme/ops\.h$'
has dev '/include/trireme/ragged\.h$'
has dev '/include/trireme/onnx\.h$'
has dev '/libtrireme\.so$'
has dev '/TriremeConfig\.cmake$'
! grep -q '\.h$' "$work/library.files" || { echo "headers in the component library" >&2; exit 1; }
echo "components: $(wc -l <"$work/all.files") files in ${#components[@]} components"
