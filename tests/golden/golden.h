#pragma once

#include <string>

#include "trireme/data.h"

namespace trireme::golden {

// Files of a folder of golden files; README.md says what each is.
inline constexpr const char* kModel = "model";
inline constexpr const char* kCompiled = "compiled";
inline constexpr const char* kRecords = "rows.trec";
inline constexpr const char* kSequences = "sequences.trec";
inline constexpr const char* kTraining = "training.txt";
inline constexpr const char* kCheckpoint = "checkpoint";
inline constexpr const char* kVocabulary = "vocabulary.txt";
inline constexpr const char* kExpected = "expected.safetensors";

// Training goes through the records in an order by `kSeed`, kBatch at a time, kEpochs times; the
// checkpoint is of step kInterrupted, in the middle of an epoch.
inline constexpr int kSeed = 3, kBatch = 4, kEpochs = 3, kInterrupted = 4;
inline constexpr double kLearningRate = 0.02;  // of Adam

// What kSequences holds: sentences of ids, sequences of sequences of pairs, and numbers.
data::Dataset sequences();

// Writes all of them into `folder`, which must not exist. Errors: usage, if it does; io.
void write_golden(const std::string& folder);

}  // namespace trireme::golden
