#include "compiler/dump.h"

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace trireme::compiler {
namespace {

// Reads $TRIREME_DUMP_SIZES, "batch=7,width=3"; all other symbols have size 64.
SymbolSizes dump_sizes(const plan::Plan& plan) {
  SymbolSizes sizes;
  for (const std::string& symbol : plan.symbols) sizes[symbol] = 64;
  const char* text = std::getenv("TRIREME_DUMP_SIZES");
  for (std::string rest = text != nullptr ? text : ""; !rest.empty();) {
    const std::string item = rest.substr(0, rest.find(','));
    rest.erase(0, item.size() + 1);
    const std::size_t equals = item.find('=');
    const long size = equals == std::string::npos ? -1 : std::atol(item.c_str() + equals + 1);
    if (size < 0) fail_usage("TRIREME_DUMP_SIZES: '" + item + "' is not of the form name=size");
    sizes[item.substr(0, equals)] = size;
  }
  return sizes;
}

}  // namespace

Dump::Dump(const std::string& directory) {
  if (directory.empty()) return;
  for (int i = 0;; ++i) {
    directory_ = directory + "/compile_" + std::to_string(i);
    if (!std::filesystem::exists(directory_)) break;
  }
  make_directories(directory_);
}

void Dump::write(const std::string& name, const std::string& text) {
  if (directory_.empty()) return;
  const std::string number = (count_ < 10 ? "0" : "") + std::to_string(count_);
  ++count_;
  write_file_atomically(directory_ + "/" + number + "_" + name + ".txt", text);
}

void Dump::program(const std::string& after, const ir::Program& program) {
  if (!directory_.empty()) write("program_" + after, ir::print(program));
}

void Dump::groups(const ir::Program&, const std::vector<Group>& groups) {
  if (directory_.empty()) return;
  std::string text;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    text += "group " + std::to_string(g) + (group.library ? " library" : "");
    if (!group.library) {
      text += " over [";
      for (std::size_t i = 0; i < group.domain.shape.size(); ++i) {
        text += (i > 0 ? ", " : "") + group.domain.shape[i].str();
        if (group.domain.reduced[i]) text += " reduced";
      }
      text += "]";
    }
    text += "\n";
    for (const ir::Op* op : group.ops) {
      text += "  " +
              (op->results.empty() ? std::string() : ir::name_in_text(op->result()) + " = ") +
              op->name() + "(";
      for (std::size_t i = 0; i < op->operands.size(); ++i) {
        text += (i > 0 ? ", " : "") + ir::name_in_text(op->operands[i]);
      }
      text += ")  // " + op->location.str() + "\n";
    }
  }
  write("groups", text);
}

void Dump::plan(const plan::Plan& plan) {
  if (directory_.empty()) return;
  std::string kernels;
  for (const plan::Kernel& kernel : plan.kernels) kernels += kernel.text + "\n";
  write("kernels", kernels);
  write("plan", plan::print(plan));
  write("memory_map", plan::print_memory_map(plan, dump_sizes(plan)));
}

}  // namespace trireme::compiler
