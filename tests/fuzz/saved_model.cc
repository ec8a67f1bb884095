#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fuzz.h"
#include "session/model/model_folder.h"
#include "trireme/trireme.h"

namespace {

namespace fs = std::filesystem;
using namespace trireme;

// A saved model that takes texts, and the names of its files.
struct SavedModel {
  SavedModel() {
    std::string pattern = (fs::temp_directory_path() / "trireme-fuzz-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    Program program("net");
    const Value words = program.input("words", i64, ragged());
    const Value mean = sequence::mean(nn::embedding(words, {.num_embeddings = 4, .dim = 2}));
    Session session(program);
    const text::Vocabulary vocabulary = text::Vocabulary::of({"one", "two", "three"});
    save_model(program, session, folder + "/model",
               {.outputs = {nn::linear(mean, {.units = 2})},
                .labels = {"a", "b"},
                .text = {{"words", {{}, vocabulary}}}});
    for (const auto& entry : fs::directory_iterator(folder + "/model")) {
      std::ifstream file(entry.path(), std::ios::binary);
      contents[entry.path().filename().string()] = {std::istreambuf_iterator<char>(file), {}};
    }
  }
  ~SavedModel() { fs::remove_all(folder); }
  void write(const std::string& name, std::string_view content) const {
    std::ofstream(folder + "/model/" + name, std::ios::binary) << content;
  }
  std::string folder;
  std::map<std::string, std::string> contents;
};

}  // namespace

// A saved model, one file of which is the fuzzer's; the first byte chooses which. Without checksums
// unless they are that file, because a stranger would write those that fit.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const SavedModel model;
  static const std::array<std::string, 5> kNames = {kModelFile, kProgramFile, kWeightsFile,
                                                    "words.vocabulary.txt", kChecksumsFile};
  if (size == 0) return 0;
  const std::string& name = kNames[data[0] % kNames.size()];
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) {
    if (name != kChecksumsFile) fs::remove(model.folder + "/model/" + kChecksumsFile);
    model.write(name, bytes);
    struct Restore {
      const std::string& name;
      ~Restore() { model.write(name, model.contents.at(name)); }
    } restore{name};
    const Model loaded = load_model(model.folder + "/model", {.threads = 1});
    if (loaded.inputs().size() != loaded.program().inputs().size()) __builtin_trap();
  });
}
