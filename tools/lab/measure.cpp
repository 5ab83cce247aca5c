#include "tools/lab/measure.h"

#include "encoder/cubin/cubin.h"
#include "orias/orias.h"
#include "support/check.h"
#include "tools/common/files.h"
#include "tools/engines/engines.h"
#include "tools/launch/launch.h"
#include "tools/orias/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <sys/resource.h>

namespace orias::lab {

using nlohmann::json;

namespace {

constexpr unsigned kInstructionBytes = 16;
constexpr std::array<std::string_view, 7> kStates = {"done",        "refused",       "wrong", "not run",
                                                     "out of time", "out of memory", "fault"};

struct Usage {
  double seconds = 0;
  std::uint64_t peakKilobytes = 0;
};

Usage usageOf(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<std::uint64_t>(usage.ru_maxrss)};
}

struct Assembled {
  engines::Verdict verdict;
  std::vector<std::byte> cubin;
};

Assembled assembleWithOrias(const Job& job, const std::string& ptx, Measurement& found) {
  std::vector<std::string> words = job.options;
  words.push_back("-arch=" + job.chip);
  for (const std::string& knob : job.knobs)
    words.insert(words.end(), {"--knob", knob});
  for (const std::string& phase : job.disabled)
    words.push_back("--disable-phase=" + phase);
  if (!job.swapped.empty()) words.push_back(fmt::format("--swap-phases={}", fmt::join(job.swapped, ",")));
  words.push_back(job.ptxFile);
  const driver::CommandLine line = driver::parseCommandLine(words);
  const Input input{job.ptxFile, ptx};
  Result result = orias::assemble({&input, 1}, line.options);
  if (result.status != Status::Ok)
    return {{result.status == Status::InternalFault ? engines::Outcome::Fault : engines::Outcome::Rejected,
             result.diagnostics},
            {}};
  for (const FunctionReport& report : result.statistics.functions)
    found.functions.push_back({report.name, report.isKernel, report.registers, report.uniformRegisters, report.barriers,
                               report.instructions, std::uint64_t{report.instructions} * kInstructionBytes,
                               report.sharedBytes, report.frameBytes, report.spillStoreBytes + report.spillLoadBytes});
  return {{}, std::move(result.cubin)};
}

Assembled assembleWithPtxas(const Job& job, const std::string& ptx, Measurement& found) {
  std::string options = "-arch=" + job.chip;
  for (const std::string& word : job.options)
    options += fmt::format(" '{}'", word);
  engines::Compiled compiled = engines::assembleWithPtxas(ptx, options);
  if (!compiled.verdict.isGood()) return {compiled.verdict, {}};
  for (const cubin::Function& function : cubin::read(compiled.cubin).functions)
    found.functions.push_back({function.name, function.isEntry, function.registerCount, 0, function.barrierCount,
                               static_cast<unsigned>(function.code.size() / kInstructionBytes), function.code.size(),
                               function.staticSharedSize, function.frameSize, 0});
  return {{}, std::move(compiled.cubin)};
}

/// A hash that is equal for cubins that behave the same. Notes and debug information are excluded.
std::string codeHash(std::span<const std::byte> cubin) {
  std::string all;
  const auto add = [&](std::span<const std::byte> bytes) {
    all += fmt::format("{}:", bytes.size());
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  for (const cubin::Function& function : cubin::read(cubin).functions) {
    all += fmt::format("{} {} {} {} {}:", function.name, function.registerCount, function.barrierCount,
                       function.frameSize, function.staticSharedSize);
    add(function.code);
    add(function.constant2);
  }
  return hashOf(all);
}

double figure(const launch::RunResult& result, std::string_view name) {
  const auto at = std::ranges::find(result.stats, name, &std::pair<std::string, double>::first);
  return at == result.stats.end() ? 0 : at->second;
}

} // namespace

std::string_view stateName(State state) {
  return kStates.at(static_cast<std::size_t>(state));
}

State parseState(std::string_view name) {
  const auto at = std::ranges::find(kStates, name);
  ORIAS_CHECK(at != kStates.end(), std::string(name));
  return static_cast<State>(at - kStates.begin());
}

void measureLaunch(const Job& job, std::string_view ptx, std::span<const std::byte> cubin, Measurement& found) {
  const launch::Launch launch = launch::readLaunchFile(job.launchFile);
  launch::RunOptions options;
  options.instructionBudget = job.limits.instructions;
  launch::Device wanted(launch), got(launch);
  const auto fail = [&](State state, std::string_view who, const engines::Verdict& verdict) {
    found.state = state;
    found.message = fmt::format("{}: {}", who, verdict.reason);
  };
  if (const engines::Verdict verdict = engines::interpret(ptx, wanted, options); !verdict.isGood())
    return fail(State::NotRun, "PTX interpreter", verdict);
  options.stats = options.fullMachine = true;
  launch::RunResult result;
  if (const engines::Verdict verdict = engines::emulate(cubin, got, options, &result); !verdict.isGood())
    return fail(State::NotRun, "emulator", verdict);
  if (const engines::Verdict verdict = engines::compare(got, wanted); !verdict.isGood())
    return fail(State::Wrong, "memory", verdict);
  found.executed = static_cast<double>(result.warpInstructions);
  found.cycles = figure(result, "estimated cycles");
  found.fullMachineCycles = figure(result, "full machine: cycles per block");
  found.residentWarps = figure(result, "full machine: resident warps");
}

Measurement measure(const Job& job) {
  Measurement found;
  try {
    const std::string ptx = tools::readWholeFile(job.ptxFile);
    const bool isPtxas = job.assembler == Assembler::Ptxas;
    const Usage before = usageOf(isPtxas ? RUSAGE_CHILDREN : RUSAGE_SELF);
    const Assembled assembled = isPtxas ? assembleWithPtxas(job, ptx, found) : assembleWithOrias(job, ptx, found);
    const Usage after = usageOf(isPtxas ? RUSAGE_CHILDREN : RUSAGE_SELF);
    found.cpuSeconds = after.seconds - before.seconds;
    found.peakKilobytes = after.peakKilobytes;
    if (!assembled.verdict.isGood()) {
      found.state = assembled.verdict.outcome == engines::Outcome::Fault ? State::Fault : State::Refused;
      found.message = assembled.verdict.reason;
      return found;
    }
    found.state = State::Done;
    found.code = codeHash(assembled.cubin);
    if (!job.launchFile.empty()) measureLaunch(job, ptx, assembled.cubin, found);
  } catch (const Error& error) {
    found.state = State::Refused;
    found.message = error.what();
  } catch (const std::bad_alloc&) {
    found.state = State::OutOfMemory;
    found.message = fmt::format("more than {} megabytes", job.limits.megabytes);
  } catch (const std::exception& error) {
    found.state = State::Fault;
    found.message = error.what();
  }
  return found;
}

std::string writeMeasurement(const Measurement& m) {
  json functions = json::array();
  for (const FunctionFigures& f : m.functions)
    functions.push_back({{"name", f.name},
                         {"kernel", f.isKernel},
                         {"registers", f.registers},
                         {"uniform", f.uniformRegisters},
                         {"barriers", f.barriers},
                         {"instructions", f.instructions},
                         {"code", f.codeBytes},
                         {"shared", f.sharedBytes},
                         {"frame", f.frameBytes},
                         {"spills", f.spillBytes}});
  return json{{"state", stateName(m.state)},
              {"message", m.message},
              {"seconds", m.cpuSeconds},
              {"kilobytes", m.peakKilobytes},
              {"functions", functions},
              {"executed", m.executed},
              {"code", m.code},
              {"cycles", m.cycles},
              {"full", m.fullMachineCycles},
              {"warps", m.residentWarps}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Measurement parseMeasurement(std::string_view text) {
  const json from = json::parse(text);
  Measurement m;
  m.state = parseState(from.at("state").get<std::string>());
  m.message = from.at("message");
  m.cpuSeconds = from.at("seconds");
  m.peakKilobytes = from.at("kilobytes");
  for (const json& f : from.at("functions"))
    m.functions.push_back({f.at("name"), f.at("kernel"), f.at("registers"), f.at("uniform"), f.at("barriers"),
                           f.at("instructions"), f.at("code"), f.at("shared"), f.at("frame"), f.at("spills")});
  m.code = from.at("code");
  m.executed = from.at("executed");
  m.cycles = from.at("cycles");
  m.fullMachineCycles = from.at("full");
  m.residentWarps = from.at("warps");
  return m;
}

} // namespace orias::lab
