#!/usr/bin/env bash
# Trains a click-through model on synthetic clicks of a known model, with 2 trainers and 2 servers.
# The AUC of asynchronous and geo training must be within 0.002 of that of synchronous training, and
# each within 0.005 of that of the known model, on the same 200,000 held-out rows. DeepFM has no
# crosses and cannot reach the known model (docs/tutorials/clicks.md). Its asynchronous training
# must be within 0.002 of training in one process.
source "$(dirname "$0")/common.sh"
build_release
cmake --build --preset release --target trireme_distributed_cli example_clicks_truth -j "$(nproc)"
status=0
job=examples/jobs/clicks_wide_and_deep.toml
build/release/bin/clicks_truth | tee "$out/04-6-truth.log"
truth=$(value_of "truth auc" "$out/04-6-truth.log")

"$trireme" train "$job" --output "$out/clicks" 2>&1 | tee "$out/04-6-alone.log"
for mode in synchronous asynchronous geo; do
  "$trireme" launch --trainers 2 --servers 2 "$job" --set distributed.mode="$mode" \
    --output "$out/clicks-$mode" 2>&1 | tee "$out/04-6-$mode.log" || status=1
done

"$trireme" train examples/jobs/clicks_deepfm.toml --output "$out/clicks-deepfm-alone" 2>&1 | tee "$out/04-6-deepfm-alone.log"
"$trireme" launch --trainers 2 --servers 2 examples/jobs/clicks_deepfm.toml \
  --output "$out/clicks-deepfm" 2>&1 | tee "$out/04-6-deepfm.log" || status=1

# differ A B LIMIT: succeeds if A and B differ by more than LIMIT, or if one is missing.
differ() { awk -v a="${1:-9}" -v b="${2:--9}" -v limit="$3" 'BEGIN { d = a - b; exit !(d > limit || -d > limit) }'; }
synchronous=$(value_of "test auc" "$out/04-6-synchronous.log")
text=""
for mode in alone synchronous asynchronous geo; do
  auc=$(value_of "test auc" "$out/04-6-$mode.log")
  ! differ "$auc" "$truth" 0.005 || status=1
  case $mode in
    asynchronous | geo) ! differ "$auc" "$synchronous" 0.002 || status=1 ;;
  esac
  text+="; $mode ${auc:-none}"
done
deepfm=$(value_of "test auc" "$out/04-6-deepfm.log") deepfm_alone=$(value_of "test auc" "$out/04-6-deepfm-alone.log")
! differ "$deepfm" "$deepfm_alone" 0.002 || status=1
text+=" (each within 0.005 of it, and the modes within 0.002 of synchronous); DeepFM, without crosses: alone ${deepfm_alone:-none}, asynchronous ${deepfm:-none} (within 0.002)"
conclude "$status" "AUC of the known model ${truth:-none}$text"
