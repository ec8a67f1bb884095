#include "layers.h"

#include <algorithm>
#include <cmath>

#include "ir/program.h"
#include "nn/schedule.h"
#include "ops/common.h"
#include "transforms/autodiff.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/optimizer.h"

namespace trireme::conformance {
Case layer(const std::string& name, const std::vector<Input>& inputs, const Build& build,
           const std::string& torch, double low, double high) {
  Case c;
  c.op = name;
  c.torch_reference = torch;
  c.tolerance = 2e-5;  // errors of several ops add up
  c.program = std::make_unique<Program>("case");
  Run run{name, {}, {}};
  std::vector<Value> values;
  std::uint64_t seed = 7 * name.size() + 1;
  for (const Input& input : inputs) {
    const std::string input_name = "x" + std::to_string(values.size());
    const Shape shape(input.shape.begin(), input.shape.end());
    values.push_back(c.program->input(input_name, input.dtype, shape));
    c.operands.push_back(values.back().get());
    run.inputs[input_name] = random_tensor(input.shape, input.dtype, input.low, input.high, ++seed);
  }
  c.results = {build(values).get()};
  for (const auto& parameter : c.program->ir().parameters()) {
    const ir::Type& type = parameter->value->type;
    c.operands.push_back(parameter->value.get());
    run.parameters[parameter->name()] =
        random_tensor(evaluate(type.shape, {}), type.dtype, low, high, ++seed);
  }
  differentiate(c);
  for (const ir::Value* weight : c.weights) {
    run.inputs[weight->name] =
        random_tensor(evaluate(weight->type.shape, {}), weight->type.dtype, 0.5, 1.5, ++seed);
  }
  c.runs.push_back(std::move(run));
  return c;
}

namespace {

void add_activations(std::vector<Case>& cases) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"identity", "x[0] * 1"},
      {"relu", "F.relu(x[0])"},
      {"relu6", "F.relu6(x[0])"},
      {"leaky_relu", "F.leaky_relu(x[0])"},
      {"elu", "F.elu(x[0])"},
      {"gelu", "F.gelu(x[0])"},
      {"gelu_tanh", "F.gelu(x[0], approximate='tanh')"},
      {"silu", "F.silu(x[0])"},
      {"mish", "F.mish(x[0])"},
      {"softplus", "torch.log1p(torch.exp(x[0]))"},
      {"hard_sigmoid", "F.relu6(x[0] + 3) / 6"},
      {"hard_swish", "F.hardswish(x[0])"},
      {"tanh", "torch.tanh(x[0])"},
      {"sigmoid", "torch.sigmoid(x[0])"},
      {"hard_tanh", "F.hardtanh(x[0])"},
      {"selu", "F.selu(x[0])"},
      {"celu", "F.celu(x[0])"},
      {"log_sigmoid", "F.logsigmoid(x[0])"},
      {"softsign", "F.softsign(x[0])"},
      {"tanh_shrink", "F.tanhshrink(x[0])"},
      {"soft_shrink", "F.softshrink(x[0])"},
      {"hard_shrink", "F.hardshrink(x[0])"},
  };
  for (const auto& [name, torch] : names) {
    const nn::Activation activation = nn::find_activation(name);
    cases.push_back(layer(
        "activation " + name, {{{7, 37}, f32, -8, 8}},
        [&](auto& x) { return activation(x[0], SourceLocation::current()); }, torch));
  }
}

