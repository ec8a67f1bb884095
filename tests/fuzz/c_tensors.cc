#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "fuzz.h"
#include "trireme/c.h"
#include "trireme/trireme.h"

namespace {

namespace fs = std::filesystem;
using namespace trireme;

// A compiled model of a fixed and of a ragged input.
struct CompiledNet {
  CompiledNet() {
    std::string pattern = (fs::temp_directory_path() / "trireme-fuzz-XXXXXX").string();
    const std::string folder = ::mkdtemp(pattern.data());
    Program program("net");
    const Value x = program.input("x", f32, {batch, 4});
    const Value words = program.input("words", i64, ragged());
    Session session(program);
    const Value sum = sequence::sum(cast(words, {.dtype = f32}));
    save_model(program, session, folder + "/model", {.outputs = {x * 2.0, sum}});
    Model saved = load_model(folder + "/model");
    compile_model(saved, folder + "/compiled");
    if (trireme_load((folder + "/compiled").c_str(), 1, &model) != TRIREME_OK) std::abort();
    fs::remove_all(folder);
  }
  ~CompiledNet() { trireme_free(model); }
  trireme_model* model = nullptr;
};

// Takes numbers off the fuzzer's bytes; zeros at their end.
struct Bytes {
  std::string_view rest;
  template <class T>
  T take() {
    T value{};
    const std::size_t count = std::min(rest.size(), sizeof value);
    std::memcpy(&value, rest.data(), count);
    rest.remove_prefix(count);
    return value;
  }
};

constexpr std::size_t kMemory = 4096;  // bytes of a tensor at most

trireme_tensor tensor_of(Bytes& bytes, std::vector<char>& memory) {
  trireme_tensor tensor{};
  tensor.dtype = static_cast<trireme_dtype>(bytes.take<std::uint8_t>() % 9);
  tensor.rank = bytes.take<std::int8_t>();
  for (int i = 0; i < tensor.rank && i < TRIREME_MAX_RANK; ++i) {
    const auto kind = bytes.take<std::uint8_t>();  // small, or any
    tensor.shape[i] = kind < 128 ? kind % 8 : bytes.take<std::int64_t>();
  }
  tensor.bytes = bytes.take<std::uint16_t>() % kMemory;
  memory.resize(tensor.bytes);  // no more, so that ASan sees an access past its end
  for (char& byte : memory) byte = static_cast<char>(bytes.take<std::uint8_t>() % 4);
  if (bytes.take<std::uint8_t>() % 8 != 0) tensor.data = memory.data();
  return tensor;
}

}  // namespace

// Forms of tensors that a C program gives: whatever they say, only their memory is touched.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const CompiledNet net;
  return fuzz(data, size, [](std::string_view text) {
    Bytes bytes{text};
    std::vector<std::vector<char>> memory(8);
    std::vector<trireme_tensor> inputs, outputs;
    for (std::size_t i = 0; i < trireme_inputs(net.model); ++i) {
      inputs.push_back(tensor_of(bytes, memory[i]));
    }
    for (std::size_t i = 0; i < trireme_outputs(net.model); ++i) {
      outputs.push_back(tensor_of(bytes, memory[4 + i]));
    }
    std::vector<trireme_tensor> planned = outputs;
    trireme_plan_outputs(net.model, inputs.data(), inputs.size(), planned.data(), planned.size());
    const trireme_status status =
        trireme_run(net.model, inputs.data(), inputs.size(), outputs.data(), outputs.size());
    if (status == TRIREME_INTERNAL) __builtin_trap();
  });
}
