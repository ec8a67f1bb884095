#pragma once

#include <array>
#include <functional>
#include <string>

namespace trireme {

// Names of the files in the folder of a saved model.
inline constexpr const char* kProgramFile = "program.txt";
inline constexpr const char* kWeightsFile = "weights.safetensors";
inline constexpr const char* kModelFile = "model.json";
// The vocabulary, or the subword model, of an input that takes texts or of an output that returns
// texts.
inline std::string vocabulary_file(const std::string& port) { return port + ".vocabulary.txt"; }
inline std::string subwords_file(const std::string& port) { return port + ".subwords"; }

// The names of text::TokenOptions::Kind in model.json and jobs, by number.
inline constexpr std::array<const char*, 4> kTokenKinds = {"words", "split", "characters", "bytes"};
inline constexpr const char* kSubwords = "subwords";  // not one of these: text::Encoder::subwords

// A kind of folder: its name in messages, and the file that identifies it.
struct FolderKind {
  const char* name;
  const char* file;
};
inline constexpr FolderKind kSavedModel{"saved model", kModelFile};

// Calls write(temporary) to fill a new folder beside `directory`, then renames it to `directory`
// atomically and durably. Whatever fails, the old content stays intact. `directory` must be a
// folder of this kind, an empty folder or missing. Errors: usage if it is not; io; errors of write.
void replace_folder(const std::string& directory, const FolderKind& kind,
                    const std::function<void(const std::string& temporary)>& write);

}  // namespace trireme