void add_linear_and_convolutions(std::vector<Case>& cases) {
  cases.push_back(layer(
      "linear", {{{5, 7}}},
      [](auto& x) { return nn::linear(x[0], {.units = 4, .activation = nn::relu}); },
      "F.relu(x[0] @ x[1] + x[2])"));
  cases.push_back(layer(
      "linear of rank 3", {{{2, 5, 7}}}, [](auto& x) { return nn::linear(x[0], {.units = 33}); },
      "x[0] @ x[1] + x[2]"));
  cases.push_back(layer(
      "conv2d same", {{{2, 3, 7, 8}}},
      [](auto& x) {
        return nn::conv2d(x[0], {.channels = 4, .padding = "same", .activation = nn::relu});
      },
      "F.relu(F.conv2d(x[0], x[1], x[2], padding='same'))"));
  cases.push_back(layer(
      "conv2d strided groups", {{{2, 4, 9, 9}}},
      [](auto& x) {
        return nn::conv2d(x[0], {.channels = 6, .stride = 2, .padding = 1, .groups = 2});
      },
      "F.conv2d(x[0], x[1], x[2], stride=2, padding=1, groups=2)"));
  cases.push_back(layer(
      "max_pool", {{{2, 3, 9, 8}}},
      [](auto& x) { return nn::max_pool(x[0], {.kernel = 3, .stride = 2, .padding = 1}); },
      "F.max_pool2d(x[0], 3, 2, 1)"));
  cases.push_back(layer(
      "avg_pool", {{{2, 3, 9, 8}}},
      [](auto& x) {
        return nn::avg_pool(x[0],
                            {.kernel = 3, .stride = 2, .padding = 1, .count_include_pad = false});
      },
      "F.avg_pool2d(x[0], 3, 2, 1, count_include_pad=False)"));
  cases.push_back(layer(
      "global_avg_pool and flatten", {{{2, 3, 5, 4}}},
      [](auto& x) { return nn::global_avg_pool(x[0]) * mean(nn::flatten(x[0])); },
      "x[0].mean((2, 3)) * x[0].flatten(1).mean()"));
}

void add_small_layers(std::vector<Case>& cases) {
  cases.push_back(
      layer("prelu", {{{5, 9}}}, [](auto& x) { return nn::prelu(x[0]); }, "F.prelu(x[0], x[1])"));
  cases.push_back(layer(
      "prelu of channels", {{{2, 3, 5, 4}}},
      [](auto& x) { return nn::prelu(x[0], {.per_channel = true}); }, "F.prelu(x[0], x[1])"));
  cases.push_back(layer(
      "maxout", {{{2, 6, 5, 4}}}, [](auto& x) { return nn::maxout(x[0], {.pieces = 3}); },
      "x[0].reshape(2, 2, 3, 5, 4).amax(2)"));
  cases.push_back(layer(
      "maxout of features", {{{5, 8}}}, [](auto& x) { return nn::maxout(x[0], {.axis = -1}); },
      "x[0].reshape(5, 4, 2).amax(2)"));
  cases.push_back(layer(
      "cosine_similarity", {{{5, 9}}, {{5, 9}}},
      [](auto& x) { return nn::cosine_similarity(x[0], x[1]); },
      "F.cosine_similarity(x[0], x[1], dim=-1)"));
  cases.push_back(layer(
      "cosine_similarity along axis 1", {{{2, 5, 3}}, {{2, 5, 3}}},
      [](auto& x) { return nn::cosine_similarity(x[0], x[1], {.axis = 1}); },
      "F.cosine_similarity(x[0], x[1], dim=1)"));
}

void add_embeddings(std::vector<Case>& cases) {
  const Input ids{{4, 3}, i64, 0, 6};
  cases.push_back(layer(
      "embedding", {ids},
      [](auto& x) { return nn::embedding(x[0], {.num_embeddings = 6, .dim = 5}); },
      "F.embedding(x[0], x[1])"));
  cases.push_back(layer(
      "embedding with sparse gradient", {ids},
      [](auto& x) {
        return nn::embedding(x[0], {.num_embeddings = 6, .dim = 5, .sparse_gradient = true});
      },
      "F.embedding(x[0], x[1])"));
  cases.push_back(layer(
      "embedding with padding", {ids},
      [](auto& x) {
        return nn::embedding(x[0], {.num_embeddings = 6, .dim = 5, .padding_row = 2});
      },
      "F.embedding(x[0], x[1] * (torch.arange(6) != 2)[:, None])"));
  cases.push_back(layer(
      "embedding sparse with padding", {ids},
      [](auto& x) {
        return nn::embedding(
            x[0], {.num_embeddings = 6, .dim = 5, .sparse_gradient = true, .padding_row = 2});
      },
      "F.embedding(x[0], x[1] * (torch.arange(6) != 2)[:, None])"));
}

