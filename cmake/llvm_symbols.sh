#!/bin/sh
# llvm_symbols.sh VERSION_SCRIPT OPTIONS OBJECT...: writes what the objects need from LLVM, as a
# version script that exports these symbols alone, and as linker options that pull them in.
set -eu
script=$1 options=$2
shift 2
symbols=$(nm --undefined-only --format=posix "$@" | awk '$1 ~ /N?4llvm|^LLVM/ { print $1 }' |
  grep -v 7trireme | sort -u)
{
  echo "TRIREME_LLVM { global:"
  echo "$symbols" | sed 's/$/;/'
  echo "local: *; };"
} >"$script"
echo "$symbols" | sed 's/^/-Wl,--undefined=/' >"$options"
