#include "tools/c_api/orias_c.h"

#include "orias/orias.h"
#include "support/check.h"
#include "tools/orias/command_line.h"
#include "tools/orias/report.h"

#include <fmt/format.h>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

struct orias_result {
  orias::Result result;
  std::string usage;
  std::string statistics;
};

namespace {

using orias::driver::CommandLine;
using Json = nlohmann::ordered_json;

constexpr std::string_view kStandardOutput = "-";

/// Throws UsageError for options that require files or a terminal.
void rejectFileOptions(const CommandLine& line) {
  auto reject = [](std::string_view option) {
    throw orias::driver::UsageError(fmt::format("option '{}' is for the program only", option));
  };
  using enum CommandLine::Action;
  // A command line without inputs is parsed as a request for help.
  if (line.action != Assemble && line.action != Help) reject("--version, --list-version, --list-phases, --list-knobs");
  if (!line.inputs.empty())
    throw orias::driver::UsageError(
        fmt::format("'{}' is not an option; the inputs are given as text", line.inputs.front().name));
  if (line.outputFile != CommandLine().outputFile) reject("--output-file");
  if (line.listingFile && *line.listingFile != kStandardOutput) reject("--listing=FILE");
  if (!line.sassFile.empty()) reject("--sso");
  if (!line.remarksFile.empty() && line.remarksFile != kStandardOutput) reject("--remarks=FILE");
  if (!line.kernelInfoFile.empty() && line.kernelInfoFile != kStandardOutput) reject("--kernel-info=FILE");
  if (!line.reportFile.empty() || !line.reportLaunch.empty()) reject("--report");
  if (!line.reproduceDirectory.empty()) reject("--reproduce");
  if (!line.checkEachLaunch.empty()) reject("--check-each");
  if (!line.checkUniformLaunch.empty()) reject("--check-uniform");
  if (!line.reportFile.empty()) reject("--report");
}

Json frameJson(const orias::FunctionReport& function) {
  Json objects = Json::array();
  for (const orias::FrameObjectReport& o : function.frame)
    objects.push_back({{"name", o.name},
                       {"offset", o.offset},
                       {"size", o.size},
                       {"align", o.align},
                       {"dead", o.isDead},
                       {"spill_slot", o.isSpillSlot},
                       {"category", o.category}});
  return objects;
}

std::string statisticsJson(const orias::Statistics& all) {
  Json functions = Json::array();
  for (const orias::FunctionReport& f : all.functions)
    functions.push_back({{"name", f.name},
                         {"kernel", f.isKernel},
                         {"registers", f.registers},
                         {"uniform_registers", f.uniformRegisters},
                         {"barriers", f.barriers},
                         {"instructions", f.instructions},
                         {"shared_bytes", f.sharedBytes},
                         {"constant_bytes", f.constantBytes},
                         {"frame_bytes", f.frameBytes},
                         {"stack_bytes", f.stackBytes},
                         {"unknown_stack", f.hasUnknownStack},
                         {"frame", frameJson(f)},
                         {"spill_store_bytes", f.spillStoreBytes},
                         {"spill_load_bytes", f.spillLoadBytes},
                         {"rematerialised", f.rematerialised},
                         {"threads_per_block", f.threadsPerBlock},
                         {"warps", f.warps},
                         {"max_warps", f.maxWarps},
                         {"limited_by", f.limitedBy}});
  const Json json = {{"functions", std::move(functions)},
                     {"global_bytes", all.globalBytes},
                     {"constant_bytes", all.constantBytes},
                     {"address_bytes", all.addressBytes}};
  return json.dump();
}

void addMessage(orias::Result& result, orias::Message::Kind kind, const std::string& text) {
  const bool isError = kind == orias::Message::Kind::Error;
  result.diagnostics += fmt::format("orias: {}: {}\n", isError ? "error" : "warning", text);
  result.messages.push_back({kind, {}, 0, 0, text, {}});
  ++(isError ? result.errorCount : result.warningCount);
}

orias_status assemble(std::span<const orias::Input> inputs, std::span<const std::string> words, orias_result& out) {
  const CommandLine line = orias::driver::parseCommandLine(words);
  rejectFileOptions(line);
  orias::Result result = orias::assemble(inputs, line.options);
  if (!line.options.disableWarnings)
    for (const std::string& warning : line.warnings)
      addMessage(result, line.options.warningsAreErrors ? orias::Message::Kind::Error : orias::Message::Kind::Warning,
                 warning);
  const std::string usage = orias::driver::usageWarnings(result, line.options);
  result.diagnostics += usage;
  const bool isRejected = line.options.warningsAreErrors && (result.errorCount != 0 || !usage.empty());
  if (isRejected && result.status == orias::Status::Ok) {
    result.status = orias::Status::InputErrors;
    result.cubin.clear();
  }
  if (!result.cubin.empty()) {
    if (line.verbose) out.usage = orias::driver::verboseReport(result, line.options);
    out.statistics = statisticsJson(result.statistics);
  }
  out.result = std::move(result);
  switch (out.result.status) {
  case orias::Status::Ok: return ORIAS_OK;
  case orias::Status::InputErrors: return ORIAS_INPUT_ERRORS;
  case orias::Status::InternalFault: break;
  }
  return ORIAS_INTERNAL_FAULT;
}

/// Runs `body`; exceptions become a status and a message of the result.
template <typename Body> orias_status guarded(orias_result** result, const Body& body) noexcept {
  orias_result* out = new (std::nothrow) orias_result;
  *result = out;
  if (!out) return ORIAS_OUT_OF_MEMORY;
  try {
    try {
      return body(*out);
    } catch (const orias::Error& e) {
      addMessage(out->result, orias::Message::Kind::Error, e.what());
      return ORIAS_OPTION_ERRORS;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      addMessage(out->result, orias::Message::Kind::Error, fmt::format("internal error: {}", e.what()));
      return ORIAS_INTERNAL_FAULT;
    }
  } catch (...) {
    delete out;
    *result = nullptr;
    return ORIAS_OUT_OF_MEMORY;
  }
}

const std::string* textOf(const orias_result& out, orias_text which) {
  switch (which) {
  case ORIAS_TEXT_DIAGNOSTICS: return &out.result.diagnostics;
  case ORIAS_TEXT_LISTING: return &out.result.listing;
  case ORIAS_TEXT_REMARKS: return &out.result.remarks;
  case ORIAS_TEXT_KERNEL_INFO: return &out.result.kernelInfo;
  case ORIAS_TEXT_PHASES: return &out.result.phaseText;
  case ORIAS_TEXT_USAGE: return &out.usage;
  case ORIAS_TEXT_STATISTICS: return &out.statistics;
  }
  return nullptr;
}

orias_severity severityOf(orias::Message::Kind kind) {
  switch (kind) {
  case orias::Message::Kind::Error: return ORIAS_ERROR;
  case orias::Message::Kind::Warning: return ORIAS_WARNING;
  case orias::Message::Kind::Note: break;
  }
  return ORIAS_NOTE;
}

} // namespace