void add_normalisations(std::vector<Case>& cases) {
  // Parameters: running_mean, running_var, weight, bias.
  const std::string torch =
      "F.batch_norm(x[0], x[1].detach().clone(), x[2].detach().clone(), x[3], "
      "x[4], training=True)";
  cases.push_back(layer(
      "batch_norm of images", {{{4, 3, 5, 6}}}, [](auto& x) { return nn::batch_norm(x[0]); },
      torch));
  cases.push_back(
      layer("batch_norm of rows", {{{9, 5}}}, [](auto& x) { return nn::batch_norm(x[0]); }, torch));
  cases.push_back(layer(
      "layer_norm", {{{3, 5, 37}}}, [](auto& x) { return nn::layer_norm(x[0]); },
      "F.layer_norm(x[0], [37], x[1], x[2])"));
  cases.push_back(layer(
      "layer_norm of two axes", {{{3, 5, 7}}},
      [](auto& x) { return nn::layer_norm(x[0], {.axes = 2}); },
      "F.layer_norm(x[0], [5, 7], x[1], x[2])"));
  cases.push_back(layer(
      "group_norm", {{{2, 6, 3, 5}}}, [](auto& x) { return nn::group_norm(x[0], {.groups = 3}); },
      "F.group_norm(x[0], 3, x[1], x[2])"));
  cases.push_back(layer(
      "group_norm of one channel each", {{{3, 4, 7}}},
      [](auto& x) { return nn::group_norm(x[0], {.groups = 4}); },
      "F.group_norm(x[0], 4, x[1], x[2])"));
  cases.push_back(layer(
      "group_norm of rows", {{{5, 12}}},
      [](auto& x) { return nn::group_norm(x[0], {.groups = 2}); },
      "F.group_norm(x[0], 2, x[1], x[2])"));
  cases.push_back(layer(
      "instance_norm", {{{2, 3, 5, 4}}}, [](auto& x) { return nn::instance_norm(x[0]); },
      "F.instance_norm(x[0])"));
  cases.push_back(layer(
      "instance_norm with weights", {{{2, 3, 9}}},
      [](auto& x) { return nn::instance_norm(x[0], {.affine = true}); },
      "F.instance_norm(x[0], weight=x[1], bias=x[2])"));
  cases.push_back(layer(
      "rms_norm", {{{3, 5, 37}}}, [](auto& x) { return nn::rms_norm(x[0]); },
      "x[0] * torch.rsqrt((x[0] ** 2).mean(-1, keepdim=True) + 1e-6) * x[1]"));
  cases.push_back(layer(
      "rms_norm of two axes", {{{3, 5, 7}}},
      [](auto& x) { return nn::rms_norm(x[0], {.axes = 2, .epsilon = 0.5, .affine = false}); },
      "x[0] * torch.rsqrt((x[0] ** 2).mean((1, 2), keepdim=True) + 0.5)"));
  cases.push_back(layer(
      "local_response_norm", {{{2, 7, 3, 4}}},
      [](auto& x) { return nn::local_response_norm(x[0], {.alpha = 0.5}); },
      "F.local_response_norm(x[0], 5, alpha=0.5)"));
  cases.push_back(layer(
      "local_response_norm of lines, even size", {{{2, 3, 4}}},
      [](auto& x) {
        return nn::local_response_norm(x[0], {.size = 4, .alpha = 1, .beta = 0.5, .k = 2});
      },
      "F.local_response_norm(x[0], 4, alpha=1, beta=0.5, k=2)"));
  cases.push_back(layer(
      "weight_norm", {{{4, 6}}}, [](auto& x) { return nn::weight_norm(x[0]); },
      "torch._weight_norm(x[0], x[1][None], 1)"));
  cases.push_back(layer(
      "weight_norm of a convolution", {{{4, 3, 2, 2}}},
      [](auto& x) { return nn::weight_norm(x[0], {.axis = 0}); },
      "torch._weight_norm(x[0], x[1][:, None, None, None], 0)"));
  for (const int iterations : {1, 3}) {
    const std::string text = std::to_string(iterations);
    cases.push_back(layer(
        "spectral_norm, iterations " + text, {{{4, 6}}},
        [iterations](auto& x) { return nn::spectral_norm(x[0], {.iterations = iterations}); },
        "formulas.spectral_norm(x[0].T, x[1], " + text + ").T"));
    cases.push_back(layer(
        "spectral_norm of a convolution, iterations " + text, {{{4, 3, 2, 2}}},
        [iterations](auto& x) {
          return nn::spectral_norm(x[0], {.axis = 0, .iterations = iterations});
        },
        "formulas.spectral_norm(x[0], x[1], " + text + ")"));
  }
  cases.push_back(
      layer("softmax", {{{5, 37}}}, [](auto& x) { return softmax(x[0]); }, "F.softmax(x[0], -1)"));
  cases.push_back(layer(
      "softmax along axis 1", {{{2, 5, 7}}}, [](auto& x) { return softmax(x[0], 1); },
      "F.softmax(x[0], 1)"));
  cases.push_back(layer(
      "log_softmax", {{{5, 37}}}, [](auto& x) { return log_softmax(x[0]); },
      "F.log_softmax(x[0], -1)"));
}

