#include "allocation.h"

#include "regalloc/cross_file_moves.h"
#include "regalloc/live_ranges.h"
#include "regalloc/webs.h"

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;
using isa::File;

namespace {

/// Returns the text of a function whose predicates are spilled to R registers, with the n-th temporary in predicate
/// `placeOf(n)`.
template <typename F> std::string forwarded(std::string_view body, F&& placeOf) {
  const auto module = ori::test::kernel(body);
  ori::Function& function = *module->functions.front();
  SpillState state(function);
  const LiveRanges ranges(function, File::P);
  const Webs webs = buildWebs(function, File::P, ranges, {});
  for (const Web& web : webs.all)
    spillWeb(function, web, File::P, state, {.remat = false});
  state.grow(function);
  unsigned predicates = 0, others = 0;
  for (ori::VRegId v = 0; v < function.vregCount(); ++v)
    state.assignment.physical.push_back(function.vreg(v).file == File::P ? placeOf(predicates++) : others++);
  forwardCrossFileMoves(function, state);
  return text(function);
}

constexpr const char* kTwice = ".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.AND %p1, PT, %r0, 5, PT;\n"
                               " @%p1 STS [0], %r0;\n @%p1 STS [4], %r0;\n";

/// The number of moves of predicates to R (stores) and back (reloads).
unsigned stores(const std::string& text) {
  return countOf(text, "SEL ");
}
unsigned reloads(const std::string& text) {
  return countOf(text, "ISETP.NE");
}

} // namespace

TEST_CASE("a spilled predicate that its register still has does not come back, and its home is not written") {
  const std::string text = forwarded(std::string(kTwice) + " EXIT;\n", [](unsigned) { return 0u; });
  CHECK(reloads(text) == 0);
  CHECK(stores(text) == 0);
}

TEST_CASE("a spilled predicate is read where another register has it") {
  const std::string text = forwarded(std::string(kTwice) + " EXIT;\n", [](unsigned n) { return n; });
  CHECK(reloads(text) == 0);
}

TEST_CASE("a spilled predicate comes back when its register has another value") {
  const std::string text = forwarded(
      std::string(kTwice) + " ISETP.LT.AND %p2, PT, %r0, 6, PT;\n @%p2 STS [8], %r0;\n @%p1 STS [12], %r0;\n EXIT;\n",
      [](unsigned) { return 0u; });
  CHECK(reloads(text) == 1);
  CHECK(stores(text) == 1);
}

TEST_CASE("a spilled predicate comes back after a join of paths that disagree") {
  const std::string text = forwarded(".L0:\n S2R %r0, SR_TID.X;\n ISETP.LT.AND %p1, PT, %r0, 5, PT;\n"
                                     " ISETP.LT.AND %p2, PT, %r0, 6, PT;\n @%p1 BRA .L2;\n -> .L1;\n"
                                     ".L1:\n @%p2 STS [8], %r0;\n -> .L2;\n.L2:\n @%p1 STS [12], %r0;\n EXIT;\n",
                                     [](unsigned) { return 0u; });
  // For the branch, for .L1 and for .L2.
  CHECK(reloads(text) == 3);
}
