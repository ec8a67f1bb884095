#pragma once

// The subcommands, each in the file of its name. command_line.cc parses their arguments.
// main.cc turns their exceptions into a message and an exit code.

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/compile.h"
#include "trireme/job.h"
#include "trireme/quantize.h"

namespace commands {

// Thrown by a command that a signal stopped, after it saved its work.
struct Stopped {
  std::string message;
  int signal;
};

struct TrainArguments {
  std::string job;
  trireme::JobOptions options;
  std::int64_t seed = -1;  // < 0: the job's seed
  bool resume = false;
  std::string resume_from;  // "": the newest checkpoint of the run folder
  std::string sheet;        // "": a file in the saved model's folder
  bool no_sheet = false;
  bool quiet = false;
  bool dry_run = false;    // checks the job only
  bool print_job = false;  // as in CheckArguments
  bool json = false;
  bool timings = false;
  bool no_memory_planning = false;
  std::int64_t log_every = 0;  // steps; 0: never
};
void train(TrainArguments arguments);

struct InitArguments {
  std::string data;
  std::string target;  // column of a CSV file; "": a guess
  std::string output;  // "": a file with the name of the data; "-": standard output
  bool force = false;  // replaces the file
};
void init(const InitArguments& arguments);

struct CheckArguments {
  std::string job;
  trireme::JobOptions options;
  bool json = false;
  bool print_job = false;  // prints the job with the defaults of all options instead
};
void check(const CheckArguments& arguments);

struct EvalArguments {
  std::string model;
  std::string data;
  std::int64_t batch = 256;
  std::int64_t limit = 0;  // 0: all examples
  trireme::SessionOptions session = {};
  bool json = false;
  std::string sheet;
};
void eval(const EvalArguments& arguments);

struct PredictArguments {
  std::string model;
  std::vector<std::string> files, texts;
  std::string data;
  std::string rows;          // "": the first ten; all if `output` is given
  std::string output;        // "": standard output
  std::int64_t batch = 256;  // examples at a time, with `output`
  std::int64_t top = 1;
  trireme::SessionOptions session = {};
  bool json = false;
};
void predict(const PredictArguments& arguments);

struct CompileArguments {
  std::string model;
  std::string output;  // "": MODEL/compiled-TARGET
  std::string precision = "f32";
  trireme::CompileModelOptions options;
  bool json = false;
};
void compile(CompileArguments arguments);

struct QuantizeArguments {
  std::string model;
  std::string calibrate;        // data
  std::int64_t examples = 256;  // of the calibration
  std::string data;             // measures before and after; "": nothing is measured
  std::int64_t limit = 0;       // examples to measure; 0: all
  std::string metric;           // "": bleu, auc, accuracy, mse or loss
  double max_drop = -1;         // points of the metric; below 0: any
  std::string range = "mse";
  std::string output;  // "": MODEL-i8
  std::int64_t batch = 256;
  trireme::QuantizeOptions options;
  trireme::SessionOptions session = {};
  bool json = false;
};
void quantize(QuantizeArguments arguments);

struct ConvertArguments {
  std::string model;  // the file of ONNX
  std::string output;
  std::vector<std::string> sizes, shapes, constants;  // SYMBOL=N, INPUT=SIZES, INPUT=VALUE
  std::string image;                                  // an input that takes pictures; "": none
  std::string labels;                                 // file with the names of classes; "": none
  std::int64_t max_bytes = 0;
  std::int64_t max_nodes = 1'000'000;
  bool json = false;
};
void convert(const ConvertArguments& arguments);

struct ExportArguments {
  std::string model;
  std::string output;
  std::int64_t opset = 18;
  bool json = false;
};
void export_onnx(const ExportArguments& arguments);

struct InspectArguments {
  std::string what;
  std::int64_t batch = 64;
  bool program_only = false;
  bool json = false;
};
void inspect(const InspectArguments& arguments);

void list_data(bool json);
void print_data_paths(const std::string& name);
// No specification: all known data sets that are found.
void verify_data(std::vector<std::string> specifications, bool json);
struct DownloadArguments {
  std::vector<std::string> names;
  std::string directory;  // "": $TRIREME_DATA
  std::string mirror;     // "": the origin of the data set
  bool quiet = false;
};
void download_data(const DownloadArguments& arguments);
void convert_data(const std::string& specification, const std::string& output);

}  // namespace commands
