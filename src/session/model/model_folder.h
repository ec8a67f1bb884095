#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "base/checked_folder.h"

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

// The checksums of a saved model. Models that were saved by earlier versions have none.
inline constexpr FolderFormat kSavedFormat{
    "saved model", 1,
    "save the model again, or copy the whole folder; after a change by hand, remove checksums.txt"};

// A kind of folder: its name in messages, the file that identifies it, and which names its files
// have.
struct FolderKind {
  const char* name;
  const char* file;
  bool (*owns)(std::string_view file);
};
bool is_model_file(std::string_view name);
inline constexpr FolderKind kSavedModel{"saved model", kModelFile, is_model_file};

// Calls write(temporary) to fill a new folder beside `directory`, then renames it to `directory`
// atomically and durably. Whatever fails, the old content stays intact. `directory` must be a
// folder of this kind, an empty folder or missing. Files and folders in it that the kind does not
// own are kept: they are linked into the new folder. Errors: usage if it is another folder; io,
// also if a file cannot be kept; errors of write.
void replace_folder(const std::string& directory, const FolderKind& kind,
                    const std::function<void(const std::string& temporary)>& write);

}  // namespace trireme
