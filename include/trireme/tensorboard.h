#pragma once

// Event files for TensorBoard: scalars, histograms, pictures, precision-recall curves and graphs.
// docs/reference/run-folder.md has their format. A run folder (FitOptions::run) has the scalars of
// a training without this.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/callback.h"
#include "trireme/data.h"
#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/tensor.h"

namespace trireme {

// Writes one event file. A tag such as "train/loss" names a curve; the text before "/" groups tags.
// Events are on disk when a function returns. Not thread-safe.
// Errors of all functions: io.
class TRIREME_API EventWriter {
 public:
  // Creates the folder, if needed, and a file in it, named by time, host and process. If first_step
  // is above 0, readers drop the events of older files of the folder from that step on, as after
  // going back to a checkpoint.
  explicit EventWriter(const std::string& directory, std::int64_t first_step = 0);
  ~EventWriter();
  EventWriter(EventWriter&&) noexcept;
  EventWriter& operator=(EventWriter&&) noexcept;

  const std::string& path() const;  // of the file

  void scalar(std::string_view tag, double value, std::int64_t step);

  // Numbers of values in `bins` intervals of equal width between the smallest and the largest
  // value; the last interval contains its right end. Any dtype and shape. NaN and infinite values
  // are not counted.
  // Errors: usage, for bins below 1.
  void histogram(std::string_view tag, const Tensor& values, std::int64_t step, int bins = 30);

  // image: u8[height, width, 1 or 3]. Errors: usage, for another tensor.
  void image(std::string_view tag, const Tensor& image, std::int64_t step);
  // A grid of pictures, f32[n, 1 or 3, height, width] in [0, 1]; see image::contact_sheet.
  // Errors: usage, for another tensor or n = 0.
  void images(std::string_view tag, const Tensor& images, std::int64_t step);

  // Precision and recall at `thresholds` thresholds, 0, 1 / (thresholds - 1) up to 1. scores:
  // floats, probabilities of the positive class; an element with at least the threshold is
  // predicted positive. labels: numbers of the same shape, 1 or 0. The precision of no prediction
  // is 0.
  // Errors: usage, for different shapes or thresholds below 2; data, for NaN and other labels.
  void pr_curve(std::string_view tag, const Tensor& scores, const Tensor& labels, std::int64_t step,
                int thresholds = 127);

  // The ops of a Program, grouped by layers. TensorBoard shows the last graph of a folder.
  void graph(const Program& program);

 private:
  friend class TensorBoard;
  struct State;
  std::unique_ptr<State> state_;
};

struct TensorBoardOptions {
  std::int64_t scalars_every = 10;    // steps between two losses; 0: none
  std::int64_t histograms_every = 1;  // epochs between histograms of trained parameters; 0: none
  bool graph = true;                  // of the Program with gradients and updates
  // Measured after every epoch:
  struct Images {
    std::string tag;
    Value value;     // f32[batch, 1 or 3, height, width] in [0, 1]
    int count = 16;  // of the first examples
    // Not set: FitOptions::validation.
    std::optional<data::Batches> batches = {};
  };
  std::vector<Images> images = {};
  struct Curve {
    std::string tag;
    Value scores, labels;  // as for EventWriter::pr_curve, with axis 0 for the batch
    std::optional<data::Batches> batches = {};
  };
  std::vector<Curve> curves = {};
};

// Writes a training to a folder for TensorBoard: "train/loss" and "learning_rate" by step,
// "epoch/..." and "validation/..." by measurement, and what the options ask for. Steps count
// through all fits of the Trainer. In the folder of FitOptions::run it writes neither losses nor
// metrics, which the run folder has.
//   trainer.fit(data, {.callbacks = {std::make_shared<TensorBoard>("runs/first")}});
// Errors of fit(): those of EventWriter and of Trainer::predict; usage, if images or curves have no
// batches.
class TRIREME_API TensorBoard : public Callback {
 public:
  explicit TensorBoard(std::string directory, TensorBoardOptions options = {});
  ~TensorBoard() override;

  void on_fit_begin(FitState& fit) override;
  void on_step(FitState& fit, double loss) override;
  void on_evaluation(FitState& fit, const Metrics& validation) override;
  void on_epoch_end(FitState& fit, const EpochReport& report) override;

 private:
  void write_watched(FitState& fit);

  std::string directory_;
  TensorBoardOptions options_;
  std::unique_ptr<EventWriter> writer_;
  bool in_run_folder_ = false;
};

}  // namespace trireme
