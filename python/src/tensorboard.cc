// Callbacks of C++, and event files for TensorBoard.

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "arrays.h"
#include "location.h"
#include "module.h"
#include "sessions.h"
#include "trireme/error.h"
#include "trireme/tensorboard.h"

namespace trireme::python {

namespace {

std::optional<data::Batches> batches_of(nb::handle given) {
  if (given.is_none()) return std::nullopt;
  const data::Batches* batches = nullptr;
  if (!nb::try_cast(nb::borrow(given), batches, false)) {
    throw Error(ErrorKind::usage, "TensorBoard: the batches are of type " + type_text(given) +
                                      "\n  hint   give dataset.batch(256), or None");
  }
  return *batches;
}

// The tag of an entry of `images` or `curves`, whose other parts are in `parts`.
std::string entry(nb::handle given, std::size_t size, std::vector<nb::object>& parts) {
  std::string tag;
  if (!is_tuple(given, size) || !read(nb::object(given[0]), tag)) {
    throw Error(ErrorKind::usage, "TensorBoard: an entry is " + text_of(given) +
                                      "\n  hint   images has (tag, value, batches), and curves "
                                      "(tag, scores, labels, batches)");
  }
  for (std::size_t i = 1; i < size; ++i) parts.push_back(nb::object(given[i]));
  return tag;
}

Value value_of(nb::handle given) {
  Value value;
  if (!read(given, value)) {
    throw Error(ErrorKind::usage, "TensorBoard: a Value is expected, not " + type_text(given));
  }
  return value;
}

void make_board(TensorBoard* self, nb::handle directory, nb::handle images, nb::handle curves,
                const nb::kwargs& given) {
  nb::dict all;
  all.update(given);
  all["directory"] = directory;
  const Call call("callbacks.TensorBoard", all, caller());
  TensorBoardOptions options;
  call.set("scalars_every", options.scalars_every);
  call.set("histograms_every", options.histograms_every);
  call.set("graph", options.graph);
  for (const nb::handle given_images : images) {
    std::vector<nb::object> parts;
    const std::string tag = entry(given_images, 3, parts);
    options.images.push_back(
        {.tag = tag, .value = value_of(parts[0]), .batches = batches_of(parts[1])});
    call.set("images_count", options.images.back().count);
  }
  for (const nb::handle given_curve : curves) {
    std::vector<nb::object> parts;
    const std::string tag = entry(given_curve, 4, parts);
    options.curves.push_back({.tag = tag,
                              .scores = value_of(parts[0]),
                              .labels = value_of(parts[1]),
                              .batches = batches_of(parts[2])});
  }
  new (self) TensorBoard(call.get<std::string>("directory"), std::move(options));
}

void add_writer(nb::module_& m) {
  nb::class_<EventWriter>(m, "EventWriter",
                          "Writes an event file for TensorBoard. Events are on disk when a method "
                          "returns. Raises IoError.")
      .def(
          "__init__",
          [](EventWriter* self, nb::handle directory, std::int64_t first_step) {
            std::string folder;
            if (!read(directory, folder)) {
              throw Error(ErrorKind::usage, "EventWriter: the folder is a path");
            }
            new (self) EventWriter(folder, first_step);
          },
          nb::arg("directory"), nb::arg("first_step") = 0,
          nb::sig("def __init__(self, directory: str | os.PathLike[str], first_step: int = 0) -> "
                  "None"),
          "Creates the folder and a file in it. first_step: readers drop the events of older files "
          "from this step on.")
      .def_prop_ro("path", &EventWriter::path)
      .def("scalar", &EventWriter::scalar, nb::arg("tag"), nb::arg("value"), nb::arg("step"))
      .def(
          "histogram",
          [](EventWriter& writer, const std::string& tag, const nb::object& values,
             std::int64_t step, int bins) { writer.histogram(tag, tensor_of(values), step, bins); },
          nb::arg("tag"), nb::arg("values"), nb::arg("step"), nb::arg("bins") = 30,
          nb::sig("def histogram(self, tag: str, values: Any, step: int, bins: int = 30) -> None"),
          "Counts of an array's values in intervals of equal width; NaN and infinity do not count.")
      .def(
          "image",
          [](EventWriter& writer, const std::string& tag, const nb::object& image,
             std::int64_t step) { writer.image(tag, tensor_of(image), step); },
          nb::arg("tag"), nb::arg("image"), nb::arg("step"),
          nb::sig("def image(self, tag: str, image: Any, step: int) -> None"),
          "A picture, uint8 [height, width, 1 or 3].")
      .def(
          "images",
          [](EventWriter& writer, const std::string& tag, const nb::object& images,
             std::int64_t step) { writer.images(tag, tensor_of(images), step); },
          nb::arg("tag"), nb::arg("images"), nb::arg("step"),
          nb::sig("def images(self, tag: str, images: Any, step: int) -> None"),
          "A grid of pictures, float32 [n, 1 or 3, height, width] in [0, 1].")
      .def(
          "pr_curve",
          [](EventWriter& writer, const std::string& tag, const nb::object& scores,
             const nb::object& labels, std::int64_t step, int thresholds) {
            writer.pr_curve(tag, tensor_of(scores), tensor_of(labels), step, thresholds);
          },
          nb::arg("tag"), nb::arg("scores"), nb::arg("labels"), nb::arg("step"),
          nb::arg("thresholds") = 127,
          nb::sig("def pr_curve(self, tag: str, scores: Any, labels: Any, step: int, thresholds: "
                  "int = 127) -> None"),
          "Precision and recall of probabilities, for labels 1 or 0 of the same shape.")
      .def("graph", &EventWriter::graph, nb::arg("program"),
           "The ops of a Program, grouped by layers.");
}

}  // namespace

void add_tensorboard(nb::module_& m) {
  nb::class_<Callback>(m, "NativeCallback", "A callback of C++.");
  nb::class_<TensorBoard, Callback>(
      m, "TensorBoard",
      "Writes a training to a folder for TensorBoard: the loss and the learning rate by step, all "
      "metrics, histograms of the trained parameters and the graph of the Program. images: (tag, "
      "value, batches), a value float32 [batch, 1 or 3, height, width] in [0, 1], drawn after "
      "every epoch. curves: (tag, scores, labels, batches), curves of precision and recall. "
      "Without batches, None, the validation data are used.")
      .def("__init__", make_board, nb::arg("directory"), nb::kw_only(),
           nb::arg("images") = nb::make_tuple(), nb::arg("curves") = nb::make_tuple(),
           nb::arg("options"),
           nb::sig("def __init__(self, directory: str | os.PathLike[str], *, images: "
                   "Sequence[tuple[str, Value, Batches | None]] = (), curves: "
                   "Sequence[tuple[str, Value, Value, Batches | None]] = (), scalars_every: int = "
                   "10, histograms_every: int = 1, graph: bool = True, images_count: int = 16) -> "
                   "None"));
  add_writer(m);
}

}  // namespace trireme::python
