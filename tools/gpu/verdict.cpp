#include "tools/gpu/verdict.h"

#include <fmt/format.h>
#include <string_view>

namespace orias::gpu {

namespace {

std::string textOf(const launch::Mismatch& m, std::string_view than) {
  return fmt::format("    {}[{}] is {}, {} {}; {} elements differ\n", m.buffer, m.index, m.got, than, m.wanted,
                     m.count);
}

} // namespace

Verdict judge(const launch::Device& device, const launch::RunResult& result, const launch::Device* reference) {
  Verdict verdict;
  if (!launch::endedAsExpected(device.launch, result)) {
    verdict.text = result.reports.empty() ? "completed, should not" : result.reports[0].kind;
    if (!result.reports.empty()) verdict.details = fmt::format("    {}\n", result.reports[0].text);
    return verdict;
  }
  verdict.good = true;
  verdict.text = "as expected";
  if (!result.completed) return verdict;
  for (const launch::Mismatch& m : launch::checkExpected(device)) {
    verdict.good = false;
    verdict.text = "wrong results";
    verdict.details += textOf(m, "should be");
  }
  if (!reference) return verdict;
  for (const launch::Mismatch& m : launch::compare(device, *reference)) {
    verdict.good = false;
    if (verdict.details.empty()) verdict.text = "not as interpreted";
    verdict.details += textOf(m, "and the PTX interpreter has");
  }
  return verdict;
}

Verdict judge(const launch::Device& device, const GpuRun& run, const launch::Device* reference) {
  Verdict verdict = judge(device, run.result, reference);
  for (const std::string& stray : run.strays) {
    if (verdict.good) verdict.text = "stray writes";
    verdict.good = false;
    verdict.details += fmt::format("    {}\n", stray);
  }
  return verdict;
}

} // namespace orias::gpu
