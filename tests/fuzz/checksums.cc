#include "base/checked_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/checksum.h"
#include "fuzz.h"

namespace {

struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "trireme-fuzz-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
    std::ofstream(path + "/a") << "content";
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

}  // namespace

// checksums.txt of a folder; with a first byte that is odd, its own checksum is made to fit.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme;
  static const TemporaryFolder folder;
  if (size == 0) return 0;
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) {
    std::string text(bytes);
    if ((data[0] & 1) != 0) text += checksum(text) + "\n";
    std::ofstream(folder.path + "/" + kChecksumsFile, std::ios::binary) << text;
    const Folder opened(folder.path);
    const CheckedFolder files(opened, {"test", 1, "write it again"});
    if (files.read("a") != "content") __builtin_trap();
  });
}
