#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/checked_folder.h"
#include "base/error.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "data/lines.h"
#include "ir/program.h"
#include "session/model/model_folder.h"
#include "trireme/image.h"
#include "trireme/saved_model.h"

namespace trireme {

Tensor preprocess(const Tensor& picture, const ImagePreprocessing& preprocessing) {
  Tensor shaped = preprocessing.channels == 1 ? image::to_gray(picture) : image::to_rgb(picture);
  shaped = image::resize(shaped, preprocessing.height, preprocessing.width);
  Tensor planes = image::to_planes(shaped);
  if (!preprocessing.invert) return planes;
  for (std::int64_t i = 0; i < planes.elements(); ++i) {
    planes.data<float>()[i] = 1.0f - planes.data<float>()[i];
  }
  return planes;
}

struct Model::State {
  State(Program program_in, const SessionOptions& options)
      : program(std::move(program_in)), session(program, options), outputs(program.outputs()) {}

  Program program;
  Session session;
  std::vector<Value> outputs;
  std::vector<Port> input_ports, output_ports;
  std::vector<std::string> labels;
  std::string target, measured, samples, table;
  std::map<std::string, ImagePreprocessing> preprocessing;
  std::map<std::string, text::Encoder> text;
};

namespace {

using Json = nlohmann::json;

// The files of an open folder, with checksums if the model has them.
class SavedFiles {
 public:
  explicit SavedFiles(const Folder& folder) : folder_(folder) {
    if (folder.contains(kChecksumsFile)) checked_.emplace(folder, kSavedFormat);
  }

  std::string path(const std::string& file) const { return folder_.path(file); }
  std::string read(const std::string& file, FileLimit limit = FileLimit::text) const {
    return checked_ ? checked_->read(file, limit) : folder_.read(file, limit);
  }

 private:
  const Folder& folder_;
  std::optional<CheckedFolder> checked_;
};

// What an older or newer writer, or a damaged disk, may have left: every member is checked.
class Description {
 public:
  Description(const std::string& path, const std::string& text) : path_(path) {
    json_ = try_parse_json<Json>(text);
    if (!json_.is_object()) fail_data(path_ + ": this is not JSON, or damaged");
    if (json_.value("format", Json()) != "trireme saved model") {
      fail_data(path_ + ": this is not a Trireme saved model");
    }
    if (json_.value("version", Json()) != 1) {
      fail_data(path_ + ": written by a later version of Trireme, or damaged");
    }
  }

  // `of`: the values of the Program that the ports stand for, in order.
  std::vector<Model::Port> ports(const char* key, const std::vector<Value>& of) const {
    const Json list = json_.value(key, Json());
    if (!list.is_array() || list.size() != of.size()) mismatch(key);
    std::vector<Model::Port> ports;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (!list[i].is_object() || !list[i].contains("name") || !list[i]["name"].is_string()) {
        mismatch(key);
      }
      ports.push_back({list[i]["name"].get<std::string>(), of[i].dtype(), of[i].shape()});
    }
    return ports;
  }

  std::vector<std::string> labels() const {
    const Json list = json_.value("labels", Json::array());
    std::vector<std::string> labels;
    if (!list.is_array()) mismatch("labels");
    for (const Json& label : list) {
      if (!label.is_string()) mismatch("labels");
      labels.push_back(label.get<std::string>());
    }
    return labels;
  }

  std::string target() const {
    const Json target = json_.value("target", Json(""));
    return target.is_string() ? target.get<std::string>() : "";
  }

  // Of a member that is an object, its text; empty if there is none.
  std::string object(const char* key) const {
    if (!json_.contains(key)) return "";
    if (!json_[key].is_object()) mismatch(key);
    return json_[key].dump();
  }