void add_shapes_and_values(std::vector<Case>& cases) {
  cases.push_back(layer(
      "one_hot", {{{4, 5}}, {{4}, i64, -1, 6}}, [](auto& x) { return one_hot(x[1], 5) * x[0]; },
      "(x[1][:, None] == torch.arange(5)) * x[0]"));
  cases.push_back(layer(
      "tile", {{{3, 1, 5}}}, [](auto& x) { return tile(x[0], {2, 3, 1}); }, "x[0].tile(2, 3, 1)"));
  cases.push_back(layer(
      "stack along the last axis", {{{3, 5}}, {{3, 5}}, {{3, 5}}},
      [](auto& x) { return stack(x, -1); }, "torch.stack(x, -1)"));
  cases.push_back(layer(
      "split", {{{3, 7}}},
      [](auto& x) {
        const auto part = split(x[0], {1, 4, 2}, 1);
        return concat({part[2], part[0] * part[1]}, {.axis = 1});
      },
      "(lambda p: torch.cat([p[2], p[0] * p[1]], 1))(torch.split(x[0], [1, 4, 2], 1))"));
  cases.push_back(layer(
      "split_evenly", {{{6, 5}}},
      [](auto& x) {
        const auto part = split_evenly(x[0], 2);
        return part[0] * part[1];
      },
      "x[0][:3] * x[0][3:]"));
  cases.push_back(layer(
      "squeeze and unsqueeze", {{{3, 1, 5}}},
      [](auto& x) { return squeeze(x[0], {1}) * squeeze(unsqueeze(x[0], 0)); },
      "x[0].squeeze(1) * x[0].unsqueeze(0).squeeze()"));
  cases.push_back(layer(
      "clamp", {{{5, 9}}}, [](auto& x) { return clamp(x[0], -0.75, 1.25); },
      "x[0].clamp(-0.75, 1.25)"));
  cases.push_back(layer(
      "broadcast operands", {{{3, 1, 5}, f32, 1, 2}, {{4, 1}, f32, 1, 2}},
      [](auto& x) { return floor_mod(x[0], x[1] * 0.5); }, "torch.remainder(x[0], x[1] * 0.5)"));
  // Some factors are 0. The gradient ignores that minimum() makes them 0.
  cases.push_back(layer(
      "prod with zeros", {{{3, 11, 4}, f32, -0.5, 2}},
      [](auto& x) { return prod(x[0] - stop_gradient(minimum(x[0], 0.0)), {.axes = {2}}); },
      "(x[0] - x[0].clamp(max=0).detach()).prod(2)"));
}

void add_padding_and_resizing(std::vector<Case>& cases) {
  const Input images{{2, 3, 5, 7}};
  const std::vector<std::int64_t> low{0, 0, 2, 4}, high{0, 0, 3, 1};
  cases.push_back(layer(
      "pad_reflect", {images}, [&](auto& x) { return pad_reflect(x[0], low, high); },
      "F.pad(x[0], (4, 1, 2, 3), mode='reflect')"));
  cases.push_back(layer(
      "pad_edge", {images}, [&](auto& x) { return pad_edge(x[0], low, {0, 0, 9, 1}); },
      "F.pad(x[0], (4, 1, 2, 9), mode='replicate')"));
  cases.push_back(layer(
      "pad_circular", {images}, [&](auto& x) { return pad_circular(x[0], low, {0, 0, 5, 1}); },
      "F.pad(x[0], (4, 1, 2, 5), mode='circular')"));
  cases.push_back(layer(
      "pad_reflect of one axis", {{{9}}}, [](auto& x) { return pad_reflect(x[0], {8}, {0}); },
      "torch.cat([x[0][1:].flip(0), x[0]])"));
  for (const auto& [height, width] : {std::pair{8, 4}, {5, 20}, {3, 7}, {1, 1}}) {
    const std::string size = std::to_string(height) + ", " + std::to_string(width);
    cases.push_back(layer(
        "resize_nearest to " + size, {images},
        [h = height, w = width](auto& x) { return resize_nearest(x[0], h, w); },
        "F.interpolate(x[0], size=(" + size + "), mode='nearest')"));
    cases.push_back(layer(
        "resize_bilinear to " + size, {images},
        [h = height, w = width](auto& x) { return resize_bilinear(x[0], h, w); },
        "F.interpolate(x[0], size=(" + size + "), mode='bilinear')"));
  }
}

