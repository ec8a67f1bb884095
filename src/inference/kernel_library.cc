#include "inference/kernel_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <utility>

#include "base/error.h"

namespace trireme::inference {
namespace {

using KernelFunction = void (*)(void* const* buffers, const std::int64_t* sizes, std::int64_t begin,
                                std::int64_t end);

std::string last_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason is given" : text;
}

}  // namespace

KernelLibrary::KernelLibrary(std::string path) : path_(std::move(path)) {
  // The kernels name no library, and maths in f64 is the C library's. It is loaded already, but a
  // program that loaded us at run time may hide it.
  ::dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  // A name without a slash would be searched for elsewhere.
  const std::string name = path_.find('/') == std::string::npos ? "./" + path_ : path_;
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail_data(fmt::format("{} cannot be loaded: {}", path_, last_error()));
  handle_ = std::shared_ptr<void>(handle, [](void* library) { ::dlclose(library); });
}

plan::KernelRun KernelLibrary::find(const std::string& symbol) const {
  void* address = ::dlsym(handle_.get(), symbol.c_str());
  if (address == nullptr) fail_data(fmt::format("{} has no kernel {}", path_, symbol));
  return [function = reinterpret_cast<KernelFunction>(address), keep = handle_](
             void* const* buffers, const std::int64_t* sizes, std::int64_t begin,
             std::int64_t end) { function(buffers, sizes, begin, end); };
}

}  // namespace trireme::inference
