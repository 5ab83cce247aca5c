#include "tools/reduce/reducer.h"

#include "support/check.h"
#include "tools/reduce/transforms.h"

#include <algorithm>

namespace orias::reduce {

Reducer::Reducer(const std::string& ptx, const launch::Launch& launch, Oracle& oracle, const ReduceOptions& options)
    : oracle_(oracle), options_(options), source_(ptx), launch_(launch) {
  auto facts = analyse(source_.text());
  if (!facts) throw Error("the program has errors, or reads a register that was not written");
  facts_ = std::move(*facts);
}

const Facts* Reducer::factsOf(std::size_t piece) const {
  const auto found = std::find_if(facts_.begin(), facts_.end(), [&](const Facts& f) { return f.piece == piece; });
  return found == facts_.end() ? nullptr : &*found;
}

bool Reducer::offer(Source candidate) {
  return costOf(candidate) < costOf(source_) && accept(std::move(candidate), launch::Launch(launch_));
}

bool Reducer::offer(Source candidate, launch::Launch launch) {
  return accept(std::move(candidate), std::move(launch));
}

bool Reducer::accept(Source&& candidate, launch::Launch&& launch) {
  if (options_.attempts != 0 && attempts_ >= options_.attempts) return false;
  const std::string text = candidate.text();
  auto facts = analyse(text);
  if (!facts) return false;
  ++attempts_;
  if (!oracle_.fails(text, launch)) return false;
  source_ = std::move(candidate);
  launch_ = std::move(launch);
  facts_ = std::move(*facts);
  return true;
}

Reduced Reducer::run() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Pass& pass : passes()) {
      const std::string before = source_.text();
      const std::uint64_t threads = launch_.grid.count() * launch_.block.count();
      const std::size_t arguments = launch_.arguments.size();
      pass.run(*this);
      if (source_.text() == before && launch_.grid.count() * launch_.block.count() == threads &&
          launch_.arguments.size() == arguments)
        continue;
      changed = true;
      if (options_.progress) options_.progress(pass.name, source_.count(PieceKind::Instruction));
    }
  }
  return {source_.text(), launch_, source_.count(PieceKind::Instruction), attempts_};
}

Reduced reduce(const std::string& ptx, const launch::Launch& launch, Oracle& oracle, const ReduceOptions& options) {
  return Reducer(ptx, launch, oracle, options).run();
}

void minimise(std::size_t count, const std::function<bool(std::size_t first, std::size_t last)>& without) {
  for (std::size_t size = count; size > 0; size /= 2) {
    // From the end: no later code uses the last results.
    for (std::size_t last = count; last > 0;) {
      const std::size_t first = last > size ? last - size : 0;
      if (without(first, last)) count -= last - first;
      last = first;
    }
  }
}

} // namespace orias::reduce