// Returns the training loop in PyTorch. `optimizer` names `w`; `clip` and `schedule` may be empty.
std::string torch_training(const std::string& optimizer, const std::string& clip,
                           const std::string& schedule) {
  const std::string schedule_call = schedule.empty() ? "None" : schedule;
  const std::string clip_call = clip.empty() ? "None" : clip;
  return "(lambda w: (lambda o: (lambda s: ([(o.zero_grad(), "
         "((x[1] @ w - x[2]) ** 2).mean().backward(), " +
         clip_call +
         ", o.step(), "
         "s and s.step()) for _ in range(" +
         std::to_string(TrainingCase::kSteps) + ")], w.detach())[1])(" + schedule_call +
         "))(torch.optim." + optimizer + "))(x[0].detach().clone().requires_grad_())";
}

// Returns the same loop with one of the rules of formulas.py.
std::string torch_formula(const std::string& rule, const std::string& options) {
  return "formulas.train(formulas." + rule + ", x, " + std::to_string(TrainingCase::kSteps) + ", " +
         options + ")";
}

TrainingCase training_case(const std::string& name, const Optimizer& optimizer,
                           const std::string& torch) {
  TrainingCase training;
  Case& c = training.c;
  c.op = name;
  c.torch_reference = torch;
  c.check_gradient = false;
  c.program = std::make_unique<Program>("training");
  const Value x = c.program->input("x", f32, {16, 5});
  const Value t = c.program->input("t", f32, {16, 3});
  const Value w = c.program->parameter("w", f32, {5, 3});
  const Value loss = mean(nn::mse(matmul(x, w), t));
  nn::apply_updates(optimizer, {w}, {Value(transforms::gradients(loss.get(), {w.get()})[0])});
  c.operands = {w.get(), x.get(), t.get()};
  c.results = {w.get()};
  Run run{name, {}, {}};
  run.inputs["x"] = random_tensor({16, 5}, f32, -2, 2, 1);
  run.inputs["t"] = random_tensor({16, 3}, f32, -2, 2, 2);
  for (const auto& parameter : c.program->ir().parameters()) {
    ops::RefTensor& value = run.parameters[parameter->name()] =
        ops::RefTensor(evaluate(parameter->value->type.shape, {}));
    const Attributes& attributes = parameter->initializer.attributes;
    if (!has_attribute(attributes, "value")) continue;
    const double initial_value = get_attribute<double>(attributes, "value");  // of optimizer state
    std::fill(value.data.begin(), value.data.end(), initial_value);
  }
  run.parameters["w"] = random_tensor({5, 3}, f32, -1, 1, 3);
  c.runs.push_back(std::move(run));
  return training;
}

TrainingCase training(const std::string& name, const Optimizer& optimizer, const std::string& torch,
                      const std::string& clip = "", const std::string& schedule = "") {
  return training_case(name, optimizer, torch_training(torch, clip, schedule));
}

