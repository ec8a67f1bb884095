#include "fuzz.h"
#include "session/job_model.h"
#include "session/job_settings.h"

// Job files: the TOML, every section's keys, and the layers built on a picture.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz(data, size, [](std::string_view text) {
    using namespace trireme;
    const job::Node root = job::parse_toml(text, "fuzz.toml");
    const job::Settings settings = job::read_settings(root);
    job::check_training(settings);
    Program program("fuzz");
    const Value image = program.input("image", f32, {batch, 1, 28, 28});
    const Value label = program.input("label", i64, {batch});
    const job::Node* layers = settings.model->find("layers");
    if (layers == nullptr) return;
    job::apply_loss(*settings.loss, job::apply_layers(*layers, image), label);
  });
}
