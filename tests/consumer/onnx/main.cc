// Saves a network, exports it to ONNX, imports it, and expects the same numbers.

#include <trireme/onnx.h>
#include <trireme/trireme.h>

#include <iostream>
namespace tr = trireme;
namespace nn = trireme::nn;

int main() {
  tr::Program program("network");
  const tr::Value x = program.input("x", tr::f32, {tr::batch, 3});
  const tr::Value y = nn::linear(x, {.units = 2, .activation = nn::relu});
  tr::Session session(program);
  tr::save_model(program, session, "network", {.outputs = {y}, .output_names = {"y"}});
  tr::Model model = tr::load_model("network");
  tr::onnx::ImportedModel imported = tr::onnx::import_bytes(tr::onnx::export_bytes(model));
  tr::Session again(imported.program);
  tr::load_state_dict(again, imported.state);
  const tr::Feeds feeds = {{"x", tr::Tensor::from<float>({2, 3}, {1, 2, 3, -4, 5, -6})}};
  const tr::Tensor a = model.predict(feeds).at(0);
  const tr::Tensor b = again.run(feeds, imported.program.outputs()).at(0);
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    if (a.data<float>()[i] != b.data<float>()[i]) return 1;
  }
  std::cout << "the exported network computes the same numbers\n";
}