  std::map<std::string, ImagePreprocessing> preprocessing() const {
    std::map<std::string, ImagePreprocessing> result;
    for (const Json& input : json_["inputs"]) {
      if (!input.contains("image")) continue;
      const Json& image = input["image"];
      if (!image.is_object()) mismatch("image");
      ImagePreprocessing p;
      p.channels = static_cast<int>(number(image, "channels"));
      p.height = number(image, "height");
      p.width = number(image, "width");
      const Json invert = image.value("invert", Json(false));
      p.invert = invert.is_boolean() && invert.get<bool>();
      if (p.channels != 1 && p.channels != 3) mismatch("channels");
      result.emplace(input["name"].get<std::string>(), p);
    }
    return result;
  }

  // By port; the files are those of vocabularies.
  std::map<std::string, text::Encoder> text(const SavedFiles& files) const {
    std::map<std::string, text::Encoder> result;
    for (const char* side : {"inputs", "outputs"}) {
      for (const Json& port : json_[side]) {
        if (!port.contains("text")) continue;
        const auto name = port["name"].get<std::string>();
        result.emplace(name, encoder(port["text"], files, name));
      }
    }
    return result;
  }

 private:
  text::Encoder encoder(const Json& json, const SavedFiles& files, const std::string& port) const {
    if (!json.is_object()) mismatch("text");
    const bool subwords = json.value("tokens", Json()) == kSubwords;
    const std::string file = subwords ? subwords_file(port) : vocabulary_file(port);
    if (!is_plain_name(file)) mismatch("name");
    const std::string content = files.read(file);
    if (!subwords) {
      return {tokens(json), text::Vocabulary::parse(data::without_bom(content), files.path(file))};
    }
    const Json most = json.value("most", Json(0u));
    if (!most.is_number_unsigned()) mismatch("text");
    return text::Encoder(text::SubwordModel::parse(content, files.path(file)),
                         most.get<std::int64_t>());
  }
  text::TokenOptions tokens(const Json& json) const {
    const auto kind =
        std::find(kTokenKinds.begin(), kTokenKinds.end(), json.value("tokens", Json()));
    const Json lower_case = json.value("lower_case", Json(false));
    const Json distinct = json.value("distinct", Json(false));
    const Json most = json.value("most", Json(0u)), grams = json.value("grams", Json(1u));
    if (kind == kTokenKinds.end() || !lower_case.is_boolean() || !distinct.is_boolean() ||
        !most.is_number_unsigned() || !grams.is_number_unsigned()) {
      mismatch("text");
    }
    return {.kind = static_cast<text::TokenOptions::Kind>(kind - kTokenKinds.begin()),
            .lower_case = lower_case.get<bool>(),
            .grams = grams.get<std::int64_t>(),
            .max_tokens = most.get<std::int64_t>(),
            .distinct = distinct.get<bool>()};
  }
  std::int64_t number(const Json& object, const char* key) const {
    const Json value = object.value(key, Json());
    if (!value.is_number_integer()) mismatch(key);
    const auto n = value.get<std::int64_t>();
    if (n < 1 || n > 65536) mismatch(key);
    return n;
  }
  [[noreturn]] void mismatch(const std::string& key) const {
    fail_data(fmt::format("{}: \"{}\" is damaged or does not fit {}", path_, key, kProgramFile));
  }
  std::string path_;
  Json json_;
};

Program parse_program(const std::string& text, const std::string& path) {
  try {
    return Program::parse(text);
  } catch (const Error& error) {
    fail_data(path + ": " + error.what());
  }
}

void set_weights(const std::string& bytes, const std::string& path, const Program& program,
                 Session& session) {
  const Safetensors weights = parse_safetensors(bytes, path);
  for (const auto& parameter : program.ir().parameters()) {
    const auto found = weights.tensors.find(parameter->name());
    if (found == weights.tensors.end()) {
      const auto foreign = weights.foreign.find(parameter->name());
      if (foreign != weights.foreign.end()) {
        fail_data(fmt::format("{}: parameter \"{}\" has dtype {}, which Trireme does not read",
                              path, parameter->name(), foreign->second));
      }
      fail_data(fmt::format("{}: parameter \"{}\" is missing", path, parameter->name()));
    }
    try {
      session.set_parameter(parameter->name(), found->second);
    } catch (const Error& error) {
      fail_data(path + ": " + error.what());
    }
  }
}

void check_input_names(const std::vector<Model::Port>& ports, const Program& program,
                       const std::string& path) {
  const std::vector<Value> inputs = program.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = inputs[i].get()->name;
    if (ports[i].name == name) continue;
    fail_data(fmt::format("{}: input {} is called \"{}\", but {} calls it \"{}\"", path, i,
                          ports[i].name, kProgramFile, name));
  }
}

}  // namespace

