#include "inference/kernel_library.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"

namespace trireme::inference {
namespace {

using KernelFunction = void (*)(void* const* buffers, const std::int64_t* sizes, std::int64_t begin,
                                std::int64_t end);

std::string last_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason is given" : text;
}

// A file without a name that holds the bytes. Linux 6.3 and later have a setting that makes such
// files not executable unless MFD_EXEC asks for it; earlier ones do not know MFD_EXEC.
Descriptor memory_file(const std::string& path, std::string_view bytes) {
  constexpr unsigned kExecutable = 0x10;  // MFD_EXEC
  Descriptor file(::memfd_create("trireme kernels", MFD_CLOEXEC | kExecutable));
  if (!file.valid() && errno == EINVAL) {
    file = Descriptor(::memfd_create("trireme kernels", MFD_CLOEXEC));
  }
  int error = file.valid() ? 0 : errno;
  if (error == 0) error = write_descriptor(file.get(), bytes);
  if (error != 0) {
    fail_io(fmt::format("{} cannot be copied into memory: {}", path, error_reason(error)));
  }
  return file;
}

// The loader knows libraries by their names, and a name of /proc/self/fd is used again when the
// descriptor is closed. So it stays open as long as the library is loaded.
struct LoadedFile {
  explicit LoadedFile(Descriptor opened)
      : descriptor(std::move(opened)),
        name(fmt::format("/proc/self/fd/{}", descriptor.get())),
        handle(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  LoadedFile(const LoadedFile&) = delete;
  LoadedFile& operator=(const LoadedFile&) = delete;
  ~LoadedFile() {
    if (handle != nullptr) ::dlclose(handle);
  }
  Descriptor descriptor;
  std::string name;
  void* handle;
};

}  // namespace

KernelLibrary::KernelLibrary(std::string path, std::string_view bytes) : path_(std::move(path)) {
  // The kernels name no library, and maths in f64 is the C library's. It is loaded already, but a
  // program that loaded us at run time may hide it.
  ::dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  const auto loaded = std::make_shared<LoadedFile>(memory_file(path_, bytes));
  if (loaded->handle == nullptr) {
    fail_data(fmt::format("{} cannot be loaded: {}", path_, last_error()));
  }
  handle_ = std::shared_ptr<void>(loaded, loaded->handle);
}

plan::KernelRun KernelLibrary::find(const std::string& symbol) const {
  void* address = ::dlsym(handle_.get(), symbol.c_str());
  if (address == nullptr) fail_data(fmt::format("{} has no kernel {}", path_, symbol));
  return [function = reinterpret_cast<KernelFunction>(address), keep = handle_](
             void* const* buffers, const std::int64_t* sizes, std::int64_t begin,
             std::int64_t end) { function(buffers, sizes, begin, end); };
}

}  // namespace trireme::inference
