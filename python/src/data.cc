// Data sets: batches of NumPy arrays.

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "augment.h"
#include "module.h"
#include "trireme/data.h"
#include "trireme/error.h"
#include "trireme/known_data.h"

namespace trireme::python {

namespace {

nb::dict arrays_of(const data::Batch& batch) {
  nb::dict arrays;
  for (const auto& [name, tensor] : batch) arrays[name.c_str()] = array_of(tensor);
  return arrays;
}

data::Batch unlocked_rows(const data::Dataset& dataset, std::int64_t begin, std::int64_t end) {
  const nb::gil_scoped_release unlocked;
  return dataset.rows(begin, end);
}

data::Batches batches_of(const data::Dataset& dataset, std::int64_t size, bool drop_last,
                         bool prefetch, int threads) {
  return dataset.batch(size, {.drop_last = drop_last, .prefetch = prefetch, .threads = threads});
}

data::Batch batch_of(const nb::object& given) {
  if (!nb::isinstance<nb::dict>(given)) {
    throw Error(ErrorKind::usage, "a batch is a dict of arrays, not " +
                                      nb::cast<std::string>(given.type().attr("__name__")));
  }
  const auto columns = nb::borrow<nb::dict>(given);
  data::Batch batch;
  for (const auto& [name, array] : columns) {
    batch.emplace(nb::cast<std::string>(name), tensor_of(array));
  }
  return batch;
}

// A Python object in C++ code, which any thread may call and drop. The garbage collector does not
// see it, so it may be part of a cycle: a function knows the variables of its module, and one of
// these may be the data set that calls it. So all are dropped when the interpreter ends.
class HeldObject {
 public:
  static std::shared_ptr<HeldObject> of(nb::object object) {
    return {new HeldObject(std::move(object)), [](HeldObject* held) {
              const nb::gil_scoped_acquire lock;
              delete held;
            }};
  }
  static void drop_all() {
    for (HeldObject* held : all()) held->object_.reset();
  }

  // With the interpreter lock.
  const nb::object& get() const {
    if (object_.is_valid()) return object_;
    throw Error(ErrorKind::usage, "a data set calls Python while the interpreter ends");
  }

 private:
  explicit HeldObject(nb::object object) : object_(std::move(object)) { all().insert(this); }
  ~HeldObject() { all().erase(this); }
  static std::set<HeldObject*>& all() {  // guarded by the interpreter lock
    static std::set<HeldObject*> held;
    return held;
  }

