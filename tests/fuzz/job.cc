#include "fuzz.h"
#include "session/job/model.h"
#include "session/job/settings.h"

// Job files: the TOML, every section's keys, and the layers built on a picture or a text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz(data, size, [](std::string_view text) {
    using namespace trireme;
    const job::Node root = job::parse_toml(text, "fuzz.toml");
    const job::Settings settings = job::read_settings(root);
    job::check_training(settings);
    Program program("fuzz");
    const Value image = program.input("image", f32, {batch, 1, 28, 28});
    const Value label = program.input("label", i64, {batch});
    const job::Node* name = settings.model->find("name");
    const job::Node* layers = settings.model->find("layers");
    if (name == nullptr && layers != nullptr) {
      const Value words = program.input("words", i64, ragged());
      const std::vector<job::Feed> feeds = {settings.data.text != nullptr
                                                ? job::Feed{{"words", i64, {}, 50}, words}
                                                : job::Feed{{"image", f32, {1, 28, 28}}, image}};
      job::apply_loss(*settings.loss, job::apply_layers(*layers, feeds), label);
    }
    if (name == nullptr) return;
    const Value user = program.input("user", i64, {batch}),
                item = program.input("item", i64, {batch});
    const Value numbers = program.input("numbers", f32, {batch, 3});
    const std::vector<job::Feed> columns = {{{"user", i64, {}, 11}, user},
                                            {{"item", i64, {}, 7}, item},
                                            {{"numbers", f32, {3}}, numbers}};
    const job::BankModel model = job::find_model(*name);
    job::Table table(*settings.model);
    table.text("name", "");
    table.node("normalize");
    model.build(table,
                model.many ? columns : std::vector<job::Feed>{{{"image", f32, {1, 28, 28}}, image}},
                10);
    table.done();
  });
}
