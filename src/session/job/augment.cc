// [data] augment: random changes of the training pictures.
#include "base/error.h"
#include "session/job/settings.h"

namespace trireme::job {
namespace {

data::Dataset apply(const data::Dataset& dataset, const Choice& choice, std::uint64_t seed) {
  Table table(*choice.options);
  if (choice.name == "random_crop") {
    const std::int64_t size = table.required_size("size");
    const std::int64_t padding = table.integer("padding", 0, 0);
    table.done();
    return dataset.random_crop(size, {.padding = padding, .seed = seed});
  }
  if (choice.name == "flip") {
    const double probability = table.number("probability", 0.5);
    table.done();
    return dataset.flip({.probability = probability, .seed = seed});
  }
  if (choice.name == "color_jitter") {
    data::JitterOptions options{.seed = seed};
    options.brightness = table.number("brightness", options.brightness);
    options.contrast = table.number("contrast", options.contrast);
    options.saturation = table.number("saturation", options.saturation);
    table.done();
    return dataset.color_jitter(options);
  }
  if (choice.name == "cutout") {
    const std::int64_t size = table.required_size("size");
    table.done();
    return dataset.cutout(size, {.seed = seed});
  }
  fail_unknown(choice, "augmentation", {"random_crop", "flip", "color_jitter", "cutout"});
}

}  // namespace

data::Dataset augmented(data::Dataset dataset, const Node& list, std::uint64_t seed) {
  if (list.kind != Node::Kind::list) {
    fail_at(list, "must be a list such as [\"flip\"], but is " + kind_text(list));
  }
  for (const Node& item : list.items) {
    const Choice choice = read_choice(item, "an augmentation");
    try {
      dataset = apply(dataset, choice, seed);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
      fail_at(item, error.what());
    }
  }
  return dataset;
}

}  // namespace trireme::job
