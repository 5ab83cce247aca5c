#include "orias/compilation.h"

#include "encoder/isa/target.h"
#include "frontend/check_instr.h"
#include "frontend/parse.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias {

namespace {

/// The diagnostics that are shown: without warnings, or with warnings as errors, if so asked.
Diagnostics filtered(const Diagnostics& all, std::string_view text, const Options& options) {
  Diagnostics shown(all.fileName(), text);
  for (const Diagnostic& d : all.all()) {
    switch (d.severity) {
    case Severity::Error: shown.error(d.loc, d.message, d.hint); break;
    case Severity::Warning:
      if (options.disableWarnings) break;
      if (options.warningsAreErrors)
        shown.error(d.loc, d.message, d.hint);
      else
        shown.warning(d.loc, d.message, d.hint);
      break;
    case Severity::Note:
    case Severity::Remark: shown.note(d.loc, d.message); break;
    }
  }
  return shown;
}

} // namespace

Compilation::Compilation(std::span<const Input> inputs, const Options& options) : options_(options) {
  auto arch = isa::Target::parse(options.arch);
  if (!arch) throw Error(fmt::format("the architecture '{}' is not supported", options.arch));
  target_ = arch->target;
  checkOnly_ = arch->isVirtual;
  sources_.reserve(inputs.size());
  for (const Input& input : inputs)
    sources_.push_back({&input, Diagnostics(input.name, input.text), nullptr});
}

Compilation::~Compilation() = default;

template <typename Work> void Compilation::stage(const char* name, Work&& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  result_.times.push_back({name, took.count()});
}

Result Compilation::run() {
  stage("parse", [&] {
    for (Source& source : sources_)
      source.module = ptx::parse(source.input->text, source.diags);
  });
  stage("check", [&] {
    ptx::CheckOptions options;
    options.arch = {static_cast<std::uint16_t>(target_->smVersion()), target_->isArchSpecific() ? 'a' : '\0'};
    // A module with syntax errors is incomplete; checking it would blame the user for what is missing.
    for (Source& source : sources_)
      if (!source.diags.hasErrors()) ptx::checkInstructions(*source.module, options, source.diags);
  });
  if (!checkOnly_ && !sources_.empty() && !sources_.front().diags.hasErrors())
    sources_.front().diags.error({}, "not supported yet: machine code; -arch=compute_90 parses and checks");
  collectDiagnostics();
  return std::move(result_);
}

void Compilation::collectDiagnostics() {
  for (const Source& source : sources_) {
    Diagnostics shown = filtered(source.diags, source.input->text, options_);
    result_.diagnostics += shown.render();
    result_.errorCount += shown.errorCount();
    for (const Diagnostic& d : shown.all())
      result_.warningCount += d.severity == Severity::Warning;
  }
  if (result_.errorCount) result_.status = Status::InputErrors;
}

Result assemble(std::span<const Input> inputs, const Options& options) {
  return Compilation(inputs, options).run();
}

Result assemble(std::string_view ptx, const Options& options) {
  Input input{"<input>", ptx};
  return assemble({&input, 1}, options);
}

} // namespace orias
