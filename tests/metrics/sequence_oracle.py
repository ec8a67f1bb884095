#!/usr/bin/env python3
"""What other programs say of sequences.

usage: sequence_oracle.py KIND CASES

CASES is a JSON file. Prints JSON: an answer for each case.
bleu    sacreBLEU, of {hypotheses, references (a list for each hypothesis), tokenize, lowercase,
        effective_order, smooth}
chunks  seqeval, of {predicted, reference (lists of lists of tags)}
lower   str.lower() of each text
"""

import json
import sys
import warnings


def bleu(case):
    from sacrebleu.metrics import BLEU
    most = max(len(r) for r in case["references"])
    streams = [[r[i] if i < len(r) else None for r in case["references"]] for i in range(most)]
    metric = BLEU(tokenize=case["tokenize"], lowercase=case["lowercase"],
                  smooth_method=case["smooth"], effective_order=case["effective_order"],
                  force=True)
    score = metric.corpus_score(case["hypotheses"], streams)
    return {"score": score.score, "precisions": score.precisions, "bp": score.bp,
            "hypothesis_length": score.sys_len, "reference_length": score.ref_len,
            "matches": score.counts, "totals": score.totals}


def chunks(case):
    from seqeval.metrics import f1_score, precision_score, recall_score
    from seqeval.metrics.sequence_labeling import get_entities
    warnings.simplefilter("ignore")
    sides = case["reference"], case["predicted"]
    reference, predicted = (
        {(i, *c) for i, tags in enumerate(side) for c in get_entities(tags)} for side in sides)
    return {"precision": precision_score(*sides), "recall": recall_score(*sides),
            "f1": f1_score(*sides), "correct": len(reference & predicted),
            "predicted": len(predicted), "reference": len(reference)}


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        cases = json.load(file)
    answer = {"bleu": bleu, "chunks": chunks, "lower": str.lower}[sys.argv[1]]
    json.dump([answer(case) for case in cases], sys.stdout)


if __name__ == "__main__":
    main()