void add_adaptive(std::vector<TrainingCase>& cases) {
  cases.push_back(
      training("adagrad", Adagrad{.learning_rate = 0.1, .initial = 0.1, .weight_decay = 0.1},
               "Adagrad([w], lr=0.1, initial_accumulator_value=0.1, weight_decay=0.1)"));
  cases.push_back(training("adadelta", Adadelta{}, "Adadelta([w])"));
  cases.push_back(
      training("rmsprop", RmsProp{.weight_decay = 0.1}, "RMSprop([w], lr=0.01, weight_decay=0.1)"));
  cases.push_back(training("rmsprop centered", RmsProp{.centered = true},
                           "RMSprop([w], lr=0.01, centered=True)"));
  cases.push_back(training("rmsprop with momentum", RmsProp{.momentum = 0.5, .centered = true},
                           "RMSprop([w], lr=0.01, momentum=0.5, centered=True)"));
  cases.push_back(
      training("adamax", Adamax{.weight_decay = 0.1}, "Adamax([w], lr=2e-3, weight_decay=0.1)"));
  cases.push_back(training_case("decayed adagrad", DecayedAdagrad{.learning_rate = 0.02},
                                torch_formula("decayed_adagrad", "rate=0.02")));
  cases.push_back(training_case("ftrl", Ftrl{.l1 = 0.3, .l2 = 0.1},
                                torch_formula("ftrl", "rate=0.1, l1=0.3, l2=0.1")));
  cases.push_back(
      training_case("lamb", Lamb{.learning_rate = 0.02}, torch_formula("lamb", "rate=0.02")));
  // PyTorch 1.13 multiplies C_(t+1) by c_t twice.
  cases.push_back(
      training_case("nadam", NAdam{.learning_rate = 0.02}, torch_formula("nadam", "rate=0.02")));
  cases.push_back(training("radam", RAdam{.learning_rate = 0.02, .weight_decay = 0.1},
                           "RAdam([w], lr=0.02, weight_decay=0.1)"));
  cases.push_back(training("rprop", Rprop{.learning_rate = 0.01}, "Rprop([w], lr=0.01)"));
  cases.push_back(
      training("rprop with limits",
               Rprop{.decrease = 0.25, .increase = 1.5, .min_step = 0.01, .max_step = 0.03},
               "Rprop([w], lr=0.01, etas=(0.25, 1.5), step_sizes=(0.01, 0.03))"));
  cases.push_back(training_case("lars", Lars{.learning_rate = 0.1, .trust = 0.1},
                                torch_formula("lars", "rate=0.1, trust=0.1")));
  // A larger rate ends in a cycle around the minimum, where rounding errors grow.
  cases.push_back(training_case("adafactor", Adafactor{.learning_rate = 0.01, .weight_decay = 0.1},
                                torch_formula("adafactor", "rate=0.01, weight_decay=0.1")));
  cases.push_back(training_case("muon", Muon{.weight_decay = 0.1},
                                torch_formula("muon", "rate=0.02, weight_decay=0.1")));
  cases.push_back(training_case(
      "muon without nesterov", Muon{.nesterov = false, .iterations = 3, .match_rms_adamw = true},
      torch_formula("muon", "rate=0.02, nesterov=False, iterations=3, match_rms_adamw=True")));
  cases.push_back(training_case("schedule-free sgd",
                                ScheduleFreeSgd{.learning_rate = 0.3, .weight_decay = 0.1},
                                torch_formula("schedule_free_sgd", "rate=0.3, weight_decay=0.1")));
  cases.push_back(
      training_case("schedule-free sgd with a schedule",
                    ScheduleFreeSgd{.learning_rate = Schedule(0.3).warmup(20), .momentum = 0.5},
                    torch_formula("schedule_free_sgd", "rate=0.3, momentum=0.5, warmup=20")));
  cases.push_back(
      training_case("schedule-free adamw", ScheduleFreeAdamW{.weight_decay = 0.1},
                    torch_formula("schedule_free_adamw", "rate=2.5e-3, weight_decay=0.1")));
  cases.push_back(training_case("lion", Lion{.learning_rate = 0.01, .weight_decay = 0.1},
                                torch_formula("lion", "rate=0.01, weight_decay=0.1")));
}

constexpr int kRates = 60;

Case schedule_case(const std::string& name, const Schedule& schedule, const std::string& torch) {
  Case c;
  c.op = "schedule " + name;
  c.torch_reference = "formulas.rates(lambda o: " + torch + ", " + std::to_string(kRates) + ")";
  c.check_gradient = false;
  c.tolerance = 1e-9;
  c.program = std::make_unique<Program>("schedule");
  const Value step = c.program->input("step", f64, {kRates});
  c.operands = {step.get()};
  c.results = {nn::rate_at(schedule, step).get()};
  Run run{c.op, {}, {}};
  ops::RefTensor& steps = run.inputs["step"] = ops::RefTensor({kRates});
  for (int i = 0; i < kRates; ++i) steps.data[static_cast<std::size_t>(i)] = i;
  c.runs.push_back(std::move(run));
  return c;
}

