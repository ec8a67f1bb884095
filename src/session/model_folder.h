#pragma once

#include <array>
#include <functional>
#include <string>

namespace trireme {

// Names of the files in a saved model's folder.
inline constexpr const char* kProgramFile = "program.txt";
inline constexpr const char* kWeightsFile = "weights.safetensors";
inline constexpr const char* kModelFile = "model.json";
// The vocabulary of an input that takes texts, or of an output that gives them; or else its pieces of words.
inline std::string vocabulary_file(const std::string& port) { return port + ".vocabulary.txt"; }
inline std::string subwords_file(const std::string& port) { return port + ".subwords"; }

// text::TokenOptions::Kind as model.json and jobs call it, by number.
inline constexpr std::array<const char*, 4> kTokenKinds = {"words", "split", "characters", "bytes"};
inline constexpr const char* kSubwords = "subwords";  // none of these, but text::Encoder::subwords

// What is written as a folder: how messages call it, and the file by which one is known.
struct FolderKind {
  const char* name;
  const char* file;
};
inline constexpr FolderKind kSavedModel{"saved model", kModelFile};

// Calls write(temporary) to fill a new folder beside `directory` and then puts it in its place in
// one step, on the disk too: whatever fails, what stood there is still whole. That must be a folder
// of the kind, an empty folder or nothing. Errors: usage, if it is not; io; what write throws.
void replace_folder(const std::string& directory, const FolderKind& kind,
                    const std::function<void(const std::string& temporary)>& write);

}  // namespace trireme