  nb::object object_;
};

data::Dataset mapped(const data::Dataset& dataset, const nb::callable& function) {
  const auto f = HeldObject::of(function);
  const nb::gil_scoped_release unlocked;
  return dataset.map([f](const data::Batch& batch) {
    const nb::gil_scoped_acquire lock;
    return batch_of(f->get()(arrays_of(batch)));
  });
}

data::Dataset filtered(const data::Dataset& dataset, const nb::callable& function) {
  return dataset.filter([&](const data::Batch& example) {
    return nb::cast<bool>(nb::bool_(function(arrays_of(example))));
  });
}

data::Dataset cached(const data::Dataset& dataset, const std::optional<std::string>& path) {
  const nb::gil_scoped_release unlocked;
  return path ? dataset.cache(*path) : dataset.cache();
}

nb::list folds_of(const data::Dataset& dataset, std::int64_t folds,
                  const std::optional<std::uint64_t>& seed) {
  nb::list made;
  for (const data::Fold& fold : dataset.k_fold(folds, seed)) {
    made.append(nb::make_tuple(fold.train, fold.validation));
  }
  return made;
}

// The batches of an iterator of dicts.
data::StreamReader reader_of(nb::object iterator) {
  return [held = HeldObject::of(std::move(iterator))]() -> std::optional<data::Batch> {
    const nb::gil_scoped_acquire lock;
    const nb::object next = nb::steal(PyIter_Next(held->get().ptr()));
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    if (!next.is_valid()) return std::nullopt;
    return batch_of(next);
  };
}

data::Dataset stream_of(const nb::callable& open, std::int64_t examples, bool endless,
                        std::int64_t shuffle_buffer, std::uint64_t seed,
                        std::vector<std::string> class_names) {
  const auto function = HeldObject::of(open);
  const data::StreamOptions options{.examples = examples,
                                    .endless = endless,
                                    .shuffle_buffer = shuffle_buffer,
                                    .seed = seed,
                                    .class_names = std::move(class_names)};
  const nb::gil_scoped_release unlocked;
  return data::from_stream(
      [function] {
        const nb::gil_scoped_acquire lock;
        return reader_of(nb::iter(function->get()()));
      },
      options);
}

// The threads of the stream end with it, and may wait for the interpreter lock.
struct OpenBatches {
  explicit OpenBatches(data::BatchStream made) : stream(std::move(made)) {}
  OpenBatches(OpenBatches&&) = default;
  ~OpenBatches() {
    const nb::gil_scoped_release unlocked;
    stream.reset();
  }
  std::optional<data::BatchStream> stream;
};

OpenBatches opened(const data::Batches& batches, std::int64_t epoch) {
  const nb::gil_scoped_release unlocked;
  return OpenBatches(batches.epoch(epoch));
}

void add_batches(nb::module_& m) {
  nb::class_<OpenBatches>(m, "BatchStream")
      .def(
          "__iter__", [](nb::object self) { return self; },
          nb::sig("def __iter__(self) -> BatchStream"))
      .def(
          "__next__",
          [](OpenBatches& batches) {
            std::optional<data::Batch> batch;
            {
              const nb::gil_scoped_release unlocked;
              batch = batches.stream->next();
            }
            if (!batch) throw nb::stop_iteration();
            return arrays_of(*batch);
          },
          nb::sig("def __next__(self) -> dict[str, NDArray[Any]]"));
  nb::class_<data::Batches>(m, "Batches", "A Dataset cut into batches.")
      .def("__len__", &data::Batches::size)
      .def_prop_ro("examples", &data::Batches::examples)
      .def_prop_ro("batch_size", &data::Batches::batch_size)
      .def_prop_ro("dataset", [](const data::Batches& batches) { return batches.dataset(); })
      .def("epoch", opened, nb::arg("number"), "The batches of one epoch, from 0.")
      .def("__iter__", [](const data::Batches& batches) { return opened(batches, 0); });
}

}  // namespace

void add_data(nb::module_& m) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&HeldObject::drop_all));
  add_batches(m);
  nb::class_<data::Column>(m, "Column", "One named value of every example.")
      .def_ro("name", &data::Column::name)
      .def_ro("dtype", &data::Column::dtype)
      .def_ro("shape", &data::Column::shape)
      .def_ro("ids", &data::Column::ids)
      .def_ro("words", &data::Column::words)
      .def_ro("levels", &data::Column::levels);
  nb::class_<data::Dataset> dataset(m, "Dataset", "A set of examples and their reading order.");
  dataset.def("__len__", &data::Dataset::size)
      .def_prop_ro("columns", &data::Dataset::columns)
      .def_prop_ro("class_names", &data::Dataset::class_names)
      .def("shuffle", &data::Dataset::shuffle, nb::arg("seed"),
           "Reads in a different order in every epoch.")
      .def("take", &data::Dataset::take, nb::arg("n"))
      .def("skip", &data::Dataset::skip, nb::arg("n"))
      .def(
          "map", mapped, nb::arg("function"),
          nb::sig("def map(self, function: Callable[[dict[str, NDArray[Any]]], Mapping[str, Any]]) "
                  "-> Dataset"),
          "Applies a function to every batch, a dict of arrays. It returns as many rows.")
      .def("filter", filtered, nb::arg("keep"),
           nb::sig("def filter(self, keep: Callable[[dict[str, NDArray[Any]]], Any]) -> Dataset"),
           "The examples for which a function of a batch of one is true. Reads all examples.")
      .def("select", &data::Dataset::select, nb::arg("positions"),
           "The examples at these positions, in this order.")
      .def("k_fold", folds_of, nb::arg("folds"), nb::arg("seed") = nb::none(),
           nb::sig("def k_fold(self, folds: int, seed: int | None = None) -> "
                   "list[tuple[Dataset, Dataset]]"),
           "Training and validation data of each fold. Without a seed folds are consecutive "
           "examples.")
      .def(
          "sample",
          [](const data::Dataset& dataset, const std::vector<double>& weights, std::int64_t count,
             std::uint64_t seed) {
            return dataset.sample(weights, {.count = count, .seed = seed});
          },
          nb::arg("weights"), nb::kw_only(), nb::arg("count") = 0, nb::arg("seed") = 0,
          nb::sig("def sample(self, weights: Sequence[float], *, count: int = 0, seed: int = 0) -> "
                  "Dataset"),
          "Draws examples with replacement, others in every epoch, with probabilities "
          "proportional to the weights.")
      .def("cache", cached, nb::arg("path") = nb::none(),
           "Keeps the examples of the first epoch in memory, or in a file that is written at "
           "once and used again later.")
      .def_prop_ro("is_forward_only", &data::Dataset::is_forward_only,
                   "Whether it is a stream, which cannot be shuffled.")
      .def("batch", batches_of, nb::arg("size"), nb::kw_only(), nb::arg("drop_last") = false,
           nb::arg("prefetch") = true, nb::arg("threads") = 1)
      .def(
          "rows",
          [](const data::Dataset& dataset, std::int64_t begin, std::int64_t end) {
            const data::Batch batch = unlocked_rows(dataset, begin, end);
            return arrays_of(batch);
          },
          nb::arg("begin"), nb::arg("end"),
          nb::sig("def rows(self, begin: int, end: int) -> dict[str, NDArray[Any]]"),
          "Examples as arrays, without shuffling.")
      .def(
          "all",
          [](const data::Dataset& dataset) {
            return arrays_of(unlocked_rows(dataset, 0, dataset.size()));
          },
          nb::sig("def all(self) -> dict[str, NDArray[Any]]"));
  add_augmentations(dataset);
  m.def(
      "from_arrays",
      [](const nb::dict& columns, std::vector<std::string> class_names) {
        return data::from_tensors(batch_of(columns), std::move(class_names));
      },
      nb::arg("columns"), nb::arg("class_names") = std::vector<std::string>(),
      nb::sig("def from_arrays(columns: Mapping[str, Any], class_names: Sequence[str] = ()) -> "
              "Dataset"));
  m.def("from_stream", stream_of, nb::arg("open"), nb::kw_only(), nb::arg("examples") = 0,
        nb::arg("endless") = false, nb::arg("shuffle_buffer") = 0, nb::arg("seed") = 0,
        nb::arg("class_names") = std::vector<std::string>(),
        nb::sig("def from_stream(open: Callable[[], Any], *, examples: int = 0, endless: bool = "
                "False, shuffle_buffer: int = 0, seed: int = 0, class_names: Sequence[str] = ()) "
                "-> Dataset"),
        "A data set of a function that returns an iterator of batches: dicts of arrays.");
  m.def(
      "concatenate",
      [](std::vector<data::Dataset> parts) { return data::concatenate(std::move(parts)); },
      nb::arg("parts"), nb::sig("def concatenate(parts: Sequence[Dataset]) -> Dataset"),
      "The examples of several data sets with the same columns, one after the other.");
}

}  // namespace trireme::python
