#!/usr/bin/env bash
# Wide and deep on Adult and a recommender on MovieLens, as jobs and as C++ programs. The job's area
# under the ROC curve is scikit-learn's (adult_auc.py).
source "$(dirname "$0")/common.sh"
build_release
cmake --build --preset release --target example_adult_wide_and_deep example_movielens_two_tower \
  -j "$(nproc)"
status=0

"$trireme" train examples/adult_wide_and_deep.toml --output "$out/adult" 2>&1 | tee "$out/adult.log"
"$trireme" predict "$out/adult" --data adult/test --rows 0: --json >"$out/adult.json"
auc=$(/usr/bin/python3 acceptance/adult_auc.py "$out/adult.json" \
  "${ADULT_TEST:-$TRIREME_DATA/ctr/adult-test.csv.zst}")
at_least "${auc:-0}" 0.905 || status=1

"$trireme" train examples/movielens_two_tower.toml --output "$out/movielens" 2>&1 |
  tee "$out/movielens.log"
mse=$(value_of "test mse" "$out/movielens.log")
at_least 0.81 "${mse:-9}" || status=1

bin=$PWD/build/release/bin
(cd "$out" && "$bin/adult_wide_and_deep" && "$bin/movielens_two_tower") 2>&1 | tee "$out/tables.log"
auc_cc=$(value_of "test auc" "$out/tables.log")
rmse_cc=$(value_of "test rmse" "$out/tables.log")
at_least "${auc_cc:-0}" 0.905 || status=1
at_least 0.90 "${rmse_cc:-9}" || status=1
conclude "$status" "Adult AUC ${auc:-none} by job, ${auc_cc:-none} by program (>= 0.905); MovieLens mse ${mse:-none} by job (<= 0.81), RMSE ${rmse_cc:-none} by program (<= 0.90)"
