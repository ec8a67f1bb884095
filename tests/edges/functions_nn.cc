#include "functions.h"
#include "trireme/functions.h"
#include "trireme/loss.h"
#include "trireme/nn.h"

namespace trireme::edges {
namespace {

using Values = std::vector<Value>;

void add_activation(std::vector<Function>& all, const std::string& name, const std::string& torch,
                    const nn::Activation& activation) {
  all.push_back({.name = name,
                 .torch = torch,
                 .sources = [](DType d) { return std::vector{points(d)}; },
                 .build =
                     [activation](const Values& x) {
                       return Values{activation(x[0], SourceLocation::current())};
                     }});
}

// A loss of each pair of a number and a target.
void add_pairs(std::vector<Function>& all, const std::string& name, const std::string& torch,
               const std::vector<double>& targets, Value (*build)(const Value&, const Value&)) {
  all.push_back(
      {.name = name,
       .torch = torch,
       .sources = [targets](DType d) { return std::vector{points(d), numbers(d, targets)}; },
       .build = [build](const Values& x) { return Values{build(x[0], x[1])}; }});
}

// A loss of each row of four logits with each of the labels 0 and 3.
void add_labels(std::vector<Function>& all, const std::string& name, const std::string& torch,
                Value (*build)(const Value&, const Value&)) {
  all.push_back(
      {.name = name,
       .torch = torch,
       .sources = [](DType d) { return std::vector{rows(d, 4), numbers(DType::i64, {0, 3})}; },
       .build = [build](const Values& x) { return Values{build(x[0], x[1])}; }});
}

// A function of each pair of rows of four numbers.
void add_row_pairs(std::vector<Function>& all, const std::string& name, const std::string& torch,
                   Value (*build)(const Value&, const Value&)) {
  all.push_back({.name = name,
                 .torch = torch,
                 .sources = [](DType d) { return std::vector{rows(d, 4), rows(d, 4)}; },
                 .build = [build](const Values& x) { return Values{build(x[0], x[1])}; }});
}

void add_regression(std::vector<Function>& all) {
  const std::vector<double> targets = {0, 1, -1, 2};
  add_pairs(all, "mse", "F.mse_loss(x[0], x[1], reduction='none')", targets,
            [](const Value& x, const Value& t) { return nn::mse(x, t); });
  add_pairs(all, "l1", "F.l1_loss(x[0], x[1], reduction='none')", targets,
            [](const Value& x, const Value& t) { return nn::l1(x, t); });
  add_pairs(all, "huber", "F.huber_loss(x[0], x[1], reduction='none')", targets,
            [](const Value& x, const Value& t) { return nn::huber(x, t); });
  add_pairs(all, "smooth_l1", "F.smooth_l1_loss(x[0], x[1], reduction='none')", targets,
            [](const Value& x, const Value& t) { return nn::smooth_l1(x, t); });
  add_pairs(all, "poisson_nll", "F.poisson_nll_loss(x[0], x[1], reduction='none')", targets,
            [](const Value& x, const Value& t) { return nn::poisson_nll(x, t); });
  add_pairs(all, "poisson_nll of counts",
            "F.poisson_nll_loss(x[0], x[1], log_input=False, full=True, reduction='none')",
            {0, 1, 2, 5}, [](const Value& x, const Value& t) {
              return nn::poisson_nll(x, t, {.log_input = false, .full = true});
            });
  all.push_back({.name = "gaussian_nll",
                 .torch = "F.gaussian_nll_loss(x[0], x[1], x[2], full=True, reduction='none')",
                 .sources =
                     [](DType d) {
                       return std::vector{points(d), numbers(d, {0, 1, -2}),
                                          numbers(d, {0, 1e-30, 1e-6, 0.25, 1, 1e30})};
                     },
                 .build =
                     [](const Values& x) {
                       return Values{nn::gaussian_nll(x[0], x[1], x[2], {.full = true})};
                     },
                 .dtypes = {DType::f32, DType::f64}});
  add_pairs(all, "kl_divergence", "F.kl_div(x[0], x[1], reduction='none')", {0, 0.5, 1},
            [](const Value& x, const Value& t) { return nn::kl_divergence(x, t); });
}

void add_binary(std::vector<Function>& all) {
  const std::vector<double> answers = {0, 1};
  add_pairs(
      all, "binary_cross_entropy", "exact.binary_cross_entropy(x[0], x[1])", {0, 0.25, 1},
      [](const Value& x, const Value& t) { return nn::binary_cross_entropy_with_logits(x, t); });
  add_pairs(all, "binary_cross_entropy with pos_weight",
            "3 * x[1] * exact.softplus(-x[0]) + (1 - x[1]) * exact.softplus(x[0])", {0, 0.25, 1},
            [](const Value& x, const Value& t) {
              return nn::binary_cross_entropy_with_logits(x, t, {.pos_weight = 3});
            });
  add_pairs(all, "hinge", "F.relu(1 - (2 * x[1] - 1) * x[0])", answers,
            [](const Value& x, const Value& t) { return nn::hinge(x, t); });
  add_pairs(all, "squared_hinge", "F.relu(1 - (2 * x[1] - 1) * x[0]) ** 2", answers,
            [](const Value& x, const Value& t) { return nn::squared_hinge(x, t); });
  add_pairs(all, "focal", "exact.focal(x[0], x[1])", answers,
            [](const Value& x, const Value& t) { return nn::focal(x, t); });
  all.push_back(
      {.name = "margin_ranking",
       .torch = "F.margin_ranking_loss(x[0], x[1], x[2], 0.5, reduction='none')",
       .sources =
           [](DType d) { return std::vector{points(d), numbers(d, {0, 1}), numbers(d, {1, -1})}; },
       .build =
           [](const Values& x) {
             return Values{nn::margin_ranking(x[0], x[1], x[2], {.margin = 0.5})};
           }});
}

void add_classes(std::vector<Function>& all) {
  add_labels(all, "cross_entropy", "F.cross_entropy(x[0], x[1], reduction='none')",
             [](const Value& x, const Value& label) { return nn::cross_entropy(x, label); });
  add_labels(all, "cross_entropy smoothed",
             "F.cross_entropy(x[0], x[1], reduction='none', label_smoothing=0.1)",
             [](const Value& x, const Value& label) {
               return nn::cross_entropy(x, label, {.label_smoothing = 0.1});
             });
  add_labels(all, "nll", "F.nll_loss(x[0], x[1], reduction='none')",
             [](const Value& x, const Value& label) { return nn::nll(x, label); });
  const Source answers{{{0, 0, 0, 0}, {1, 0, 1, 0}, {1, 1, 1, 1}}, true, DType::f32};
  all.push_back(
      {.name = "multi_label_margin",
       .torch = "exact.multi_label_margin(x[0], x[1])",
       .sources = [=](DType d) { return std::vector{rows(d, 4), answers}; },
       .build = [](const Values& x) { return Values{nn::multi_label_margin(x[0], x[1])}; },
       .dtypes = {DType::f32}});
  all.push_back(
      {.name = "multi_label_soft_margin",
       .torch = "exact.binary_cross_entropy(x[0], x[1]).mean(1)",
       .sources = [=](DType d) { return std::vector{rows(d, 4), answers}; },
       .build = [](const Values& x) { return Values{nn::multi_label_soft_margin(x[0], x[1])}; },
       .dtypes = {DType::f32}});
  add_labels(all, "multi_class_hinge squared",
             "F.multi_margin_loss(x[0], x[1], 2, reduction='none')",
             [](const Value& x, const Value& label) {
               return nn::multi_class_hinge(x, label, {.squared = true});
             });
  add_labels(all, "multi_class_hinge", "F.multi_margin_loss(x[0], x[1], reduction='none')",
             [](const Value& x, const Value& label) { return nn::multi_class_hinge(x, label); });
  add_labels(all, "focal_cross_entropy", "exact.focal_cross_entropy(x[0], x[1])",
             [](const Value& x, const Value& label) { return nn::focal_cross_entropy(x, label); });
}

void add_pair_losses(std::vector<Function>& all) {
  const auto pairs_and = [](const Source& third) {
    return [third](DType d) { return std::vector{rows(d, 4), rows(d, 4), third}; };
  };
  const Source similar = numbers(DType::f32, {0, 1});
  all.push_back({.name = "contrastive",
                 .torch = "exact.contrastive(x[0], x[1], x[2])",
                 .sources = pairs_and(similar),
                 .build = [](const Values& x) { return Values{nn::contrastive(x[0], x[1], x[2])}; },
                 .dtypes = {DType::f32}});
  all.push_back(
      {.name = "cosine_embedding",
       .torch = "F.cosine_embedding_loss(x[0], x[1], 2 * x[2] - 1, reduction='none')",
       .sources = pairs_and(similar),
       .build = [](const Values& x) { return Values{nn::cosine_embedding(x[0], x[1], x[2])}; },
       .dtypes = {DType::f32}});
  all.push_back(
      {.name = "triplet_margin",
       .torch = "F.triplet_margin_loss(x[0], x[1], x[2], reduction='none')",
       .sources = pairs_and({{{0, 0, 0, 0}, {1, 2, 3, 4}}, true, DType::f32}),
       .build = [](const Values& x) { return Values{nn::triplet_margin(x[0], x[1], x[2])}; },
       .dtypes = {DType::f32}});
  all.push_back({.name = "triplet_margin with distance",
                 .torch = "F.relu(1 + (x[0] - x[1]).abs().sum(1) - (x[0] - x[2]).abs().sum(1))",
                 .sources = pairs_and({{{0, 0, 0, 0}, {1, 2, 3, 4}}, true, DType::f32}),
                 .build =
                     [](const Values& x) {
                       const auto distance = [](const Value& a, const Value& b) {
                         return sum(abs(a - b), {.axes = {1}});
                       };
                       return Values{nn::triplet_margin(x[0], x[1], x[2], {.distance = distance})};
                     },
                 .dtypes = {DType::f32}});
}

void add_vectors(std::vector<Function>& all) {
  add_row_pairs(all, "cosine_similarity", "F.cosine_similarity(x[0], x[1], dim=1, eps=1e-8)",
                [](const Value& a, const Value& b) { return nn::cosine_similarity(a, b); });
  const Source probabilities{
      {{0, 0, 0, 0}, {1, 1, 1, 1}, {0.5, 0, 1, 0.25}, {1e-30, 0, 1e-8, 1}}, true, DType::f32};
  all.push_back({.name = "dice",
                 .torch = "exact.dice(x[0], x[1])",
                 .sources = [=](DType) { return std::vector{probabilities, probabilities}; },
                 .build = [](const Values& x) { return Values{nn::dice(x[0], x[1])}; },
                 .dtypes = {DType::f32}});
  add_row_pairs(
      all, "glu", "F.glu(torch.cat([x[0], x[1]], 1), 1)",
      [](const Value& a, const Value& b) { return nn::glu(concat({a, b}, {.axis = 1})); });
  add_row_pairs(
      all, "maxout", "torch.cat([x[0], x[1]], 1).reshape(-1, 4, 2).amax(2)",
      [](const Value& a, const Value& b) { return nn::maxout(concat({a, b}, {.axis = 1})); });
}

}  // namespace

std::vector<Function> activation_functions() {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"identity", "x[0] * 1"},
      {"relu", "F.relu(x[0])"},
      {"relu6", "F.relu6(x[0])"},
      {"leaky_relu", "F.leaky_relu(x[0])"},
      {"elu", "exact.elu(x[0])"},
      {"gelu", "exact.gelu(x[0])"},
      {"gelu_tanh", "exact.gelu_tanh(x[0])"},
      {"silu", "F.silu(x[0])"},
      {"mish", "F.mish(x[0])"},
      {"softplus", "exact.softplus(x[0])"},
      {"hard_sigmoid", "F.relu6(x[0] + 3) / 6"},
      {"hard_swish", "exact.hard_swish(x[0])"},
      {"tanh", "torch.tanh(x[0])"},
      {"sigmoid", "torch.sigmoid(x[0])"},
      {"hard_tanh", "F.hardtanh(x[0])"},
      {"selu", "exact.selu(x[0])"},
      {"celu", "exact.elu(x[0])"},
      {"log_sigmoid", "-exact.softplus(-x[0])"},
      {"softsign", "F.softsign(x[0])"},
      {"tanh_shrink", "F.tanhshrink(x[0])"},
      {"soft_shrink", "F.softshrink(x[0])"},
      {"hard_shrink", "F.hardshrink(x[0])"},
  };
  std::vector<Function> all;
  for (const auto& [name, torch] : names) {
    add_activation(all, "activation " + name, torch, nn::find_activation(name));
  }
  add_activation(all, "activation threshold", "F.threshold(x[0], 1, -2)",
                 nn::Threshold{.limit = 1, .value = -2});
  add_activation(all, "activation swish", "x[0] * torch.sigmoid(x[0] * 2)", nn::Swish{.beta = 2});
  add_activation(all, "clamp", "x[0].clamp(-0.5, 6)",
                 [](const Value& x, SourceLocation) { return clamp(x, -0.5, 6); });
  return all;
}

std::vector<Function> loss_functions() {
  std::vector<Function> all;
  add_regression(all);
  add_binary(all);
  add_classes(all);
  add_vectors(all);
  add_pair_losses(all);
  return all;
}

}  // namespace trireme::edges
