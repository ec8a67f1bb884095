#include "trireme/job.h"

#include <fmt/core.h>

#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "base/number_text.h"
#include "ir/program.h"
#include "session/job/distribution.h"
#include "session/job/fine_tune.h"
#include "session/job/model.h"
#include "session/job/renamed_keys.h"
#include "session/job/resolve.h"
#include "session/job/settings.h"
#include "session/job/text.h"
#include "trireme/inspect.h"
#include "trireme/sequence.h"
#include "trireme/tensorboard.h"

namespace trireme {

struct Job::State {
  State(job::Node root, const std::string& path, const JobOptions& options);

  void open_data();
  std::optional<data::Dataset> hold_out(data::Dataset& training) const;
  data::Batches measured(const data::Dataset& dataset, const job::Node& node) const;
  data::Dataset prepared(const job::Node& node, std::int64_t limit);
  data::Batches batches(const data::Dataset& dataset) const;
  void build();
  const text::Encoder& written() const;
  data::Batches checked(data::Batches batches) const;
  std::int64_t own_steps() const;  // of an epoch
  void make_trainer();
  SymbolSizes usual_sizes() const;
  void save_texts(SaveOptions& save) const;
  void save_written(SaveOptions& save) const;

  job::Node root;
  std::string directory;  // where relative file names start
  std::string name;
  JobOptions options;
  job::Settings settings;

