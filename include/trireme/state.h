#pragma once

// The parameters of a Session by name, as in PyTorch: copied out, stored in safetensors files, and
// loaded again, also from the names and layouts of PyTorch.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/session.h"
#include "trireme/tensor.h"

namespace trireme {

// Tensors by name, in the order of their names.
using StateDict = std::map<std::string, Tensor>;

// Copies of the parameters of the network, of any dtype and shape, by their names in the Program:
// "encoder/linear_0.weight". Running statistics are included; the state of optimizers is not, which
// checkpoints contain (trireme/checkpoint.h). A parameter without a value gets its first one.
// Errors: data, if the parameters need more than SessionOptions::max_bytes.
TRIREME_API StateDict state_dict(const Session& session);

// The names, shapes and orders of the elements in a StateDict.
enum class Layout : std::uint8_t {
  trireme,  // those of state_dict()
  torch,    // those of torch.nn.Module.state_dict()
};

struct LoadOptions {
  bool strict = true;  // every parameter needs a tensor, and every tensor a parameter
  Layout layout = Layout::trireme;
  // Paths of modules in the StateDict, and the layers of the Program that they are: {"encoder",
  // "transformer_encoder_0"}. Empty paths are everything: {"", "resnet_0"} for a StateDict of one
  // layer. The innermost layer that is listed counts. Other layers have the path of their module,
  // which PyTorch writes with dots: the layer "decoder/fc" is its module "decoder.fc".
  std::map<std::string, std::string> modules = {};
};

// Names that did not match, sorted.
struct LoadReport {
  std::vector<std::string> missing;     // tensors that parameters need
  std::vector<std::string> unexpected;  // tensors that no parameter needs
};

// Sets the parameters of the network. Their Tensors must have the dtype and shape of the
// parameters, or those that PyTorch has for them. Without `strict`, parameters without their
// tensors keep their values. Loads nothing if there is an error. Optimizer state does not change.
//
// Layout::torch is for networks that functions of trireme::nn and trireme::models built. The
// weights of linear and recurrent layers are transposed, the two biases of recurrent layers are
// added, and in_proj_weight of attention is split. Blocks of Transformers have the names of
// torch.nn.TransformerEncoder and TransformerDecoder. models::resnet (depths 18, 34, 50, 101 and
// 152), models::vgg and models::mobilenet_v2 have those of torchvision.
// Errors: usage, which lists missing and unexpected names, and Tensors of another dtype or shape;
// for an entry of `modules` that is no layer with parameters; for Layout::torch and a Program that
// was parsed, such as that of a saved model, because its text has no names of PyTorch. data, as
// state_dict().
TRIREME_API LoadReport load_state_dict(Session& session, const StateDict& tensors,
                                       const LoadOptions& options = {});

// Writes Tensors of any dtype and shape, and texts, to a safetensors file
// (https://huggingface.co/docs/safetensors). Atomic: a reader sees the old file or the new one.
// Errors: usage, for a name that is not UTF-8 or is "__metadata__"; io.
TRIREME_API void save_safetensors(const std::string& path, const StateDict& tensors,
                                  const std::map<std::string, std::string>& metadata = {});

// Reads all Tensors of a safetensors file and, if `metadata` is not null, its texts. The dtypes
// BOOL, U8 to U64, I8 to I64, F32, F64, BF16 and F16 become those of the same name.
// Errors: not_found; io; data, for a damaged file, and for a tensor of another dtype, which the
// message names.
TRIREME_API StateDict load_safetensors(const std::string& path,
                                       std::map<std::string, std::string>* metadata = nullptr);

}  // namespace trireme
