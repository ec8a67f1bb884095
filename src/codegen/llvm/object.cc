#include "codegen/llvm/object.h"

#include <llvm-c/Target.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

#include "base/error.h"
#include "codegen/llvm/emitter.h"

namespace trireme::codegen {
namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
#ifdef TRIREME_LLVM_FOR_TWO  // a wheel has LLVM for these alone
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
#else
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
#endif
  });
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target) {
  initialize_llvm();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (found == nullptr) fail_usage("LLVM cannot make code for " + target.triple + ": " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a*b+c is fused only where we say fma
  options.EnableFastISel = false;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      target.triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) fail_usage("LLVM cannot make code for " + target.str());
  return machine;
}

Instructions instructions_of(const llvm::TargetMachine& machine, const Target& target) {
  const auto has = [&](const char* features) {
    return machine.getMCSubtargetInfo()->checkFeatures(features);
  };
  if (machine.getTargetTriple().isAArch64()) {
    return {.f16 = true, .dot4_neon = has("+dotprod")};
  }
  if (!machine.getTargetTriple().isX86()) return {};
  const bool wide = target.vector_bytes == 64;
  return {.f16 = has("+f16c"),
          .dot4_256 = has("+avxvnni") || (has("+avx512vnni") && has("+avx512vl")),
          .dot4_512 = wide && has("+avx512vnni"),
          .pair_sum_bytes = wide && has("+avx512bw") ? 64
                            : has("+avx2")           ? 32
                                                     : 16};
}

// Explicit vectors need little: accumulators into registers, common addresses, invariants out.
void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, functions);
  }
}

}  // namespace

struct ObjectCompiler::State {
  Target target;
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::LLVMContext context;

  std::unique_ptr<llvm::Module> module(const kernel_ir::Kernel& kernel,
                                       const std::string& symbol = kKernelSymbol) {
    auto result = std::make_unique<llvm::Module>("kernel", context);
    result->setTargetTriple(target.triple);
    result->setDataLayout(machine->createDataLayout());
    llvm::AttrBuilder attributes(context);
    attributes.addAttribute("target-cpu", target.cpu);
    attributes.addAttribute("target-features", target.features);
    attributes.addAttribute("no-builtins");
    if (target.vector_bytes == 64) attributes.addAttribute("prefer-vector-width", "512");
    Emitter(kernel, *result, instructions_of(*machine, target)).emit(symbol.c_str(), attributes);
    std::string error;
    llvm::raw_string_ostream stream(error);
    if (llvm::verifyModule(*result, &stream)) {
      fail_internal("codegen made wrong LLVM IR for kernel '" + kernel.name + "': " + error);
    }
    return result;
  }

  std::string code(llvm::Module& module, llvm::CodeGenFileType type) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, stream, nullptr, type)) {
      fail_internal("LLVM cannot write code for " + target.str());
    }
    passes.run(module);
    return {bytes.begin(), bytes.end()};
  }
};

ObjectCompiler::ObjectCompiler(const Target& target) : state_(std::make_unique<State>()) {
  state_->target = target;
  state_->machine = make_machine(target);
}

ObjectCompiler::~ObjectCompiler() = default;

std::string ObjectCompiler::compile(const kernel_ir::Kernel& kernel, const std::string& symbol) {
  const std::unique_ptr<llvm::Module> module = state_->module(kernel, symbol);
  optimize(*module, *state_->machine);
  return state_->code(*module, llvm::CodeGenFileType::ObjectFile);
}

std::string ObjectCompiler::llvm_ir(const kernel_ir::Kernel& kernel, bool optimized) {
  const std::unique_ptr<llvm::Module> module = state_->module(kernel);
  if (optimized) optimize(*module, *state_->machine);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

std::string ObjectCompiler::assembly(const kernel_ir::Kernel& kernel) {
  const std::unique_ptr<llvm::Module> module = state_->module(kernel);
  optimize(*module, *state_->machine);
  return state_->code(*module, llvm::CodeGenFileType::AssemblyFile);
}

Target host_target() {
  Target target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> names;
  for (const auto& feature : features) {
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    target.features += (target.features.empty() ? "" : ",") + name;
  }
  const bool vnni =
      features.lookup("avxvnni") || (features.lookup("avx512vnni") && features.lookup("avx512vl"));
  target.products = features.lookup("dotprod") ? Target::Products::signed_bytes
                    : vnni                     ? Target::Products::unsigned_bytes
                                               : Target::Products::pairs;
  target.vector_bytes = features.lookup("avx512f") ? 64 : features.lookup("avx2") ? 32 : 16;
  return target;
}

}  // namespace trireme::codegen
