// trireme.h. No exception leaves a function: each becomes a status and a text.

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include "base/error.h"
#include "inference/runner.h"
#include "trireme/c.h"

using trireme::DType;
using trireme::Error;
using trireme::ErrorKind;
using trireme::FeedView;
using Ports = std::vector<trireme::CompiledModel::Port>;

struct trireme_model {
  trireme::inference::Runner runner;
  std::vector<trireme_port> inputs, outputs;
};

namespace {

// Long enough for any message that helps, and there even when memory is not.
constexpr std::size_t kErrorBytes = 2048;
thread_local char error_text[kErrorBytes] = "";

void keep_error(const char* text) noexcept {
  std::size_t i = 0;
  for (; i + 1 < kErrorBytes && text[i] != '\0'; ++i) error_text[i] = text[i];
  error_text[i] = '\0';
}

trireme_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return TRIREME_USAGE;
    case ErrorKind::data: return TRIREME_DATA;
    case ErrorKind::not_found: return TRIREME_NOT_FOUND;
    case ErrorKind::io: return TRIREME_IO;
    case ErrorKind::numeric: return TRIREME_NUMERIC;
    case ErrorKind::internal: return TRIREME_INTERNAL;
  }
  return TRIREME_INTERNAL;
}

template <class Body>
trireme_status guarded(const Body& body) noexcept {
  try {
    body();
    return TRIREME_OK;
  } catch (const Error& error) {
    keep_error(error.what());
    return status_of(error.kind());
  } catch (const std::bad_alloc&) {
    keep_error("out of memory");
    return TRIREME_IO;
  } catch (const std::exception& error) {
    keep_error(error.what());
    return TRIREME_INTERNAL;
  }
}

// trireme_dtype has the values of DType.
static_assert(TRIREME_BOOL == static_cast<int>(DType::boolean) &&
              TRIREME_U64 == static_cast<int>(DType::u64));

trireme_dtype to_c(DType dtype) { return static_cast<trireme_dtype>(dtype); }
DType from_c(trireme_dtype dtype) { return static_cast<DType>(dtype); }

bool is_dtype(int dtype) { return dtype >= 0 && dtype < static_cast<int>(trireme::kDTypes.size()); }

std::vector<trireme_port> to_c(const Ports& ports) {
  std::vector<trireme_port> result;
  for (const auto& port : ports) {
    if (port.shape.size() > TRIREME_MAX_RANK) {
      trireme::fail_usage(fmt::format("{} has {} axes, and C programs can have {}", port.name,
                                      port.shape.size(), TRIREME_MAX_RANK));
    }
    trireme_port c{};
    c.name = port.name.c_str();
    c.dtype = to_c(port.dtype);
    c.rank = static_cast<int>(port.shape.size());
    for (std::size_t i = 0; i < port.shape.size(); ++i) {
      c.shape[i] = port.shape[i].is_constant() ? port.shape[i].constant() : -1;
    }
    result.push_back(c);
  }
  return result;
}

// Elements of a shape whose sizes are not negative. Errors: usage, if they are too many.
std::int64_t bytes_of(const std::string& name, const std::vector<std::int64_t>& shape,
                      DType dtype) {
  std::int64_t bytes = static_cast<std::int64_t>(trireme::size_of(dtype));
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
      trireme::fail_usage(fmt::format("{}: there is no such size", name));
    }
  }
  return bytes;
}

// The forms of the inputs that a caller gives.
struct Given {
  Given(const trireme_model& model, const trireme_tensor* inputs, std::size_t count) {
    const Ports& ports = model.runner.model().inputs;
    if (count != ports.size() || (inputs == nullptr && count > 0)) {
      trireme::fail_usage(fmt::format("{} has {} inputs, and {} are given",
                                      model.runner.model().name, ports.size(), count));
    }
    shapes.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const trireme_tensor& tensor = inputs[i];
      if (!is_dtype(tensor.dtype) || tensor.rank < 0 || tensor.rank > TRIREME_MAX_RANK) {
        trireme::fail_usage(
            fmt::format("input {} has no such dtype or rank as it says", ports[i].name));
      }
      shapes.emplace_back(tensor.shape, tensor.shape + tensor.rank);
      views.push_back({&ports[i].name, from_c(tensor.dtype), &shapes.back()});
    }
  }
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<FeedView> views;
};

void require_model(const char* function, const trireme_model* model) {
  if (model == nullptr) trireme::fail_usage(fmt::format("{}: the model is null", function));
}

void check_memory(const std::string& name, const trireme_tensor& tensor, std::int64_t wanted) {
  if (static_cast<std::uint64_t>(wanted) > tensor.bytes || (wanted > 0 && tensor.data == nullptr)) {
    trireme::fail_usage(fmt::format("{} takes {} bytes, and there are {}", name, wanted,
                                    tensor.data == nullptr ? 0 : tensor.bytes));
  }
}

void set_form(trireme_tensor& tensor, const std::string& name, DType dtype,
              const std::vector<std::int64_t>& shape) {
  tensor.dtype = to_c(dtype);
  tensor.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape);
  tensor.bytes = static_cast<std::size_t>(bytes_of(name, shape, dtype));
}

