#include "tools/orias-run/progress.h"

#include "tools/common/program.h"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace orias::run {

namespace {
constexpr auto kStep = std::chrono::seconds(1);
constexpr const char* kEraseLine = "\r\033[K";
} // namespace

bool ProgressLine::isTerminal() {
  return isatty(fileno(stderr)) != 0;
}

ProgressLine::ProgressLine(const launch::Launch& launch)
    : launch_(launch), overwrites_(isTerminal()), start_(std::chrono::steady_clock::now()), last_(start_) {}

ProgressLine::~ProgressLine() {
  if (overwrites_ && isShown_) tools::print(stderr, kEraseLine);
}

void ProgressLine::tell(std::uint64_t threadInstructions, std::uint64_t ctas) {
  const Time now = std::chrono::steady_clock::now();
  if (now - last_ < kStep) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double millions = static_cast<double>(threadInstructions) * 1e-6;
  tools::print(stderr,
               fmt::format("{}{}: CTA {} of {}, {:.0f} million thread instructions in {:.0f} s, {:.0f} million/s{}",
                           overwrites_ ? kEraseLine : "", launch_.name, ctas, launch_.grid.count(), millions, seconds,
                           millions / seconds, overwrites_ ? "" : "\n"));
  isShown_ = true;
}

} // namespace orias::run