// The factors of nn::after_measuring for measurements that fall, stay level and rise.
Case plateau_case(const std::string& name, const Plateau& plateau, const std::string& torch) {
  Case c;
  c.op = "schedule " + name;
  c.torch_reference = "formulas.plateau_factors(x[0], " + torch + ")";
  c.check_gradient = false;
  c.tolerance = 1e-9;
  c.program = std::make_unique<Program>("schedule");
  c.operands = {c.program->input("measured", f64, {kRates}).get()};
  c.results = {(c.program->parameter("factors", f64, {kRates}) * 1.0).get()};
  Run run{c.op, {}, {}};
  ops::RefTensor& measured = run.inputs["measured"] = random_tensor({kRates}, f64, 0.9, 1.0, 5);
  ops::RefTensor& factors = run.parameters["factors"] = ops::RefTensor({kRates});
  nn::PlateauState state{.best = std::nan("")};
  for (std::size_t i = 0; i < kRates; ++i) {
    measured.data[i] *= 1 + 3.0 / (1.0 + static_cast<double>(i));
    state = nn::after_measuring(state, plateau, measured.data[i]);
    factors.data[i] = state.factor;
  }
  c.runs.push_back(std::move(run));
  return c;
}

}  // namespace

std::vector<Case> layer_cases() {
  std::vector<Case> cases;
  add_activations(cases);
  add_linear_and_convolutions(cases);
  add_windows(cases);
  add_small_layers(cases);
  add_embeddings(cases);
  add_normalisations(cases);
  add_attention(cases);
  add_recurrent(cases);
  add_ragged(cases);
  add_functions(cases);
  add_compression(cases);
  add_shapes_and_values(cases);
  add_padding_and_resizing(cases);
  for (Case& c : loss_cases()) cases.push_back(std::move(c));
  return cases;
}

std::vector<Case> schedule_cases() {
  const std::string torch = "torch.optim.lr_scheduler.";
  std::vector<Case> cases;
  cases.push_back(
      schedule_case("step_decay", Schedule::step_decay(1, 7, 0.5), torch + "StepLR(o, 7, 0.5)"));
  cases.push_back(schedule_case("multi_step", Schedule::multi_step(1, {5, 20, 21}, 0.3),
                                torch + "MultiStepLR(o, [5, 20, 21], 0.3)"));
  cases.push_back(
      schedule_case("exponential", Schedule::exponential(1, 0.9), torch + "ExponentialLR(o, 0.9)"));
  cases.push_back(schedule_case("cosine", Schedule::cosine(1, kRates, 0.1),
                                torch + "CosineAnnealingLR(o, 60, 0.1)"));
  cases.push_back(schedule_case("polynomial", Schedule::polynomial(1, 40, 0, 2),
                                torch + "PolynomialLR(o, 40, 2)"));
  cases.push_back(schedule_case("one_cycle", Schedule::one_cycle(2, kRates + 1),
                                torch + "OneCycleLR(o, 2, 61)"));
  cases.push_back(schedule_case(
      "one_cycle of other shape", Schedule::one_cycle(2, kRates + 1, 0.5, 10, 100),
      torch + "OneCycleLR(o, 2, 61, pct_start=0.5, div_factor=10, final_div_factor=100)"));
  cases.push_back(
      schedule_case("warm-up", Schedule(1.0).warmup(8), torch + "LinearLR(o, 1 / 8, 1, 7)"));
  cases.push_back(schedule_case("cyclic", Schedule::cyclic(0.1, 1, 7),
                                torch + "CyclicLR(o, 0.1, 1, 7, cycle_momentum=False)"));
  cases.push_back(
      schedule_case("cyclic, halved", Schedule::cyclic(0.1, 1, 7, 4, 0.5),
                    torch + "CyclicLR(o, 0.1, 1, 7, 4, mode='triangular2', cycle_momentum=False)"));
  cases.push_back(schedule_case(
      "cyclic, exponential", Schedule::cyclic(0.1, 1, 7, 4, 1, 0.97),
      torch + "CyclicLR(o, 0.1, 1, 7, 4, mode='exp_range', gamma=0.97, cycle_momentum=False)"));
  cases.push_back(schedule_case("cosine_restarts", Schedule::cosine_restarts(1, 7, 1, 0.1),
                                torch + "CosineAnnealingWarmRestarts(o, 7, 1, 0.1)"));
  cases.push_back(schedule_case("cosine_restarts, growing", Schedule::cosine_restarts(1, 3, 2, 0.1),
                                torch + "CosineAnnealingWarmRestarts(o, 3, 2, 0.1)"));
  cases.push_back(schedule_case("piecewise_constant",
                                Schedule::piecewise_constant({1, 0.3, 2, 0}, {5, 20, 50}),
                                torch + "LambdaLR(o, lambda s: [1, 0.3, 2, 0][(s >= 5) + (s >= 20) "
                                        "+ (s >= 50)])"));
  cases.push_back(schedule_case(
      "sequential",
      Schedule::sequential(
          {Schedule(0.1), Schedule::exponential(1, 0.9).warmup(4), Schedule::step_decay(1, 7, 0.5)},
          {5, 30}),
      torch + "SequentialLR(o, [torch.optim.lr_scheduler.ConstantLR(o, 0.1, 99), "
              "torch.optim.lr_scheduler.LambdaLR(o, lambda s: (s + 1) / 4 if s < 4 else "
              "0.9 ** (s - 4)), torch.optim.lr_scheduler.StepLR(o, 7, 0.5)], [5, 30])"));
  cases.push_back(schedule_case(
      "inverse_sqrt", Schedule::inverse_sqrt(1 / std::sqrt(512.0 * 20), 20),
      torch + "LambdaLR(o, lambda s: 512 ** -0.5 * min((s + 1) ** -0.5, (s + 1) * 20 ** -1.5))"));
  cases.push_back(plateau_case("plateau", {.factor = 0.5, .patience = 2, .threshold = 0.01},
                               "factor=0.5, patience=2, threshold=0.01"));
  cases.push_back(
      plateau_case("plateau with cooldown",
                   {.patience = 1, .cooldown = 3, .min_factor = 0.002, .higher_is_better = true},
                   "mode='max', patience=1, cooldown=3, min_lr=0.002"));
  return cases;
}

