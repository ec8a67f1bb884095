// Pruning by masks, and packed weights.

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "location.h"
#include "module.h"
#include "sessions.h"
#include "trireme/packing.h"
#include "trireme/pruning.h"
#include "trireme/teacher.h"

namespace trireme::python {

namespace {

std::vector<std::string> add_masks_to(Program& program, const nb::kwargs& given) {
  const Call call("add_masks", given, caller());
  MaskOptions options;
  call.set("parameters", options.parameters);
  call.set("dense_gradients", options.dense_gradients);
  call.set("movement", options.movement);
  call.set("score_rate", options.score_rate);
  return add_masks(program, options);
}

void update_masks_of(Session& session, const nb::kwargs& given) {
  const Call call("update_masks", given, caller());
  MaskRule rule;
  call.set("sparsity", rule.sparsity);
  call.set("global_", rule.global);
  call.set("keep", rule.keep);
  call.set("of", rule.of);
  call.set("splice", rule.splice);
  call.set("margin", rule.margin);
  const InUse used(&session);
  update_masks(session, rule);
}

PruningOptions pruning_options(const nb::kwargs& given) {
  const Call call("Pruning", given, caller());
  PruningOptions options;
  call.set("sparsity", options.sparsity);
  call.set("initial_sparsity", options.initial_sparsity);
  call.set("begin", options.begin);
  call.set("end", options.end);
  call.set("every", options.every);
  call.set("global_", options.global);
  call.set("keep", options.keep);
  call.set("of", options.of);
  call.set("splice", options.splice);
  call.set("margin", options.margin);
  return options;
}

PackedModel pack(const Program& program, Session& session, nb::handle outputs,
                 const nb::kwargs& given) {
  const Call call = call_with("pack_weights", given, "outputs", outputs);
  std::vector<Value> wanted;
  call.require("outputs", wanted);
  PackOptions options;
  call.set("max_bits", options.max_bits);
  call.set("count_bits", options.count_bits);
  const InUse used(&session);
  return pack_weights(program, session, wanted, options);
}

PackedModel quantize_tables(const Program& program, Session& session, nb::handle outputs,
                            const nb::kwargs& given) {
  const Call call = call_with("product_quantize", given, "outputs", outputs);
  std::vector<Value> wanted;
  call.require("outputs", wanted);
  ProductQuantizationOptions options;
  call.set("tables", options.tables);
  call.require("parts", options.parts);
  call.set("centroids", options.centroids);
  call.set("iterations", options.iterations);
  call.set("seed", options.seed);
  const InUse used(&session);
  return product_quantize(program, session, wanted, options);
}

FactorizedModel factorize_weights(const Program& program, Session& session, nb::handle outputs,
                                  const nb::kwargs& given) {
  const Call call = call_with("factorize", given, "outputs", outputs);
  std::vector<Value> wanted;
  call.require("outputs", wanted);
  FactorizeOptions options;
  call.set("parameters", options.parameters);
  call.set("energy", options.energy);
  const InUse used(&session);
  return factorize(program, session, wanted, options);
}

ChannelOptions channel_options(const Call& call) {
  ChannelOptions options;
  call.set("parameters", options.parameters);
  call.set("ratio", options.ratio);
  std::string criterion;
  call.set("criterion", criterion);
  if (criterion == "median") options.criterion = ChannelCriterion::median;
  else if (criterion == "batch_norm") options.criterion = ChannelCriterion::batch_norm;
  else if (!criterion.empty() && criterion != "l1") {
    throw Error(ErrorKind::usage, "prune_channels: the criterion is \"" + criterion +
                                      "\"\n  hint   \"l1\", \"median\" or \"batch_norm\"");
  }
  return options;
}

ChannelModel remove_channels(const Program& program, Session& session, nb::handle outputs,
                             const nb::kwargs& given) {
  const Call call = call_with("prune_channels", given, "outputs", outputs);
  std::vector<Value> wanted;
  call.require("outputs", wanted);
  const ChannelOptions options = channel_options(call);
  const InUse used(&session);
  return prune_channels(program, session, wanted, options);
}

void add_channels(nb::module_& m) {
  nb::class_<ChannelGroup>(m, "ChannelGroup", "Channels that are removed together.")
      .def_ro("weights", &ChannelGroup::weights)
      .def_ro("before", &ChannelGroup::before)
      .def_ro("after", &ChannelGroup::after);
  nb::class_<ChannelModel>(m, "ChannelModel",
                           "A Program with fewer channels, and a Session with its parameters.")
      .def_prop_ro(
          "program", [](const ChannelModel& model) { return Program(model.program.shared_ir()); },
          nb::sig("def program(self) -> Program"))
      .def_prop_ro(
          "session", [](ChannelModel& model) -> Session& { return model.session; },
          nb::rv_policy::reference_internal, nb::sig("def session(self) -> Session"))
      .def_ro("groups", &ChannelModel::groups)
      .def_ro("parameters", &ChannelModel::parameters, "Numbers in all parameters.");
  m.def("prune_channels", remove_channels, nb::arg("program"), nb::arg("session"),
        nb::arg("outputs"), nb::arg("options"),
        nb::sig("def prune_channels(program: Program, session: Session, outputs: Sequence[Value], "
                "*, parameters: Sequence[str] = ('*',), ratio: float = 0.5, criterion: str = "
                "'l1') -> ChannelModel"),
        "A Program without updates and with fewer channels of convolutions and units of linear "
        "layers. parameters: patterns of weights whose channels may go. ratio: share of the "
        "channels. criterion: 'l1', 'median' (FPGM) or 'batch_norm'. Raises NotFoundError if no "
        "channels of the weights can be removed, and UsageError for outputs of another Program.");
}

void make_teacher(Teacher* self, nb::handle model, const nb::dict& given, const std::string& name) {
  std::map<std::string, Value> inputs;
  for (const auto& [key, value] : given) {
    std::string input;
    Value to;
    if (!read(key, input) || !read(value, to)) {
      throw Error(ErrorKind::usage, "Teacher: the inputs are {\"name\": value}");
    }
    inputs.emplace(input, to);
  }
  Model* saved = nullptr;
  if (!nb::try_cast(model, saved, false)) {
    throw Error(ErrorKind::usage, "Teacher: the model is of type " + type_text(model) +
                                      "\n  hint   tr.load_model(folder) is such a model");
  }
  new (self) Teacher(*saved, inputs, name);
}

void add_teacher(nb::module_& m) {
  nb::class_<Teacher>(m, "Teacher",
                      "A saved model inside of another Program, in inference and without "
                      "gradients, for distillation.")
      .def("__init__", make_teacher, nb::arg("model"), nb::arg("inputs"),
           nb::arg("name") = "teacher",
           nb::sig("def __init__(self, model: SavedModel, inputs: Mapping[str, Value], name: str = "
                   "'teacher') -> None"),
           "inputs: the values in place of the inputs of the model. name: of the layer; several "
           "teachers need several names. Raises UsageError for inputs of another type.")
      .def_prop_ro(
          "outputs", [](const Teacher& teacher) { return to_python(teacher.outputs()); },
          nb::sig("def outputs(self) -> list[Value]"))
      .def("load", &Teacher::load, nb::arg("session"),
           "Sets the parameters of the teacher in a Session of the Program or a clone of it.");
}

void add_factorization(nb::module_& m) {
  nb::class_<FactorizedWeight>(m, "FactorizedWeight", "A weight that factorize() has replaced.")
      .def_ro("name", &FactorizedWeight::name)
      .def_ro("rank", &FactorizedWeight::rank)
      .def_ro("full_rank", &FactorizedWeight::full_rank);
  nb::class_<FactorizedModel>(m, "FactorizedModel",
                              "A Program with products of low rank, and a Session with its "
                              "parameters.")
      .def_prop_ro(
          "program",
          [](const FactorizedModel& model) { return Program(model.program.shared_ir()); },
          nb::sig("def program(self) -> Program"))
      .def_prop_ro(
          "session", [](FactorizedModel& model) -> Session& { return model.session; },
          nb::rv_policy::reference_internal, nb::sig("def session(self) -> Session"))
      .def_ro("weights", &FactorizedModel::weights)
      .def_ro("parameters", &FactorizedModel::parameters, "Numbers in all parameters.");
  m.def("factorize", factorize_weights, nb::arg("program"), nb::arg("session"), nb::arg("outputs"),
        nb::arg("options"),
        nb::sig("def factorize(program: Program, session: Session, outputs: Sequence[Value], *, "
                "parameters: Sequence[str] = ('*',), energy: float = 0.95) -> FactorizedModel"),
        "A Program without updates in which weights of products and convolutions are products of "
        "two smaller ones, by their singular values. energy: share of the squared singular values "
        "that remains. Raises UsageError for outputs of another Program.");
}

void add_packing(nb::module_& m) {
  nb::class_<PackedWeight>(m, "PackedWeight", "A weight that pack_weights() has packed.")
      .def_ro("name", &PackedWeight::name)
      .def_ro("bits", &PackedWeight::bits)
      .def_ro("counts_bits", &PackedWeight::counts_bits)
      .def_ro("bytes_before", &PackedWeight::bytes_before)
      .def_ro("bytes_after", &PackedWeight::bytes_after);
  nb::class_<PackedModel>(m, "PackedModel",
                          "A Program for inference, and a Session with its parameters.")
      .def_prop_ro(
          "program", [](const PackedModel& model) { return Program(model.program.shared_ir()); },
          nb::sig("def program(self) -> Program"))
      .def_prop_ro(
          "session", [](PackedModel& model) -> Session& { return model.session; },
          nb::rv_policy::reference_internal, nb::sig("def session(self) -> Session"))
      .def_ro("weights", &PackedModel::weights)
      .def_ro("bytes", &PackedModel::bytes, "Of all parameters.");
  m.def("pack_weights", pack, nb::arg("program"), nb::arg("session"), nb::arg("outputs"),
        nb::arg("options"),
        nb::sig("def pack_weights(program: Program, session: Session, outputs: Sequence[Value], *, "
                "max_bits: int = 5, count_bits: bool = True) -> PackedModel"),
        "A Program that computes the outputs in inference, with weights of few different numbers "
        "packed into words of 32 bits, and masks folded into weights. model.program.outputs() are "
        "its outputs. max_bits: of one weight, 1 to 8. count_bits: linear layers with binary "
        "weights and binary inputs count bits. Raises UsageError for outputs of another Program.");
  m.def("product_quantize", quantize_tables, nb::arg("program"), nb::arg("session"),
        nb::arg("outputs"), nb::arg("options"),
        nb::sig("def product_quantize(program: Program, session: Session, outputs: "
                "Sequence[Value], *, parts: int, tables: Sequence[str] = ('*',), centroids: int = "
                "256, iterations: int = 25, seed: int = 1) -> PackedModel"),
        "A Program for inference in which each row of an embedding is `parts` codes of 8 bits, "
        "found by k-means. tables: patterns of names. Raises NotFoundError if a pattern matches "
        "no table, and UsageError for rows that `parts` does not divide.");
}

}  // namespace

void add_compression(nb::module_& m) {
  m.def("add_masks", add_masks_to, nb::arg("program"), nb::arg("options"),
        nb::sig("def add_masks(program: Program, *, parameters: Sequence[str] = ('*.weight',), "
                "dense_gradients: bool = False, movement: bool = False, score_rate: float = 1.0) "
                "-> list[str]"),
        "Replaces each use of a trainable float32 parameter with one of these names by its product "
        "with the parameter NAME.mask, which starts as ones. Returns the names of the weights. "
        "dense_gradients: pruned weights are trained on, for splice. movement: adds NAME.score, "
        "which replaces the sizes of weights. Raises NotFoundError if a pattern matches nothing, "
        "and UsageError for a Program that has updates already.");
  m.def("update_masks", update_masks_of, nb::arg("session"), nb::arg("options"),
        nb::sig("def update_masks(session: Session, *, sparsity: float = 0.9, global_: bool = "
                "True, keep: int = 0, of: int = 0, splice: bool = False, margin: float = 0.0) -> "
                "None"),
        "Sets the masks by the sizes of the weights, or by their scores. global_: compares the "
        "weights of all layers. keep, of: 2 of 4 adjacent weights, for example, instead of a "
        "share. splice: pruned weights can return; masks then change only beyond a margin of the "
        "limit. Raises UsageError for numbers out of range and a Program without masks.");
  m.def("mask_sparsity", &mask_sparsity, nb::arg("session"), "The share of zeros in all masks.");
  m.def("apply_masks", &apply_masks, nb::arg("session"), "Multiplies the weights by their masks.");
  nb::class_<Pruning, Callback>(
      m, "Pruning",
      "Updates masks in a training. The sparsity grows from initial_sparsity at the step `begin` "
      "to `sparsity` at the step `end`, by a cubic function (Zhu and Gupta 2017). The others are "
      "those of update_masks(). Raises UsageError for numbers out of range.")
      .def(
          "__init__",
          [](Pruning* self, const nb::kwargs& given) {
            new (self) Pruning(pruning_options(given));
          },
          nb::arg("options"),
          nb::sig("def __init__(self, *, sparsity: float = 0.9, initial_sparsity: float = 0.0, "
                  "begin: int = 0, end: int = 1000, every: int = 100, global_: bool = True, keep: "
                  "int = 0, of: int = 0, splice: bool = False, margin: float = 0.1) -> None"));
  nb::class_<Rewinding, Callback>(
      m, "Rewinding",
      "Remembers the trained parameters after a step, for the lottery ticket hypothesis (Frankle "
      "and Carbin 2019).")
      .def(nb::init<std::int64_t>(), nb::arg("step") = 0)
      .def("rewind", &Rewinding::rewind, nb::arg("session"),
           "Sets the parameters, but not the masks and the state of the optimizer. Raises "
           "UsageError if no fit has reached the step.");
  add_packing(m);
  add_factorization(m);
  add_channels(m);
  add_teacher(m);
}

}  // namespace trireme::python