Model load_model(const std::string& directory, const SessionOptions& options) {
  return read_folder(directory, [&](const Folder& folder) {
    const SavedFiles files(folder);
    const std::string path = files.path(kModelFile);
    const Description description(path, files.read(kModelFile));
    auto state = std::make_unique<Model::State>(
        parse_program(files.read(kProgramFile), files.path(kProgramFile)), options);
    state->input_ports = description.ports("inputs", state->program.inputs());
    state->output_ports = description.ports("outputs", state->outputs);
    check_input_names(state->input_ports, state->program, path);
    state->labels = description.labels();
    state->target = description.target();
    state->measured = description.object("measured");
    state->samples = description.object("samples");
    state->table = description.object("table");
    state->preprocessing = description.preprocessing();
    state->text = description.text(files);
    set_weights(files.read(kWeightsFile, FileLimit::content), files.path(kWeightsFile),
                state->program, state->session);
    return Model(std::move(state));
  });
}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const std::string& Model::name() const { return state_->program.name(); }
const std::vector<Model::Port>& Model::inputs() const { return state_->input_ports; }
const std::vector<Model::Port>& Model::outputs() const { return state_->output_ports; }
const std::vector<std::string>& Model::labels() const { return state_->labels; }
const std::string& Model::target() const { return state_->target; }
const std::string& Model::measured() const { return state_->measured; }
const std::string& Model::samples() const { return state_->samples; }
const std::string& Model::table() const { return state_->table; }
const std::map<std::string, ImagePreprocessing>& Model::preprocessing() const {
  return state_->preprocessing;
}
const std::map<std::string, text::Encoder>& Model::text() const { return state_->text; }
const Program& Model::program() const { return state_->program; }
Session& Model::session() { return state_->session; }

Model Model::with(Program program) const {
  auto state = std::make_unique<State>(std::move(program), state_->session.options());
  const auto same = [](const std::vector<Value>& values, const std::vector<Port>& ports) {
    return std::equal(values.begin(), values.end(), ports.begin(), ports.end(),
                      [](const Value& value, const Port& port) {
                        return value.dtype() == port.dtype && value.shape() == port.shape;
                      });
  };
  const std::vector<Value> inputs = state->program.inputs();
  const bool named = std::equal(
      inputs.begin(), inputs.end(), state_->input_ports.begin(), state_->input_ports.end(),
      [](const Value& value, const Port& port) { return value.get()->name == port.name; });
  if (!named || !same(inputs, state_->input_ports) || !same(state->outputs, state_->output_ports)) {
    fail_usage("Model::with: the inputs or outputs of the Program are not those of the model \"" +
               name() + "\"");
  }
  state->input_ports = state_->input_ports;
  state->output_ports = state_->output_ports;
  state->labels = state_->labels;
  state->target = state_->target;
  state->measured = state_->measured;
  state->samples = state_->samples;
  state->table = state_->table;
  state->preprocessing = state_->preprocessing;
  state->text = state_->text;
  return Model(std::move(state));
}

std::vector<Tensor> Model::predict(const Feeds& feeds) {
  return state_->session.run(feeds, state_->outputs);
}

}  // namespace trireme
