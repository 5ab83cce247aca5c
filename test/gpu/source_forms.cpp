#include "test/forms/kernel.h"
#include "test/gpu/compile.h"
#include "test/gpu/sources.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace orias::gpu {

namespace {

/// Sufficient for all of these kernels.
constexpr std::uint64_t kBudget = 5'000'000;

/// The family of "mad.lo.cc.u32" is "mad".
std::string familyOf(const forms::Statement& statement) {
  return std::string(ptx::opName(statement.form.op));
}

/// Only some of the doubtful forms are used, because there are many, with large buffers.
constexpr std::size_t kDoubtfulStride = 4;

/// The layout of tensor maps is an assumption where ptxas' code does not show it.
bool isDoubtful(const std::string& opcode) {
  return opcode.find("tensor") != std::string::npos;
}

} // namespace

void formCases(const SourceOptions& options, bool firstOnly, const Sink& sink) {
  constexpr const char* kArch = "sm_90a";
  std::vector<forms::Statement> statements;
  forms::forEachStatement([&](forms::Statement statement) { statements.push_back(std::move(statement)); });

  // Only after a case is generated it is known whether it is the first of its family that can be run.
  std::set<std::string> families;
  std::vector<unsigned> numbers(statements.size());
  std::map<std::string, unsigned> counts;
  for (std::size_t i = 0; i < statements.size(); ++i)
    numbers[i] = counts[statements[i].opcode]++;

  inParallel(statements.size(), options.threads, [&](std::size_t i) -> std::function<void()> {
    const forms::Statement& statement = statements[i];
    const std::string family = familyOf(statement);
    if (firstOnly && families.count(family)) return nullptr; // families only grows between two windows
    if (!firstOnly && options.stride > 1 && i % options.stride != 0) return nullptr;
    if (!forms::whyNotAlone(statement).empty()) return nullptr;
    if (isDoubtful(statement.opcode) && i % kDoubtfulStride != 0) return nullptr;
    forms::Kernel kernel = forms::kernelFor(statement, kArch, 1);
    if (!kernel.launch.textures.empty() || !kernel.launch.multicasts.empty()) return nullptr;
    Case c;
    c.name = numbers[i] == 0 ? statement.opcode : fmt::format("{} {}", statement.opcode, numbers[i] + 1);
    c.family = family;
    c.text = statement.text;
    c.launch = std::move(kernel.launch);
    c.group = firstOnly                      ? "families"
              : isDoubtful(statement.opcode) ? "doubtful"
              : !c.launch.stops.empty()      ? "stops"
                                             : "forms";
    std::string why;
    const bool isGood = addMemory(c, kernel.text, kBudget, why) &&
                        addCandidates(c, kernel.text, {kArch, 3, false, options.withPtxas}, why);
    if (!isGood) // the target does not have the form, or our checks reject it
      return [&sink, group = c.group, name = c.name, why] { sink.leave(group, name, why); };
    if (firstOnly && (!c.launch.stops.empty() || isDoubtful(statement.opcode))) return nullptr;
    return [&families, &sink, firstOnly, c = std::move(c)]() mutable {
      if (firstOnly && !families.insert(c.family).second) return;
      sink.take(std::move(c));
    };
  });
}

} // namespace orias::gpu
