// Compares the losses with PyTorch and with the formulas of formulas.py.

#include "layers.h"
#include "ops/common.h"
#include "trireme/nn.h"

namespace trireme::conformance {
namespace {

void add_losses(std::vector<Case>& cases) {
  const Input rows{{6, 10}};
  const Input labels{{6}, i64, 0, 10};
  const Input targets{{6, 10}, f32, 0, 1};
  cases.push_back(layer(
      "cross_entropy", {rows, labels}, [](auto& x) { return nn::cross_entropy(x[0], x[1]); },
      "F.cross_entropy(x[0], x[1], reduction='none')"));
  cases.push_back(layer(
      "cross_entropy smoothed", {rows, labels},
      [](auto& x) { return nn::cross_entropy(x[0], x[1], {.label_smoothing = 0.2}); },
      "F.cross_entropy(x[0], x[1], reduction='none', label_smoothing=0.2)"));
  using nn::Reduction;
  const std::vector<std::pair<std::string, Reduction>> reductions = {
      {"none", Reduction::none}, {"mean", Reduction::mean}, {"sum", Reduction::sum}};
  for (const auto& [name, reduction] : reductions) {
    cases.push_back(layer(
        "cross_entropy, ignored labels, " + name, {{{9, 4}}, {{9}, i64, 0, 4}},
        [reduction](auto& x) {
          return nn::cross_entropy(x[0], x[1], {.ignore_index = 3, .reduction = reduction});
        },
        "F.cross_entropy(x[0], x[1], ignore_index=3, reduction='" + name + "')"));
    cases.push_back(layer(
        "binary_cross_entropy, weighted, " + name, {rows, targets},
        [reduction](auto& x) {
          return nn::binary_cross_entropy_with_logits(x[0], x[1],
                                                      {.pos_weight = 2.5, .reduction = reduction});
        },
        "F.binary_cross_entropy_with_logits(x[0], x[1], pos_weight=torch.tensor(2.5, "
        "dtype=x[0].dtype), reduction='" +
            name + "')"));
  }
  for (const auto& [name, reduction] : reductions) {
    cases.push_back(layer(
        "nll, weighted, " + name, {{{9, 4}, f32, -4, 0}, {{9}, i64, 0, 4}},
        [reduction](auto& x) {
          return nn::nll(
              x[0], x[1],
              {.ignore_index = 3, .class_weights = {1, 0.5, 2, 3}, .reduction = reduction});
        },
        "F.nll_loss(x[0], x[1], weight=x[2].detach(), ignore_index=3, reduction='" + name + "')"));
  }
  cases.push_back(layer(
      "nll", {{{6, 10}, f32, -4, 0}, labels}, [](auto& x) { return nn::nll(x[0], x[1]); },
      "F.nll_loss(x[0], x[1], reduction='none')"));
  cases.push_back(layer(
      "binary_cross_entropy, weighted by class", {{{6, 3}}, {{6, 3}, f32, 0, 1}},
      [](auto& x) {
        return nn::binary_cross_entropy_with_logits(x[0], x[1], {.pos_weights = {0.5, 1, 3}});
      },
      "F.binary_cross_entropy_with_logits(x[0], x[1], pos_weight=x[2].detach(), "
      "reduction='none')"));
  cases.push_back(layer(
      "binary_cross_entropy", {rows, targets},
      [](auto& x) { return nn::binary_cross_entropy_with_logits(x[0], x[1]); },
      "F.binary_cross_entropy_with_logits(x[0], x[1], reduction='none')"));
  cases.push_back(layer(
      "mse", {rows, targets}, [](auto& x) { return nn::mse(x[0], x[1]); },
      "F.mse_loss(x[0], x[1], reduction='none')"));
  cases.push_back(layer(
      "l1", {rows, targets}, [](auto& x) { return nn::l1(x[0], x[1]); },
      "F.l1_loss(x[0], x[1], reduction='none')"));
  cases.push_back(layer(
      "huber", {rows, targets}, [](auto& x) { return nn::huber(x[0], x[1], {.delta = 0.75}); },
      "F.huber_loss(x[0], x[1], reduction='none', delta=0.75)"));
}

void add_element_losses(std::vector<Case>& cases) {
  const Input rows{{6, 10}};
  const Input targets{{6, 10}, f32, 0.05, 3};
  const Input answers{{6, 10}, i64, 0, 2};
  const auto to_float = [](const Value& x) { return cast(x, {.dtype = f32}); };
  cases.push_back(layer(
      "smooth_l1", {rows, rows}, [](auto& x) { return nn::smooth_l1(x[0], x[1], {.beta = 0.75}); },
      "F.smooth_l1_loss(x[0], x[1], reduction='none', beta=0.75)"));
  cases.push_back(layer(
      "hinge", {rows, answers},
      [&](auto& x) { return nn::hinge(x[0], to_float(x[1]), {.margin = 0.75}); },
      "F.relu(0.75 - (2 * x[1] - 1) * x[0])"));
  cases.push_back(layer(
      "squared_hinge", {rows, answers},
      [&](auto& x) { return nn::squared_hinge(x[0], to_float(x[1])); },
      "F.relu(1 - (2 * x[1] - 1) * x[0]) ** 2"));
  cases.push_back(layer(
      "focal", {{{6, 10}, f32, -6, 6}, answers},
      [&](auto& x) { return nn::focal(x[0], to_float(x[1])); },
      "formulas.focal(x[0], x[1], gamma=2, alpha=0.25)"));
  cases.push_back(layer(
      "focal of other shape", {rows, answers},
      [&](auto& x) { return nn::focal(x[0], to_float(x[1]), {.gamma = 0.5, .alpha = 0.75}); },
      "formulas.focal(x[0], x[1], gamma=0.5, alpha=0.75)"));
  cases.push_back(layer(
      "dice", {{{4, 3, 5}, f32, 0, 1}, {{4, 3, 5}, f32, 0, 1}},
      [](auto& x) { return nn::dice(x[0], x[1], {.smooth = 0.5}); },
      "1 - (2 * (x[0] * x[1]).sum((1, 2)) + 0.5) / ((x[0] + x[1]).sum((1, 2)) + 0.5)"));
  cases.push_back(layer(
      "kl_divergence", {rows, targets}, [](auto& x) { return nn::kl_divergence(x[0], x[1]); },
      "F.kl_div(x[0], x[1], reduction='none')"));
  cases.push_back(layer(
      "kl_divergence of logarithms", {rows, rows},
      [](auto& x) { return nn::kl_divergence(x[0], x[1], {.log_target = true}); },
      "F.kl_div(x[0], x[1], reduction='none', log_target=True)"));
  cases.push_back(layer(
      "poisson_nll", {rows, targets}, [](auto& x) { return nn::poisson_nll(x[0], x[1]); },
      "F.poisson_nll_loss(x[0], x[1], reduction='none')"));
  cases.push_back(layer(
      "poisson_nll of counts", {{{6, 10}, f32, 0.1, 4}, targets},
      [](auto& x) {
        return nn::poisson_nll(x[0], x[1], {.log_input = false, .full = true, .epsilon = 1e-3});
      },
      "F.poisson_nll_loss(x[0], x[1], log_input=False, full=True, eps=1e-3, reduction='none')"));
}

// The targets of multi_label_margin as PyTorch has them: the labels, then -1.
constexpr const char* kLabels =
    "torch.stack([F.pad(r.nonzero()[:, 0], (0, 10 - int(r.sum())), value=-1) for r in x[1]])";

void add_multi_label_losses(std::vector<Case>& cases) {
  const Input rows{{6, 10}};
  const Input answers{{6, 10}, i64, 0, 2};
  const auto to_float = [](const Value& x) { return cast(x, {.dtype = f32}); };
  cases.push_back(layer(
      "multi_label_margin", {rows, answers},
      [&](auto& x) { return nn::multi_label_margin(x[0], to_float(x[1])); },
      std::string("F.multilabel_margin_loss(x[0], ") + kLabels + ", reduction='none')"));
  cases.push_back(layer(
      "multi_label_margin of sequences", {{{2, 3, 4}}, {{2, 3, 4}, i64, 0, 2}},
      [&](auto& x) { return nn::multi_label_margin(x[0], to_float(x[1]), {.margin = 0.5}); },
      "(F.relu(0.5 - x[0][..., None] + x[0][..., None, :]) * x[1][..., None] * "
      "(1 - x[1][..., None, :])).sum((-1, -2)) / 4"));
  cases.push_back(layer(
      "multi_label_soft_margin", {rows, answers},
      [&](auto& x) { return nn::multi_label_soft_margin(x[0], to_float(x[1])); },
      "F.multilabel_soft_margin_loss(x[0], x[1].to(x[0].dtype), reduction='none')"));
  cases.push_back(layer(
      "multi_label_soft_margin, weighted", {{{6, 3}}, {{6, 3}, i64, 0, 2}},
      [&](auto& x) {
        return nn::multi_label_soft_margin(x[0], to_float(x[1]), {.class_weights = {0.5, 1, 3}});
      },
      "F.multilabel_soft_margin_loss(x[0], x[1].to(x[0].dtype), weight=x[2].detach(), "
      "reduction='none')"));
}

void add_gaussian_nll(std::vector<Case>& cases) {
  const Input rows{{6, 10}};
  const Input variances{{6, 10}, f32, 0, 2};
  for (const bool full : {false, true}) {
    const std::string text = full ? "True" : "False";
    cases.push_back(layer(
        "gaussian_nll, full=" + text, {rows, rows, variances},
        [full](auto& x) {
          return nn::gaussian_nll(x[0], x[1], x[2], {.full = full, .epsilon = 0.25});
        },
        "F.gaussian_nll_loss(x[0], x[1], x[2], full=" + text + ", eps=0.25, reduction='none')"));
  }
}

void add_margin_losses(std::vector<Case>& cases) {
  const Input rows{{6, 10}};
  const Input labels{{6}, i64, 0, 10};
  const Input similar{{6}, i64, 0, 2};
  const auto to_float = [](const Value& x) { return cast(x, {.dtype = f32}); };
  for (const int power : {1, 2}) {
    const std::string p = std::to_string(power);
    cases.push_back(layer(
        "multi_class_hinge " + p, {rows, labels},
        [&](auto& x) {
          return nn::multi_class_hinge(x[0], x[1], {.margin = 0.75, .squared = power == 2});
        },
        "F.multi_margin_loss(x[0], x[1], p=" + p + ", margin=0.75, reduction='none')"));
  }
  for (const double gamma : {0.0, 0.5, 2.0}) {
    cases.push_back(layer(
        "focal_cross_entropy " + std::to_string(gamma).substr(0, 3), {rows, labels},
        [&](auto& x) { return nn::focal_cross_entropy(x[0], x[1], {.gamma = gamma}); },
        "(lambda l: (1 - torch.exp(-l)) ** " + std::to_string(gamma) +
            " * l)(F.cross_entropy(x[0], x[1], reduction='none'))"));
  }
  cases.push_back(layer(
      "margin_ranking", {rows, rows, rows},
      [](auto& x) { return nn::margin_ranking(x[0], x[1], sign(x[2]), {.margin = 0.5}); },
      "F.margin_ranking_loss(x[0], x[1], torch.sign(x[2]), margin=0.5, reduction='none')"));
  for (const bool swap : {false, true}) {
    cases.push_back(layer(
        swap ? "triplet_margin swapped" : "triplet_margin", {rows, rows, rows},
        [&](auto& x) {
          return nn::triplet_margin(x[0], x[1], x[2], {.margin = 1.5, .swap = swap});
        },
        std::string("F.triplet_margin_loss(x[0], x[1], x[2], margin=1.5, reduction='none', swap=") +
            (swap ? "True)" : "False)")));
  }
  for (const bool swap : {false, true}) {
    cases.push_back(layer(
        swap ? "triplet_margin of cosines, swapped" : "triplet_margin of cosines",
        {rows, rows, rows},
        [&](auto& x) {
          const auto distance = [](const Value& a, const Value& b) {
            return 1.0 - nn::cosine_similarity(a, b);
          };
          return nn::triplet_margin(x[0], x[1], x[2],
                                    {.margin = 0.5, .swap = swap, .distance = distance});
        },
        std::string("F.triplet_margin_with_distance_loss(x[0], x[1], x[2], margin=0.5, "
                    "distance_function=lambda a, b: 1 - F.cosine_similarity(a, b, dim=-1), "
                    "reduction='none', swap=") +
            (swap ? "True)" : "False)")));
  }
  cases.push_back(layer(
      "cosine_embedding", {rows, rows, similar},
      [&](auto& x) { return nn::cosine_embedding(x[0], x[1], to_float(x[2]), {.margin = -0.25}); },
      "F.cosine_embedding_loss(x[0], x[1], 2 * x[2] - 1, margin=-0.25, reduction='none')"));
  cases.push_back(layer(
      "contrastive", {rows, rows, similar},
      [&](auto& x) { return nn::contrastive(x[0], x[1], to_float(x[2]), {.margin = 6}); },
      "(lambda d: torch.where(x[2] == 1, d ** 2, F.relu(6 - d) ** 2) / 2)((x[0] - "
      "x[1]).norm(dim=1))"));
}

void add_losses_of_many_classes(std::vector<Case>& cases) {
  const Input hidden{{6, 5}};
  const Input labels{{6}, i64, 0, 9};
  const Input weight{{9, 5}}, bias{{9}};
  const Input sampled{{12}, i64, 0, 9};  // with duplicates and accidental hits of the label
  using Sampler = nn::Sampler;
  for (const Sampler sampler : {Sampler::log_uniform, Sampler::uniform}) {
    const std::string name = sampler == Sampler::uniform ? "uniform" : "log_uniform";
    cases.push_back(layer(
        "sampled_softmax " + name, {hidden, labels, weight, bias, sampled},
        [&](auto& x) {
          return nn::sampled_softmax(x[0], x[1], x[2], x[3],
                                     {.sampler = sampler, .candidates = x[4]});
        },
        "formulas.sampled_softmax(*x, '" + name + "')"));
    cases.push_back(layer(
        "nce " + name, {hidden, labels, weight, bias, sampled},
        [&](auto& x) {
          return nn::nce(x[0], x[1], x[2], x[3], {.sampler = sampler, .candidates = x[4]});
        },
        "formulas.nce(*x, '" + name + "')"));
  }
  for (const std::int64_t classes : {2, 5, 8, 9}) {
    cases.push_back(layer(
        "hierarchical_softmax of " + std::to_string(classes),
        {hidden, {{6}, i64, 0, static_cast<double>(classes)}, {{classes - 1, 5}}, {{classes - 1}}},
        [](auto& x) { return nn::hierarchical_softmax(x[0], x[1], x[2], x[3]); },
        "formulas.hierarchical_softmax(*x, *formulas.complete_tree(" + std::to_string(classes) +
            "))"));
  }
  cases.push_back(layer(
      "hierarchical_softmax of tables",
      {hidden, labels, weight, {{9, 4}, i64, -2, 9}, {{9, 4}, i64, 0, 2}},
      [](auto& x) {
        return nn::hierarchical_softmax(x[0], x[1], x[2], Value(), {.path = x[3], .code = x[4]});
      },
      "formulas.hierarchical_softmax(x[0], x[1], x[2], 0 * x[2][:, 0], x[3], x[4])"));
}

}  // namespace

std::vector<Case> loss_cases() {
  std::vector<Case> cases;
  add_losses(cases);
  add_element_losses(cases);
  add_gaussian_nll(cases);
  add_multi_label_losses(cases);
  add_margin_losses(cases);
  add_losses_of_many_classes(cases);
  return cases;
}

}  // namespace trireme::conformance
