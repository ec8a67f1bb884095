// Metrics of plain data: texts and boxes.

#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "arrays.h"
#include "module.h"
#include "trireme/box_metrics.h"
#include "trireme/error.h"
#include "trireme/sequence_metrics.h"

namespace trireme::python {

namespace {

using Texts = std::vector<std::string>;

// Each text has one reference, a str, or several, a list.
std::vector<Texts> references_of(nb::handle given) {
  std::vector<Texts> references;
  for (const nb::handle one : nb::iter(given)) {
    Texts texts;
    if (!nb::isinstance<nb::str>(one)) texts = nb::cast<Texts>(one);
    else texts.push_back(nb::cast<std::string>(one));
    references.push_back(std::move(texts));
  }
  return references;
}

BleuScore bleu(const Texts& hypotheses, nb::handle references, const std::string& tokenizer,
               bool smooth, bool lower_case, bool effective_order) {
  using Tokenizer = BleuOptions::Tokenizer;
  if (tokenizer != "v13a" && tokenizer != "none") {
    throw Error(ErrorKind::usage,
                "corpus_bleu: tokenizer must be \"v13a\" or \"none\", not \"" + tokenizer + "\"");
  }
  const BleuOptions options{
      .tokenizer = tokenizer == "v13a" ? Tokenizer::v13a : Tokenizer::none,
      .smoothing = smooth ? BleuOptions::Smoothing::exp : BleuOptions::Smoothing::none,
      .lower_case = lower_case,
      .effective_order = effective_order};
  return corpus_bleu(hypotheses, references_of(references), options);
}

RougeScores rouge(const Texts& hypotheses, nb::handle references, const std::string& tokenizer) {
  using Tokenizer = RougeOptions::Tokenizer;
  if (tokenizer != "ascii" && tokenizer != "none") {
    throw Error(ErrorKind::usage,
                "corpus_rouge: tokenizer must be \"ascii\" or \"none\", not \"" + tokenizer + "\"");
  }
  return corpus_rouge(hypotheses, references_of(references),
                      {.tokenizer = tokenizer == "ascii" ? Tokenizer::ascii : Tokenizer::none});
}

void add_texts(nb::module_& m) {
  nb::class_<BleuScore>(m, "BleuScore", "BLEU of a corpus, and what it is made of.")
      .def_ro("score", &BleuScore::score, "In [0, 100].")
      .def_ro("precisions", &BleuScore::precisions, "Of 1 to 4 words, in percent, smoothed.")
      .def_ro("brevity_penalty", &BleuScore::brevity_penalty)
      .def_ro("hypothesis_length", &BleuScore::hypothesis_length)
      .def_ro("reference_length", &BleuScore::reference_length)
      .def_ro("matches", &BleuScore::matches)
      .def_ro("totals", &BleuScore::totals);
  m.def("corpus_bleu", bleu, nb::arg("hypotheses"), nb::arg("references"), nb::kw_only(),
        nb::arg("tokenizer") = "v13a", nb::arg("smooth") = true, nb::arg("lower_case") = false,
        nb::arg("effective_order") = false,
        nb::sig("def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str] | "
                "Sequence[Sequence[str]], *, tokenizer: str = 'v13a', smooth: bool = True, "
                "lower_case: bool = False, effective_order: bool = False) -> BleuScore"),
        "BLEU (Papineni and others 2002), as sacreBLEU reports it. Each text has one reference or "
        "several.");
  nb::class_<RougeScore>(m, "RougeScore", "Numbers in [0, 1].")
      .def_ro("precision", &RougeScore::precision)
      .def_ro("recall", &RougeScore::recall)
      .def_ro("f1", &RougeScore::f1);
  nb::class_<RougeScores>(m, "RougeScores", "ROUGE of a corpus.")
      .def_ro("rouge_1", &RougeScores::rouge_1, "Common words.")
      .def_ro("rouge_2", &RougeScores::rouge_2, "Common pairs of words.")
      .def_ro("rouge_l", &RougeScores::rouge_l, "The longest common subsequence.");
  m.def("corpus_rouge", rouge, nb::arg("hypotheses"), nb::arg("references"), nb::kw_only(),
        nb::arg("tokenizer") = "ascii",
        nb::sig("def corpus_rouge(hypotheses: Sequence[str], references: Sequence[str] | "
                "Sequence[Sequence[str]], *, tokenizer: str = 'ascii') -> RougeScores"),
        "The means of ROUGE-1, ROUGE-2 and ROUGE-L (Lin 2004), as Google's rouge_score computes "
        "them without stemming. Of several references the best one counts.");
}

void add_boxes(nb::module_& m) {
  nb::class_<BoxPrecision>(m, "BoxPrecision", "Average precision of boxes; NaN without true ones.")
      .def_ro("mean", &BoxPrecision::mean, "Over thresholds and classes.")
      .def_ro("at_50", &BoxPrecision::at_50)
      .def_ro("at_75", &BoxPrecision::at_75)
      .def_ro("recall", &BoxPrecision::recall)
      .def_ro("of_class", &BoxPrecision::of_class);
  nb::class_<BoxAveragePrecision>(
      m, "BoxAveragePrecision",
      "The mean average precision of detected boxes, as COCO defines it, over the images of "
      "update(). Without thresholds of the intersection over union: 0.5, 0.55 ... 0.95.")
      .def(
          "__init__",
          [](BoxAveragePrecision* self, std::vector<double> thresholds,
             std::int64_t max_detections) {
            new (self) BoxAveragePrecision(
                {.thresholds = std::move(thresholds), .max_detections = max_detections});
          },
          nb::kw_only(), nb::arg("thresholds") = std::vector<double>(),
          nb::arg("max_detections") = 100,
          nb::sig("def __init__(self, *, thresholds: Sequence[float] = (), max_detections: int = "
                  "100) -> None"))
      .def(
          "update",
          [](BoxAveragePrecision& self, nb::handle boxes, nb::handle scores, nb::handle classes,
             nb::handle true_boxes, nb::handle true_classes) {
            self.update(tensor_of(boxes), tensor_of(scores), tensor_of(classes),
                        tensor_of(true_boxes), tensor_of(true_classes));
          },
          nb::arg("boxes"), nb::arg("scores"), nb::arg("classes"), nb::arg("true_boxes"),
          nb::arg("true_classes"),
          nb::sig("def update(self, boxes: Any, scores: Any, classes: Any, true_boxes: Any, "
                  "true_classes: Any) -> None"),
          "Adds one image. Boxes are arrays [n, 4] with x_min, y_min, x_max, y_max; classes below "
          "0 are padding.")
      .def("score", &BoxAveragePrecision::score)
      .def_prop_ro("images", &BoxAveragePrecision::images)
      .def("reset", &BoxAveragePrecision::reset);
}

}  // namespace

void add_metrics(nb::module_& m) {
  add_texts(m);
  add_boxes(m);
}

}  // namespace trireme::python
