// trireme init: writes a first job file for a CSV file, texts or a folder of pictures.

#include <cstdio>
#include <filesystem>
#include <string>

#include "commands.h"
#include "support.h"
#include "trireme/error.h"
#include "trireme/job.h"

namespace commands {
namespace {

namespace fs = std::filesystem;

// "prices" for "data/prices.csv.gz" and for "prices/".
std::string base_name(std::string data) {
  while (data.size() > 1 && data.back() == '/') data.pop_back();
  const fs::path path = fs::absolute(data).lexically_normal();
  const std::string name = path.filename().string();
  const std::string stem = fs::is_directory(path) ? name : name.substr(0, name.find('.', 1));
  return stem.empty() ? "job" : stem;
}

}  // namespace

void init(const InitArguments& arguments) {
  const std::string name = base_name(arguments.data);
  const bool print = arguments.output == "-";
  const std::string path = arguments.output.empty() ? name + ".toml" : arguments.output;
  if (!print && !arguments.force && fs::exists(path)) {
    throw trireme::Error(
        trireme::ErrorKind::usage,
        path + " exists already\n  hint   --force replaces it, -o names another file");
  }
  const std::string job = trireme::suggest_job(
      arguments.data, {.target = arguments.target,
                       .directory = print ? "" : fs::path(path).parent_path().string(),
                       .output = name + "_model"});
  if (print) {
    std::printf("%s", job.c_str());
    return;
  }
  write_file(path, job);
  std::fprintf(stderr,
               "wrote %s; read it, then:\n"
               "  trireme check %s\n"
               "  trireme train %s\n",
               path.c_str(), path.c_str(), path.c_str());
}

}  // namespace commands