const char* orias_version(void) {
  return ORIAS_VERSION;
}

unsigned orias_c_api_version(void) {
  return ORIAS_C_API_VERSION;
}

const char* const* orias_ptx_versions(size_t* count) {
  static const std::vector<const char*> versions = [] {
    std::vector<const char*> names;
    for (const std::string_view version : orias::driver::acceptedPtxVersions())
      names.push_back(version.data()); // string literals
    return names;
  }();
  if (count) *count = versions.size();
  return versions.data();
}

orias_status orias_assemble(const char* ptx, size_t bytes, const char* const* options, size_t option_count,
                            orias_result** result) {
  const orias_input input = {nullptr, ptx, bytes};
  return orias_assemble_inputs(&input, 1, options, option_count, result);
}

orias_status orias_assemble_inputs(const orias_input* inputs, size_t input_count, const char* const* options,
                                   size_t option_count, orias_result** result) {
  if (!result) return ORIAS_INVALID_ARGUMENT;
  *result = nullptr;
  if (!inputs || input_count == 0 || (!options && option_count != 0)) return ORIAS_INVALID_ARGUMENT;
  for (size_t i = 0; i < input_count; ++i)
    if (!inputs[i].text) return ORIAS_INVALID_ARGUMENT;
  for (size_t i = 0; i < option_count; ++i)
    if (!options[i]) return ORIAS_INVALID_ARGUMENT;
  return guarded(result, [&](orias_result& out) {
    std::vector<orias::Input> modules;
    modules.reserve(input_count);
    for (const orias_input& input : std::span(inputs, input_count))
      modules.push_back({input.name ? input.name : "<input>", {input.text, input.bytes}});
    const std::vector<std::string> words(options, options + option_count);
    return assemble(modules, words, out);
  });
}

void orias_result_free(orias_result* result) {
  delete result;
}

const void* orias_result_cubin(const orias_result* result, size_t* bytes) {
  const bool has = result && !result->result.cubin.empty();
  if (bytes) *bytes = has ? result->result.cubin.size() : 0;
  return has ? result->result.cubin.data() : nullptr;
}

const char* orias_result_text(const orias_result* result, orias_text which, size_t* bytes) {
  const std::string* text = result ? textOf(*result, which) : nullptr;
  if (bytes) *bytes = text ? text->size() : 0;
  return text ? text->c_str() : nullptr;
}

size_t orias_result_message_count(const orias_result* result) {
  return result ? result->result.messages.size() : 0;
}

orias_status orias_result_message(const orias_result* result, size_t index, orias_message* message) {
  if (!message || index >= orias_result_message_count(result)) return ORIAS_INVALID_ARGUMENT;
  const orias::Message& found = result->result.messages[index];
  *message = {severityOf(found.kind), found.input.c_str(), found.line,
              found.column,           found.text.c_str(),  found.hint.c_str()};
  return ORIAS_OK;
}
