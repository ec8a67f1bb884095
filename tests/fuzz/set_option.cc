#include "fuzz.h"
#include "session/job/model.h"
#include "session/job/settings.h"

// The text of --set, "train.epochs=2", on a job; what is accepted is read as that job is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme;
  return fuzz(data, size, [](std::string_view text) {
    job::Node root = job::parse_toml(
        "[data]\ntrain = \"a.csv\"\n[model]\nlayers = [ \"flatten\", { linear = { units = 3 } } ]\n"
        "[train]\nloss = \"mse\"\nepochs = 1\n",
        "fuzz.toml");
    job::override_value(root, std::string(text));
    job::check_training(job::read_settings(root));
  });
}