// Returns the dtype and shape of each output, and its size in `bytes`. Sizes that only a run
// determines are -1, and such outputs have 0 bytes.
std::vector<trireme_tensor> forms(const trireme_model& model, const trireme::SymbolSizes& sizes,
                                  const trireme_tensor* outputs, std::size_t count) {
  const Ports& ports = model.runner.model().outputs;
  if (count != ports.size() || outputs == nullptr) {
    trireme::fail_usage(fmt::format("{} has {} outputs, and {} are given",
                                    model.runner.model().name, ports.size(), count));
  }
  std::vector<trireme_tensor> result(outputs, outputs + count);
  for (std::size_t i = 0; i < count; ++i) {
    if (model.runner.knows_shape(i, sizes)) {
      set_form(result[i], ports[i].name, ports[i].dtype, model.runner.output_shape(i, sizes));
      continue;
    }
    result[i].dtype = model.outputs[i].dtype;
    result[i].rank = model.outputs[i].rank;
    std::copy_n(model.outputs[i].shape, TRIREME_MAX_RANK, result[i].shape);
    result[i].bytes = 0;
  }
  return result;
}

// Of an output whose size only the run told: hands its memory out, or copies it to the caller's.
void take_result(const trireme_model& model, std::size_t i, trireme_tensor& output) {
  const trireme::CompiledModel::Port& port = model.runner.model().outputs[i];
  trireme_tensor made = output;
  set_form(made, port.name, port.dtype, model.runner.shape_after_run(i));
  const void* memory = model.runner.memory_after_run(i);
  if (output.data == nullptr) {
    made.data = const_cast<void*>(memory);
  } else {
    check_memory(port.name, output, static_cast<std::int64_t>(made.bytes));
    if (made.bytes > 0) std::memcpy(output.data, memory, made.bytes);
    made.bytes = output.bytes;
  }
  output = made;
}

}  // namespace

const char* trireme_version(void) { return TRIREME_VERSION; }

const char* trireme_error(void) { return error_text; }

size_t trireme_size_of(trireme_dtype dtype) {
  return is_dtype(dtype) ? trireme::size_of(from_c(dtype)) : 0;
}

trireme_status trireme_load(const char* directory, int threads, trireme_model** model) {
  if (model != nullptr) *model = nullptr;
  return guarded([&] {
    if (directory == nullptr || model == nullptr || threads < 0) {
      trireme::fail_usage("trireme_load: a null pointer, or fewer than 0 threads");
    }
    std::unique_ptr<trireme_model> made(
        new trireme_model{trireme::inference::Runner(directory, threads), {}, {}});
    made->inputs = to_c(made->runner.model().inputs);
    made->outputs = to_c(made->runner.model().outputs);
    *model = made.release();
  });
}

void trireme_free(trireme_model* model) { delete model; }

// A null model has no name, no ports and no labels.
const char* trireme_name(const trireme_model* model) {
  return model == nullptr ? nullptr : model->runner.model().name.c_str();
}
const char* trireme_target(const trireme_model* model) {
  return model == nullptr ? nullptr : model->runner.model().target.c_str();
}
size_t trireme_inputs(const trireme_model* model) {
  return model == nullptr ? 0 : model->inputs.size();
}
size_t trireme_outputs(const trireme_model* model) {
  return model == nullptr ? 0 : model->outputs.size();
}
const trireme_port* trireme_input(const trireme_model* model, size_t index) {
  return index < trireme_inputs(model) ? &model->inputs[index] : nullptr;
}
const trireme_port* trireme_output(const trireme_model* model, size_t index) {
  return index < trireme_outputs(model) ? &model->outputs[index] : nullptr;
}
size_t trireme_labels(const trireme_model* model) {
  return model == nullptr ? 0 : model->runner.model().labels.size();
}
const char* trireme_label(const trireme_model* model, size_t index) {
  return index < trireme_labels(model) ? model->runner.model().labels[index].c_str() : nullptr;
}

trireme_status trireme_plan_outputs(const trireme_model* model, const trireme_tensor* inputs,
                                    size_t input_count, trireme_tensor* outputs,
                                    size_t output_count) {
  return guarded([&] {
    require_model("trireme_plan_outputs", model);
    const Given given(*model, inputs, input_count);
    const auto made = forms(*model, model->runner.sizes(given.views), outputs, output_count);
    std::copy(made.begin(), made.end(), outputs);
  });
}

trireme_status trireme_run(trireme_model* model, const trireme_tensor* inputs, size_t input_count,
                           trireme_tensor* outputs, size_t output_count) {
  return guarded([&] {
    require_model("trireme_run", model);
    const Given given(*model, inputs, input_count);
    const trireme::SymbolSizes sizes = model->runner.sizes(given.views);
    std::map<std::string, const void*> feeds;
    for (std::size_t i = 0; i < input_count; ++i) {
      const FeedView& view = given.views[i];
      check_memory(*view.name, inputs[i], bytes_of(*view.name, *view.shape, view.dtype));
      feeds.emplace(*view.name, inputs[i].data);
    }
    std::vector<trireme_tensor> made = forms(*model, sizes, outputs, output_count);
    std::vector<void*> memory;
    for (std::size_t i = 0; i < output_count; ++i) {
      if (!model->runner.knows_shape(i, sizes)) {
        memory.push_back(nullptr);
        continue;
      }
      check_memory(model->runner.model().outputs[i].name, outputs[i],
                   static_cast<std::int64_t>(made[i].bytes));
      made[i].bytes = outputs[i].bytes;
      memory.push_back(outputs[i].data);
    }
    model->runner.run(sizes, feeds, memory);
    for (std::size_t i = 0; i < output_count; ++i) {
      if (model->runner.knows_shape(i, sizes)) outputs[i] = made[i];
      else take_result(*model, i, outputs[i]);
    }
  });
}
