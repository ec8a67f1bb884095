#include "trireme/tensorboard.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "session/run/parameters.h"
#include "session/train/event_file.h"
#include "session/train/event_graph.h"
#include "session/train/event_values.h"
#include "trireme/image.h"
#include "trireme/trainer.h"

namespace trireme {

struct EventWriter::State {
  EventFile file;
};

EventWriter::EventWriter(const std::string& directory, std::int64_t first_step) {
  make_directories(directory);
  state_ = std::make_unique<State>(State{EventFile(directory, first_step)});
}

EventWriter::~EventWriter() = default;
EventWriter::EventWriter(EventWriter&&) noexcept = default;
EventWriter& EventWriter::operator=(EventWriter&&) noexcept = default;

const std::string& EventWriter::path() const { return state_->file.path(); }

void EventWriter::scalar(std::string_view tag, double value, std::int64_t step) {
  state_->file.add_value(step, scalar_value(tag, value));
}

void EventWriter::histogram(std::string_view tag, const Tensor& values, std::int64_t step,
                            int bins) {
  state_->file.add_value(step, histogram_value(tag, histogram_of(values, bins)));
}

void EventWriter::image(std::string_view tag, const Tensor& image, std::int64_t step) {
  state_->file.add_value(step, image_value(tag, image));
}

void EventWriter::images(std::string_view tag, const Tensor& images, std::int64_t step) {
  if (images.rank() != 4 || images.dim(0) == 0) {
    fail_usage(fmt::format("images \"{}\" are {}; f32[n, 1 or 3, height, width] is expected", tag,
                           images.type_str()));
  }
  image(tag, image::contact_sheet(images), step);
}

void EventWriter::pr_curve(std::string_view tag, const Tensor& scores, const Tensor& labels,
                           std::int64_t step, int thresholds) {
  state_->file.add_value(step, pr_curve_value(tag, pr_curve_of(scores, labels, thresholds)));
}

void EventWriter::graph(const Program& program) { state_->file.add_graph(graph_of(program.ir())); }

TensorBoard::TensorBoard(std::string directory, TensorBoardOptions options)
    : directory_(std::move(directory)), options_(std::move(options)) {}
TensorBoard::~TensorBoard() = default;

void TensorBoard::on_fit_begin(FitState& fit) {
  const std::int64_t steps = fit.trainer().steps();
  const std::string& run = fit.options().run;
  in_run_folder_ = !run.empty() && std::filesystem::absolute(run).lexically_normal() ==
                                       std::filesystem::absolute(directory_).lexically_normal();
  // The run folder has told readers about a second start already.
  writer_ = std::make_unique<EventWriter>(directory_, steps > 0 && !in_run_folder_ ? steps + 1 : 0);
  if (options_.graph) {
    writer_->state_->file.add_graph(graph_of(SessionAccess::program(fit.trainer().session())));
  }
}

void TensorBoard::on_step(FitState& fit, double loss) {
  const std::int64_t step = fit.trainer().steps();
  if (in_run_folder_ || options_.scalars_every <= 0 || step % options_.scalars_every != 0) return;
  writer_->scalar("train/loss", loss, step);
  Session& session = fit.trainer().session();
  if (ir::find_updates(SessionAccess::program(session), "") != nullptr) {
    writer_->scalar("learning_rate", session.learning_rate(), step);
  }
}

void TensorBoard::on_evaluation(FitState& fit, const Metrics& validation) {
  if (in_run_folder_) return;
  for (const auto& [name, value] : validation.numbers()) {
    writer_->scalar("validation/" + name, value, fit.trainer().steps());
  }
}

void TensorBoard::on_epoch_end(FitState& fit, const EpochReport& report) {
  const std::int64_t step = fit.trainer().steps();
  if (!in_run_folder_) {
    for (const auto& [name, value] : report.training.numbers()) {
      writer_->scalar("epoch/" + name, value, step);
    }
  }
  if (options_.histograms_every > 0 && report.epoch % options_.histograms_every == 0) {
    Session& session = fit.trainer().session();
    for (const auto& parameter : SessionAccess::program(session).parameters()) {
      if (!parameter->trainable) continue;
      writer_->histogram("parameters/" + parameter->name(), session.parameter(parameter->name()),
                         step);
    }
  }
  write_watched(fit);
}

void TensorBoard::write_watched(FitState& fit) {
  const std::int64_t step = fit.trainer().steps();
  const auto batches = [&](const std::string& tag, const std::optional<data::Batches>& own) {
    if (own) return *own;
    if (fit.options().validation != nullptr) return *fit.options().validation;
    fail_usage(
        fmt::format("TensorBoard: \"{}\" has no batches, and fit() no validation data\n"
                    "  hint   give it batches, or set FitOptions::validation",
                    tag));
  };
  for (const TensorBoardOptions::Images& images : options_.images) {
    const data::Dataset all = batches(images.tag, images.batches).dataset();
    const std::int64_t count = std::min<std::int64_t>(images.count, all.size());
    const data::Batches first = all.take(count).batch(std::max<std::int64_t>(count, 1));
    writer_->images(images.tag, fit.trainer().predict(first, images.value), step);
  }
  for (const TensorBoardOptions::Curve& curve : options_.curves) {
    const data::Batches used = batches(curve.tag, curve.batches);
    writer_->pr_curve(curve.tag, fit.trainer().predict(used, curve.scores),
                      fit.trainer().predict(used, curve.labels), step);
  }
}

}  // namespace trireme
