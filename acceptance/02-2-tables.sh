#!/usr/bin/env bash
# Trains wide and deep on Adult and a recommender on MovieLens, as jobs and as C++ programs.
source "$(dirname "$0")/common.sh"
build_release
cmake --build --preset release --target example_adult_wide_and_deep example_movielens_two_tower \
  -j "$(nproc)"
status=0

"$trireme" train examples/adult_wide_and_deep.toml --output "$out/adult" 2>&1 | tee "$out/adult.log"
auc=$(value_of "test auc" "$out/adult.log")
at_least "${auc:-0}" 0.905 || status=1

"$trireme" train examples/movielens_two_tower.toml --output "$out/movielens" 2>&1 |
  tee "$out/movielens.log"
rmse=$(value_of "test rmse" "$out/movielens.log")
at_least 0.90 "${rmse:-9}" || status=1

bin=$PWD/build/release/bin
(cd "$out" && "$bin/adult_wide_and_deep" && "$bin/movielens_two_tower") 2>&1 | tee "$out/tables.log"
auc_cc=$(value_of "test auc" "$out/tables.log")
rmse_cc=$(value_of "test rmse" "$out/tables.log")
at_least "${auc_cc:-0}" 0.905 || status=1
at_least 0.90 "${rmse_cc:-9}" || status=1
conclude "$status" "Adult AUC: job ${auc:-none}, program ${auc_cc:-none} (>= 0.905); MovieLens RMSE: job ${rmse:-none}, program ${rmse_cc:-none} (<= 0.90)"
