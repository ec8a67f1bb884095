// Data sets: batches of NumPy arrays.

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "module.h"
#include "trireme/data.h"
#include "trireme/known_data.h"

namespace trireme::python {

namespace {

nb::dict arrays_of(const data::Batch& batch) {
  nb::dict arrays;
  for (const auto& [name, tensor] : batch) arrays[name.c_str()] = array_of(tensor);
  return arrays;
}

data::Batches batches_of(const data::Dataset& dataset, std::int64_t size, bool drop_last,
                         bool prefetch, int threads) {
  return dataset.batch(size, {.drop_last = drop_last, .prefetch = prefetch, .threads = threads});
}

void add_batches(nb::module_& m) {
  nb::class_<data::BatchStream>(m, "BatchStream")
      .def(
          "__iter__", [](nb::object self) { return self; },
          nb::sig("def __iter__(self) -> BatchStream"))
      .def(
          "__next__",
          [](data::BatchStream& stream) {
            std::optional<data::Batch> batch;
            {
              const nb::gil_scoped_release unlocked;
              batch = stream.next();
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
      .def(
          "epoch",
          [](const data::Batches& batches, std::int64_t number) { return batches.epoch(number); },
          nb::arg("number"), "The batches of one epoch, from 0.")
      .def("__iter__", [](const data::Batches& batches) { return batches.epoch(0); });
}

}  // namespace

void add_data(nb::module_& m) {
  add_batches(m);
  nb::class_<data::Column>(m, "Column", "One named value of every example.")
      .def_ro("name", &data::Column::name)
      .def_ro("dtype", &data::Column::dtype)
      .def_ro("shape", &data::Column::shape)
      .def_ro("ids", &data::Column::ids)
      .def_ro("words", &data::Column::words)
      .def_ro("levels", &data::Column::levels);
  nb::class_<data::Dataset>(m, "Dataset", "A set of examples and their reading order.")
      .def("__len__", &data::Dataset::size)
      .def_prop_ro("columns", &data::Dataset::columns)
      .def_prop_ro("class_names", &data::Dataset::class_names)
      .def("shuffle", &data::Dataset::shuffle, nb::arg("seed"),
           "Reads in a different order in every epoch.")
      .def("take", &data::Dataset::take, nb::arg("n"))
      .def("skip", &data::Dataset::skip, nb::arg("n"))
      .def("batch", batches_of, nb::arg("size"), nb::kw_only(), nb::arg("drop_last") = false,
           nb::arg("prefetch") = true, nb::arg("threads") = 1)
      .def(
          "rows",
          [](const data::Dataset& dataset, std::int64_t begin, std::int64_t end) {
            return arrays_of(dataset.rows(begin, end));
          },
          nb::arg("begin"), nb::arg("end"),
          nb::sig("def rows(self, begin: int, end: int) -> dict[str, NDArray[Any]]"),
          "Examples as arrays, without shuffling.")
      .def(
          "all", [](const data::Dataset& dataset) { return arrays_of(dataset.all()); },
          nb::sig("def all(self) -> dict[str, NDArray[Any]]"));
  m.def(
      "from_arrays",
      [](const nb::dict& columns, std::vector<std::string> class_names) {
        data::Batch batch;
        for (const auto& [name, array] : columns) {
          batch.emplace(nb::cast<std::string>(name), tensor_of(array));
        }
        return data::from_tensors(std::move(batch), std::move(class_names));
      },
      nb::arg("columns"), nb::arg("class_names") = std::vector<std::string>(),
      nb::sig("def from_arrays(columns: Mapping[str, Any], class_names: Sequence[str] = ()) -> "
              "Dataset"));
}

}  // namespace trireme::python
