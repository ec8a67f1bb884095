// A Loader on LLVM's ORC.

#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>

#include <mutex>

#include "base/error.h"
#include "codegen/llvm/loader.h"
#include "codegen/llvm/object.h"

namespace trireme::codegen {
namespace {

template <class T>
T take(llvm::Expected<T> expected) {
  if (!expected) fail_internal("loading a kernel: " + llvm::toString(expected.takeError()));
  return std::move(*expected);
}

class OrcLoader : public Loader {
 public:
  explicit OrcLoader(const Target& target) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(target.triple)};
    jit_ = take(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create());
  }

  KernelFunction load(const std::string& object) override {
    const std::lock_guard lock(mutex_);
    // Every object defines the same name, so each has a library of its own.
    auto created = jit_->createJITDylib("kernel" + std::to_string(count_++));
    if (!created) fail_internal("loading a kernel: " + llvm::toString(created.takeError()));
    llvm::orc::JITDylib& library = *created;
    library.addGenerator(take(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        jit_->getDataLayout().getGlobalPrefix())));
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object);
    if (llvm::Error error = jit_->addObjectFile(library, std::move(buffer))) {
      fail_internal("loading a kernel: " + llvm::toString(std::move(error)));
    }
    return take(jit_->lookup(library, kKernelSymbol)).toPtr<KernelFunction>();
  }

 private:
  std::mutex mutex_;
  int count_ = 0;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace

std::unique_ptr<Loader> make_orc_loader(const Target& target) {
  return std::make_unique<OrcLoader>(target);
}

}  // namespace trireme::codegen