  std::optional<job::TextReader> reader;  // if the data are texts
  std::optional<Model> start;             // [model] from, until its parameters are loaded
  std::string table;                      // SaveOptions::table, if the data are a CSV file
  std::optional<job::Columns> columns;
  std::optional<data::Batches> train, validation, test;
  Program program;
  std::optional<job::Network> network;
  std::unique_ptr<Trainer> trainer;
};

Job::State::State(job::Node root_in, const std::string& path, const JobOptions& options_in)
    : root(std::move(root_in)),
      directory(std::filesystem::path(path).parent_path().string()),
      name(std::filesystem::path(path).stem().string()),
      options(options_in),
      program(name.empty() ? "job" : job::identifier(name)) {
  for (const std::string& setting : options.set) job::override_value(root, setting);
  for (const std::string& warning : job::use_new_keys(root)) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  settings = job::read_settings(root);
  if (options.seed) settings.seed = *options.seed;
  if (!options.run.empty()) settings.output.run = options.run;
  if (!options.output.empty()) settings.output.directory = options.output;
  if (settings.output.directory.empty()) settings.output.directory = name;
  job::check_training(settings);
}

data::Dataset Job::State::prepared(const job::Node& node, std::int64_t limit) {
  if (job::is_text(node) && !reader) {
    if (!start) start = job::open_starting_model(settings, directory);
    reader.emplace(settings.data.text, settings.seed,
                   start ? start->text() : std::map<std::string, text::Encoder>());
  }
  data::Dataset dataset =
      job::is_text(node)
          ? reader->read(job::open_corpus(node, directory), &node)
          : job::open_dataset(node, directory, &node == settings.data.train ? &table : nullptr);
  if (settings.data.filter != nullptr) dataset = job::filtered(dataset, *settings.data.filter);
  if (limit > 0) dataset = dataset.take(std::min(limit, dataset.size()));
  return dataset;
}

void Job::State::open_data() {
  if (columns) return;
  const job::DataSettings& data = settings.data;
  data::Dataset training = prepared(*data.train, data.limit);
  const bool many = job::takes_many(settings);
  columns = job::choose_columns(training, data, many, *data.train);
  if (data.cache == "memory") training = training.cache();
  else if (!data.cache.empty()) training = training.cache(job::path_in(directory, data.cache));
  const std::optional<data::Dataset> held_out = hold_out(training);
  if (data.sample != nullptr) {
    training = job::sampled(training, data, columns->target.name, settings.seed);
  }
  if (data.augment != nullptr) {
    training = job::augmented(training, *data.augment, settings.seed);
    columns = job::choose_columns(training, data, many, *data.train);
  }
  if (data.shuffle) training = training.shuffle(settings.seed);
  train = batches(training);
  if (held_out) validation = measured(*held_out, *data.train);
  if (data.validation != nullptr) {
    validation = measured(prepared(*data.validation, 0), *data.validation);
  }
  if (data.test != nullptr) test = measured(prepared(*data.test, data.test_limit), *data.test);
}

data::Batches Job::State::batches(const data::Dataset& dataset) const {
  const job::DataSettings& data = settings.data;
  const data::BatchOptions how{.threads = data.workers};
  std::string counted;  // the first column of sequences
  for (const data::Column& column : columns->inputs) {
    if (column.levels > 0 && counted.empty()) counted = column.name;
  }
  if (data.batch_tokens > 0) return dataset.batch_tokens(data.batch_tokens, counted, how);
  if (data.bucket) return dataset.bucket_by_length(data.batch, {.column = counted}, how);
  return dataset.batch(data.batch, how);
}

// Other data than those trained on, of the same columns; `node` says where they are from.
data::Batches Job::State::measured(const data::Dataset& dataset, const job::Node& node) const {
  std::vector<data::Column> needed = columns->inputs;
  needed.push_back(columns->target);
  for (const data::Column& column : needed) {
    const data::Column& given = dataset.column(column.name);
    if (given.shape != column.shape || given.levels != column.levels) {
      fail_at(node, fmt::format("column \"{}\" has another shape than in data.train", column.name));
    }
    if (column.ids > 0 && given.ids > column.ids) {
      fail_at(node,
              fmt::format("column \"{}\" has ids that data.train does not have", column.name));
    }
  }
  return dataset.batch(settings.data.test_batch, {.threads = settings.data.workers});
}

// The part of the training data that is kept for validation, if one is; `training` loses it. Which
// examples are is random, but not the order of either part.
std::optional<data::Dataset> Job::State::hold_out(data::Dataset& training) const {
  const job::DataSettings& data = settings.data;
  if (data.folds > 0) {
    const data::Fold fold =
        training.k_fold(data.folds, settings.seed)[static_cast<std::size_t>(data.fold)];
    training = fold.train;
    return fold.validation;
  }
  if (data.validation_split <= 0) return std::nullopt;
  const auto count = std::max<std::int64_t>(
      static_cast<std::int64_t>(data.validation_split * static_cast<double>(training.size())), 1);
  const data::Dataset mixed = training.shuffle(settings.seed);
  training = mixed.skip(count).unshuffled();
  return mixed.take(count).unshuffled();
}

void Job::State::build() {
  if (network) return;
  open_data();
  network = job::build_network(program, settings, *columns, directory);
  if (network->decoder) job::write_by(*network, settings, written());
  train = checked(*train);
  if (validation) validation = checked(*validation);
  if (test) test = checked(*test);
}

// How the ids that the model writes become text.
const text::Encoder& Job::State::written() const {
  if (reader) {
    const auto found = reader->encoders().find("target");
    if (found != reader->encoders().end()) return found->second;
  }
  job::fail_at(
      *settings.data.train,
      "the model writes texts, and these are no texts to learn it from: name pairs such as "
      "\"tatoeba/train\" or { texts = \"pairs.tsv\", fields = [\"source\", \"target\"] }");
}

// The same batches, in which what does not fit the network is an error.
data::Batches Job::State::checked(data::Batches batches) const {
  if (!columns->rows_of.empty()) {
    batches = batches.over(job::check_structure(batches.dataset(), columns->rows_of));
  }
  if (network->task == job::Task::numbers || columns->target.dtype != i64) return batches;
  std::int64_t classes = 2;
  if (network->task != job::Task::binary) classes = network->logits.dim(-1).constant();
  if (network->task == job::Task::labels) classes = std::max(classes, columns->target.ids);
  return batches.over(job::check_labels(batches.dataset(), columns->target.name, classes));
}

std::int64_t Job::State::own_steps() const {
  const std::int64_t processes = std::max(options.processes, 1);
  return (train->size() + processes - 1) / processes;
}

void Job::State::make_trainer() {
  if (trainer != nullptr) return;
  build();
  job::configure_parameters(program, settings);
  job::check_plateau(settings, network->metrics);
  TrainerOptions made{.loss = network->loss,
                      .optimizer = job::read_optimizer(settings, own_steps()),
                      .updates = job::read_updates(settings),
                      .metrics = network->metrics,
                      .session = {.threads = options.threads,
                                  .seed = settings.seed,
                                  .plan_memory = options.plan_memory,
                                  .fuse = options.fuse,
                                  .interpreter = options.interpreter,
                                  .precision = settings.precision},
                      .trace_nan = options.trace_nan};
  if (options.extend) options.extend(program, made);
  const std::vector<Value> parameters = program.parameters();  // without those of the optimizer
  trainer = std::make_unique<Trainer>(program, std::move(made));
  if (!start) start = job::open_starting_model(settings, directory);
  job::load_starting_parameters(settings, start, parameters, trainer->session());
  start.reset();
  for (const auto& [name, value] : network->constants) {
    trainer->session().set_parameter(name, value);
  }
}

// Returns the sizes of a training batch; sequences have their average number of rows.
SymbolSizes Job::State::usual_sizes() const {
  constexpr std::size_t kEnough = 4096;  // examples, for a mean
  const std::int64_t number = std::max<std::int64_t>(train->size(), 1);
  const bool by_tokens = settings.data.batch_tokens > 0;
  SymbolSizes sizes{
      {"batch", by_tokens ? (train->examples() + number - 1) / number : train->batch_size()}};
  const data::Dataset& dataset = train->dataset();
  for (const data::Column& column : columns->inputs) {
    if (column.levels == 0 || dataset.size() == 0 || columns->rows_of.contains(column.name))
      continue;
    std::vector<std::int64_t> examples = dataset.order(0);
    examples.resize(std::min(examples.size(), kEnough));
    const std::vector<std::int64_t> lengths = dataset.lengths(column.name, examples);
    const std::int64_t rows = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    sizes[column.name] = rows * sizes["batch"] / static_cast<std::int64_t>(examples.size());
  }
  return sizes;
}

Job::Job(std::unique_ptr<State> state) : state_(std::move(state)) {}
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;
Job::~Job() = default;

Job Job::read(const std::string& path, const JobOptions& options) {
  const std::string file = std::filesystem::path(path).filename().string();
  return Job(std::make_unique<State>(job::parse_toml(read_file(path), file), path, options));
}

Job Job::parse(std::string_view text, const std::string& name, const JobOptions& options) {
  return Job(std::make_unique<State>(job::parse_toml(text, name), name, options));
}

const std::string& Job::name() const { return state_->name; }
const std::string& Job::output_directory() const { return state_->settings.output.directory; }
int Job::epochs() const { return state_->settings.epochs; }
Distribution Job::distribution() const { return state_->settings.distribution; }
std::vector<std::string> Job::check_distributed() const {
  job::check_distributed(state_->root, state_->settings);
  return job::unused_distributed(state_->root, state_->settings);
}
Optimizer Job::optimizer() {
  state_->build();
  return job::read_optimizer(state_->settings, state_->own_steps());
}
bool Job::averages() const {
  return state_->settings.average != nullptr ||
         keeps_averages(job::read_optimizer(state_->settings, /*steps_per_epoch=*/1));
}
std::int64_t Job::max_steps() const { return state_->settings.max_steps; }

FitOptions Job::fit_options() {
  const job::Settings& settings = state_->settings;
  FitOptions options{.epochs = settings.epochs, .max_steps = settings.max_steps};
  options.validation = validation_data();
  options.evaluate_every = settings.evaluate_every;
  options.early_stopping = settings.early_stopping;
  options.checkpoint = settings.checkpoint;
  options.run = settings.output.run;
  options.log_every = settings.output.log_every;
  if (!options.run.empty() && settings.output.histograms_every > 0) {
    options.callbacks.push_back(std::make_shared<TensorBoard>(
        options.run, TensorBoardOptions{.histograms_every = settings.output.histograms_every}));
  }
  return options;
}

const data::Batches& Job::train_data() {
  state_->build();
  return *state_->train;
}

const data::Batches* Job::validation_data() {
  state_->build();
  return state_->validation ? &*state_->validation : nullptr;
}

const data::Batches* Job::test_data() {
  state_->build();
  return state_->test ? &*state_->test : nullptr;
}

Program& Job::program() {
  state_->build();
  return state_->program;
}

Trainer& Job::trainer() {
  state_->make_trainer();
  return *state_->trainer;
}

Value Job::output() {
  state_->build();
  return state_->network->output;
}

bool Job::classifies() {
  state_->build();
  return state_->network->task == job::Task::classes;
}

std::string Job::input_name() {
  state_->open_data();
  return state_->columns->inputs.front().name;
}

std::string Job::target_name() {
  state_->open_data();
  return state_->columns->target.name;
}

void Job::State::save_texts(SaveOptions& save) const {
  if (!reader) return;
  const auto add = [&](const std::string& port) {
    const auto encoder = reader->encoders().find(port);
    if (encoder != reader->encoders().end()) save.text.insert(*encoder);
  };
  for (const Value& input : save.inputs) add(input.name().substr(1));
  if (network->written) add("target");
  if (settings.data.text != nullptr) save.samples = job::json_text(*settings.data.text);
}

// A model that writes texts is saved with what it writes instead of what it was trained by.
void Job::State::save_written(SaveOptions& save) const {
  const Value tokens = network->written->tokens;
  save.outputs = {tokens, sequence::splits(tokens), network->written->scores};
  save.output_names = {"target", splits_name("target", 0, 1), "scores"};
  save.inputs = {program.find("source")};
}

SaveOptions Job::save_options() {
  state_->build();
  const job::Network& network = *state_->network;
  const std::vector<data::Column>& columns = state_->columns->inputs;
  SaveOptions save;
  if (network.written) {
    state_->save_written(save);
    state_->save_texts(save);
    return save;
  }
  save.outputs = {network.output};
  const bool labels = network.task == job::Task::labels;
  save.output_names = {classifies() ? "scores" : labels ? "labels" : "prediction"};
  save.target = state_->columns->target.name;
  if (classifies() || labels) save.labels = state_->train->dataset().class_names();
  if (classifies() && save.labels.empty()) save.labels = state_->columns->target.words;
  for (const data::Column& column : columns) {
    save.inputs.push_back(state_->program.find(column.name));
  }
  state_->save_texts(save);
  save.measured = job::measured_text(state_->settings);
  save.table = state_->table;
  const std::vector<std::int64_t>& shape = columns.front().shape;
  if (shape.size() == 3 && (shape[0] == 1 || shape[0] == 3)) {
    save.preprocessing[columns.front().name] = {static_cast<int>(shape[0]), shape[1], shape[2]};
  }
  return save;
}

std::string Job::resolved() const { return job::resolved_text(state_->root, state_->settings); }

std::string Job::summary() {
  const std::int64_t elements = trainable_elements(program());
  Session& session = trainer().session();
  const SymbolSizes sizes = state_->usual_sizes();
  const std::int64_t batch_size = sizes.at("batch");
  const MemoryReport memory =
      session.memory(trainer().training_fetches(), {.training = true, .updates = true}, sizes);
  const int count = state_->network->layers;
  const std::string layers =
      count == 0 ? "" : fmt::format("{} layer{}, ", count, count == 1 ? "" : "s");
  return fmt::format("{}: {}{} parameters, {} kernels ({} cached), arena {:.1f} MB at batch {}",
                     name(), layers, with_thousands(elements), memory.kernels,
                     session.statistics().kernels_cached,
                     static_cast<double>(memory.arena_bytes) / 1e6, batch_size);
}

}  // namespace trireme