std::vector<TrainingCase> training_cases() {
  std::vector<TrainingCase> cases;
  cases.push_back(training("sgd", Sgd{.learning_rate = 0.05, .weight_decay = 0.01},
                           "SGD([w], lr=0.05, weight_decay=0.01)"));
  cases.push_back(
      training("momentum", Momentum{.learning_rate = 0.02}, "SGD([w], lr=0.02, momentum=0.9)"));
  cases.push_back(training("nesterov", Momentum{.learning_rate = 0.02, .nesterov = true},
                           "SGD([w], lr=0.02, momentum=0.9, nesterov=True)"));
  cases.push_back(training("adam", Adam{.learning_rate = 0.02, .weight_decay = 0.1},
                           "Adam([w], lr=0.02, weight_decay=0.1)"));
  cases.push_back(training("adamw", AdamW{.learning_rate = 0.02, .weight_decay = 0.1},
                           "AdamW([w], lr=0.02, weight_decay=0.1)"));
  cases.push_back(training("adam amsgrad", Adam{.learning_rate = 0.05, .amsgrad = true},
                           "Adam([w], lr=0.05, amsgrad=True)"));
  cases.push_back(training("adamw amsgrad",
                           AdamW{.learning_rate = 0.05, .amsgrad = true, .weight_decay = 0.1},
                           "AdamW([w], lr=0.05, amsgrad=True, weight_decay=0.1)"));
  add_adaptive(cases);
  cases.push_back(training("sgd clipped by value",
                           Sgd{.learning_rate = 0.05, .clip = {.value = 0.1}}, "SGD([w], lr=0.05)",
                           "torch.nn.utils.clip_grad_value_([w], 0.1)"));
  cases.push_back(training("adam clipped by norm",
                           Adam{.learning_rate = 0.02, .clip = {.global_norm = 0.3}},
                           "Adam([w], lr=0.02)", "torch.nn.utils.clip_grad_norm_([w], 0.3)"));
  cases.push_back(
      training("adam exponential", Adam{.learning_rate = Schedule::exponential(0.1, 0.95)},
               "Adam([w], lr=0.1)", "", "torch.optim.lr_scheduler.ExponentialLR(o, 0.95)"));
  cases.push_back(training("sgd step_decay",
                           Sgd{.learning_rate = Schedule::step_decay(0.1, 15, 0.5)},
                           "SGD([w], lr=0.1)", "", "torch.optim.lr_scheduler.StepLR(o, 15, 0.5)"));
  cases.push_back(training("adamw cosine", AdamW{.learning_rate = Schedule::cosine(0.1, 50, 0.01)},
                           "AdamW([w], lr=0.1)", "",
                           "torch.optim.lr_scheduler.CosineAnnealingLR(o, 50, 0.01)"));
  return cases;
}

}  // namespace trireme::conformance
