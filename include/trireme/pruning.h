#pragma once

// Sparse weights by masks: which weights are zero is decided while they are trained.
//   tr::add_masks(program);                       // before minimize() and the Trainer
//   auto pruning = std::make_shared<tr::Pruning>(tr::PruningOptions{.sparsity = 0.9, .end = 2000});
//   trainer.fit(data, {.epochs = 5, .callbacks = {pruning}});
//   tr::PackedModel small = tr::pack_weights(program, trainer.session(), {logits});
// docs/how-to/compression.md has whole programs.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trireme/callback.h"
#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/session.h"
#include "trireme/source_location.h"
#include "trireme/state.h"

namespace trireme {

struct MaskOptions {
  std::vector<std::string> parameters = {"*.weight"};  // names, where * matches any characters
  // True: pruned weights get the gradients of the weights that they would be, so that they can
  // return: Guo et al. 2016, "Dynamic Network Surgery". For PruningOptions::splice.
  bool dense_gradients = false;
  // Adds a trained parameter NAME.score [shape of the weight], which starts at 0 and has the
  // gradient of the masked weight times the weight. It grows where a weight moves away from 0, and
  // the smallest scores are pruned: Sanh et al. 2020, "Movement Pruning".
  bool movement = false;
  double score_rate = 1;  // factor for the learning rate of scores; above 0
};
// Replaces each use of a trainable f32 parameter with one of these names by its product with the
// parameter NAME.mask, which has its shape, starts as ones and is not trained. Returns the names of
// the weights. Layers that are added later use the weights without masks.
// Errors: not_found, if a pattern matches no trainable f32 parameter; usage, for a Program that has
// updates or masks of these weights already, and a score_rate that is not above 0.
TRIREME_API std::vector<std::string> add_masks(Program& program, const MaskOptions& options = {},
                                               SourceLocation where = SourceLocation::current());

struct MaskRule {
  double sparsity = 0.9;  // share of zeros in the masks, [0, 1): the integer below is pruned
  bool global = true;     // compares the weights of all layers; false: each layer has that share
  // Keeps the `keep` largest of each `of` adjacent weights of a unit, instead of a share: 2 of 4
  // for example. Adjacent are inputs of a layer: along axis 0 of a matrix, and axis 1 of the weight
  // of a convolution, whose size must be divisible by `of`. Mishra et al. 2021, "Accelerating
  // Sparse Deep Neural Networks".
  std::int64_t keep = 0, of = 0;
  // A pruned weight returns if it is now large enough, and masks change only beyond a margin of the
  // limit, here 10%: Guo et al. 2016. Without it, pruned weights stay pruned. Scores of movement
  // pruning can always return.
  bool splice = false;
  double margin = 0;  // with splice: a share of the limit, in [0, 1)
};
// Sets the masks of a Session by the sizes of the weights, or by the scores where the Program has
// them. Of equal weights, those of the first layers and elements are pruned.
// Errors: usage, for a Program without masks, numbers out of range, and an axis that `of` does not
// divide.
TRIREME_API void update_masks(Session& session, const MaskRule& rule);
// The share of zeros in all masks. Errors: usage, for a Program without masks.
TRIREME_API double mask_sparsity(Session& session);
// Multiplies the weights by their masks. Results do not change. pack_weights() makes a Program
// without masks (trireme/packing.h).
// Errors: usage, for a Program without masks.
TRIREME_API void apply_masks(Session& session);

struct PruningOptions {
  double sparsity = 0.9;          // at the end
  double initial_sparsity = 0;    // at the beginning
  std::int64_t begin = 0;         // steps of the Trainer, of all its fits
  std::int64_t end = 1000;        // not before `begin`; the masks stay after it
  std::int64_t every = 100;       // steps between two updates of the masks
  bool global = true;             // as in MaskRule, as all that follow
  std::int64_t keep = 0, of = 0;  // without a schedule: from the beginning on
  bool splice = false;
  double margin = 0.1;  // the update at `end` has none, so that the sparsity is exact
};
// The sparsity after `step` steps: initial + (final - initial) (1 - (1 - t)^3), where t grows from
// 0 at `begin` to 1 at `end`: Zhu and Gupta 2017, "To prune, or not to prune". 0 before `begin`.
TRIREME_API double scheduled_sparsity(const PruningOptions& options, std::int64_t step);

// Updates the masks while a Trainer fits. Masks are parameters, so checkpoints contain them.
class TRIREME_API Pruning : public Callback {
 public:
  // Errors: usage, for numbers out of range.
  explicit Pruning(PruningOptions options);
  void on_fit_begin(FitState& fit) override;  // Errors: usage, for a Program without masks
  void on_step(FitState& fit, double loss) override;

