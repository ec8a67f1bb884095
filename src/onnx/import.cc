#include <filesystem>
#include <memory>
#include <utility>

#include "base/file.h"
#include "onnx/importer.h"
#include "onnx/proto.h"
#include "onnx/tensor.h"
#include "trireme/onnx.h"

namespace trireme::onnx {
namespace {

ImportedModel import_from(std::string bytes, const std::string& name,
                          std::optional<std::string> folder, const ImportOptions& options) {
  const Model model = parse_model(std::make_shared<const std::string>(std::move(bytes)), name);
  ExternalFiles files(std::move(folder));
  return Importer(model, files, options).run();
}

}  // namespace

ImportedModel import_model(const std::string& path, const ImportOptions& options) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return import_from(read_file(path), path, folder.empty() ? "." : folder, options);
}

ImportedModel import_bytes(std::string_view bytes, const ImportOptions& options) {
  return import_from(std::string(bytes), "the model", std::nullopt, options);
}

}  // namespace trireme::onnx
