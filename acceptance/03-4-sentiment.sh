#!/usr/bin/env bash
# Classifies film reviews: the convolution on sentence_polarity and the best model on movie_reviews.
# Shows the accuracy on held-out texts (a fixed fifth) and the training time.
source "$(dirname "$0")/common.sh"
build_release
status=0
figures=""

# reach JOB DATA GOAL: trains a job of examples/jobs on one of the corpora.
reach() {
  local log=$out/$1-$2.log start=$SECONDS accuracy
  "$trireme" train "examples/jobs/$1.toml" --set data.train="$2/train" --set data.test="$2/test" \
    --threads 2 --output "$out/$1-$2" 2>&1 | tee "$log"
  accuracy=$(value_of "test accuracy" "$log")
  at_least "${accuracy:-0}" "$3" || status=1
  [ $((SECONDS - start)) -le 3600 ] || status=1
  figures+="$1 on $2 ${accuracy:-none} (>= $3) in $((SECONDS - start)) s, "
}
reach text_convolution sentence_polarity 0.75
reach text_logistic movie_reviews 0.85
conclude "$status" "${figures%, }"