 private:
  void update(FitState& fit, std::int64_t step);
  PruningOptions options_;
};

// Remembers the trained parameters after a step, to train the weights that pruning left once more
// from there: Frankle and Carbin 2019, "The Lottery Ticket Hypothesis", and Frankle et al. 2020 for
// steps after the first.
class TRIREME_API Rewinding : public Callback {
 public:
  explicit Rewinding(std::int64_t step = 0) : step_(step) {}  // of the Trainer; 0: the beginning
  // Sets the parameters, but not the masks and the state of the optimizer.
  // Errors: usage, if no fit has reached the step.
  void rewind(Session& session) const;
  void on_fit_begin(FitState& fit) override;
  void on_step(FitState& fit, double loss) override;

 private:
  void remember(FitState& fit);
  std::int64_t step_;
  StateDict values_;
};

// --- Channels -----------------------------------------------------------------------------------

// The channels with the smallest sizes are removed.
enum class ChannelCriterion : std::uint8_t {
  l1,          // the sum of |weight| of the channel: Li et al. 2017, "Pruning Filters"
  median,      // the sum of its Euclidean distances to the others: He et al. 2019, "FPGM"
  batch_norm,  // |weight| of the batch norms after it: Liu et al. 2017, "Network Slimming"
};
struct ChannelOptions {
  // Names of weights whose channels may be removed, where * matches any characters.
  std::vector<std::string> parameters = {"*"};
  double ratio = 0.5;  // share of the channels that is removed, [0, 1); at least one remains
  ChannelCriterion criterion = ChannelCriterion::l1;
};
// Channels that are the same because values with them are added, and the weights that make them.
struct ChannelGroup {
  std::vector<std::string> weights;
  std::int64_t before = 0, after = 0;  // channels
};
struct ChannelModel {
  Program program;
  Session session;
  std::vector<ChannelGroup> groups = {};
  std::int64_t parameters = 0;  // numbers in all parameters
};
// Returns a Program that computes `outputs`, in training and in inference, with fewer channels of
// convolutions and units of linear layers, and a Session with the weights that are left. Weights,
// batch norms and later layers become smaller. The channels of a residual block are removed
// together; their sizes are added. It has no updates, so minimize() or a Trainer can tune it;
// program.outputs() are its outputs. Channels stay where an op other than those of layers of images
// and linear layers reads them, such as a convolution with groups. batch_norm leaves groups without
// a batch norm.
// Errors: not_found, if no channels of the weights can be removed; usage, for no outputs, outputs
// of another Program, and a ratio out of range.
TRIREME_API ChannelModel prune_channels(const Program& program, Session& session,
                                        const std::vector<Value>& outputs,
                                        const ChannelOptions& options = {});

struct ChannelSensitivity {
  std::vector<std::string> weights;  // of one group
  double ratio = 0;
  double measured = 0;
};
// What `measure` returns for the model with each group alone pruned by each ratio, such as an
// accuracy: Li et al. 2017. In the order of the groups and ratios. Groups of options.parameters.
// Errors: as prune_channels().
TRIREME_API std::vector<ChannelSensitivity> channel_sensitivity(
    const Program& program, Session& session, const std::vector<Value>& outputs,
    const std::vector<double>& ratios, const std::function<double(ChannelModel&)>& measure,
    const ChannelOptions& options = {});

}  // namespace trireme
