#include "tools/orias-run/engine.h"

#include "frontend/check.h"
#include "frontend/parse.h"
#include "ori/module.h"
#include "ori/parse.h"
#include "orias/orias.h"
#include "support/check.h"
#include "tools/common/files.h"
#include "tools/emulator/emulator.h"
#include "tools/engines/engines.h"
#include "tools/interpreter/interpreter.h"
#include "tools/launch/device_runtime.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace orias::run {

namespace {

class PtxEngine final : public Engine {
 public:
  PtxEngine(const std::string& path, std::string text) : text_(std::move(text)) {
    Diagnostics diagnostics(path, text_);
    module_ = ptx::parse(text_, diagnostics);
    if (!diagnostics.hasErrors()) ptx::check(*module_, {}, diagnostics);
    if (diagnostics.hasErrors()) throw Error(fmt::format("'{}' has errors:\n{}", path, diagnostics.render()));
  }
  launch::RunResult run(launch::Device& device, const launch::RunOptions& options) const override {
    return interp::run(*module_, device, options);
  }

 private:
  std::string text_;
  std::unique_ptr<ptx::Module> module_;
};

class CubinEngine final : public Engine {
 public:
  CubinEngine(std::span<const std::byte> cubin, const std::string& kernel) : program_(emu::loadCubin(cubin, kernel)) {}
  bool canTime() const override { return true; }
  launch::RunResult run(launch::Device& device, const launch::RunOptions& options) const override {
    return emu::run(program_, device, options);
  }

 private:
  emu::Program program_;
};

class OriEngine final : public Engine {
 public:
  OriEngine(const std::string& path, std::string text, const std::string& kernel) : text_(std::move(text)) {
    Diagnostics diagnostics(path, text_);
    module_ = ori::parse(text_, diagnostics);
    if (!module_) throw Error(fmt::format("'{}' has errors:\n{}", path, diagnostics.render()));
    const auto& functions = module_->functions;
    const auto found =
        std::find_if(functions.begin(), functions.end(), [&](const auto& f) { return f->name() == kernel; });
    if (found == functions.end()) throw Error(fmt::format("'{}' has no kernel '{}'", path, kernel));
    program_ = emu::loadOri(*module_, **found);
  }
  launch::RunResult run(launch::Device& device, const launch::RunOptions& options) const override {
    return emu::run(program_, device, options);
  }

 private:
  std::string text_;
  std::unique_ptr<ori::Module> module_;
  emu::Program program_;
};

/// A program that calls the device runtime is assembled as an object with all its kernels, which the emulator runs
/// without a linker.
void adapt(Options& options, const std::string& text, const std::string& kernel) {
  options.entries = {kernel};
  Diagnostics diagnostics("", text);
  const auto module = ptx::parse(text, diagnostics);
  if (!module) return;
  options.arch = engines::archOf(*module);
  options.relocatable = std::ranges::any_of(module->functions, [&](const ptx::Function& f) {
    return !f.hasBody && launch::runtimeFunction(module->text(f.name)) != nullptr;
  });
  if (options.relocatable) options.entries.clear();
}

} // namespace

std::unique_ptr<Engine> makeEngine(const std::string& path, const std::string& kernel, const Options* assembleOptions) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (assembleOptions && extension != ".ptx") throw Error(fmt::format("'{}' is not a .ptx file", path));
  if (extension != ".ptx" && extension != ".cubin" && extension != ".ori")
    throw Error(fmt::format("'{}' is neither .ptx nor .cubin nor .ori", path));
  std::string text = tools::readWholeFile(path);
  if (assembleOptions) {
    Options options = *assembleOptions;
    adapt(options, text, kernel);
    const Input input{path, text};
    const Result result = assemble(std::span(&input, 1), options);
    if (result.status == Status::InternalFault) throw InternalError(result.diagnostics);
    if (result.status != Status::Ok) throw Error(fmt::format("'{}' has errors:\n{}", path, result.diagnostics));
    return std::make_unique<CubinEngine>(result.cubin, kernel);
  }
  if (extension == ".ptx") return std::make_unique<PtxEngine>(path, std::move(text));
  if (extension == ".ori") return std::make_unique<OriEngine>(path, std::move(text), kernel);
  return std::make_unique<CubinEngine>(std::as_bytes(std::span(text)), kernel);
}

} // namespace orias::run
