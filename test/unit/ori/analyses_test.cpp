// The analyses that a function caches: reused while they are valid, recomputed after a change, and never stale.

#include "ori/analysis/analyses.h"

#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "random_function.h"
#include "support/check.h"

using namespace orias;
using namespace orias::ori;

namespace {

constexpr std::string_view kLoop =
    "  reg %r2:2;\n"
    ".L0:\n  S2R %r0, SR_TID.X;\n  IMAD.WIDE %r2:2, %r0, 4, RZ:2;\n  MOV %r4, 0;\n  -> .L1;\n"
    ".L1:\n  IADD3 %r4, %r4, %r0, RZ;\n  ISETP.LT.AND %p5, PT, %r4, 100, PT;\n"
    "  @%p5 BRA .L1;\n  -> .L2;\n"
    ".L2:\n  IADD3 %r6, %r2.0, %r2.1, %r4;\n  STS [RZ], %r6;\n  EXIT;\n";

/// Requests all of them.
void askAll(const Function& f) {
  Analyses& analyses = f.analyses();
  analyses.loops();
  analyses.postDominators();
  analyses.pressure();
  analyses.divergence();
}

std::size_t computed(const Function& f, AnalysisKind kind) {
  const auto& builds = f.analyses().builds();
  return static_cast<std::size_t>(
      std::count_if(builds.begin(), builds.end(), [&](const Analyses::Build& b) { return b.kind == kind; }));
}

} // namespace

TEST_CASE("analyses: kept while nothing changes") {
  const auto module = test::kernel(kLoop);
  const Function& f = *module->functions[0];
  askAll(f);
  const Liveness* liveness = &f.analyses().liveness();
  askAll(f);
  CHECK(&f.analyses().liveness() == liveness);
  for (std::size_t kind = 0; kind < kAnalysisCount; ++kind)
    CHECK(computed(f, static_cast<AnalysisKind>(kind)) == 1);
}

TEST_CASE("analyses: a change of code keeps control flow, dominators and loops") {
  const auto module = test::kernel(kLoop);
  Function& f = *module->functions[0];
  askAll(f);
  const Liveness& before = f.analyses().liveness();
  f.setCurrentPhase(7);
  Instr* sum = f.block(2)->first;
  f.setOperand(sum, 5, isa::Operand::rz());
  askAll(f);
  CHECK(computed(f, AnalysisKind::ControlFlow) == 1);
  CHECK(computed(f, AnalysisKind::Dominators) == 1);
  CHECK(computed(f, AnalysisKind::Loops) == 1);
  CHECK(computed(f, AnalysisKind::Liveness) == 2);
  CHECK(computed(f, AnalysisKind::Divergence) == 2);
  for (const Analyses::Build& build : f.analyses().builds())
    if (!build.isFirst) CHECK(build.changedPhase == 7);
  // The old result remains a snapshot until it is dropped: %r4 was live out of the loop.
  CHECK(before.isLiveIn(2, before.components().of(4, 0)));
  CHECK(!f.analyses().liveness().isLiveIn(2, before.components().of(4, 0)));
  f.analyses().dropStale();
}

TEST_CASE("analyses: another order of instructions keeps liveness and divergence") {
  const auto module = test::kernel(kLoop);
  Function& f = *module->functions[0];
  f.analyses().setVerified(true);
  const auto moveUp = [&] {
    const Changes before = f.changes();
    Instr *last = f.block(0)->last, *other = last->prev;
    f.unlink(last);
    f.insertBefore(other, last);
    f.analyses().noteReordered(before);
  };
  askAll(f);
  moveUp();
  askAll(f);
  CHECK(computed(f, AnalysisKind::Liveness) == 1);
  CHECK(computed(f, AnalysisKind::Divergence) == 1);
  CHECK(computed(f, AnalysisKind::Pressure) == 2);
  // Analyses that were stale before the move remain stale.
  f.setOperand(f.block(2)->first, 5, isa::Operand::rz());
  moveUp();
  askAll(f);
  CHECK(computed(f, AnalysisKind::Liveness) == 2);
  CHECK(computed(f, AnalysisKind::Divergence) == 2);
}

TEST_CASE("analyses: edges, blocks and the layout are control flow") {
  const auto module = test::kernel(kLoop);
  Function& f = *module->functions[0];
  f.analyses().setVerified(true);
  const auto changes = [&](auto&& edit) {
    const std::size_t before = computed(f, AnalysisKind::ControlFlow);
    edit();
    f.analyses().loops();
    return computed(f, AnalysisKind::ControlFlow) - before;
  };
  f.analyses().loops();
  Instr* branch = f.block(1)->last;
  CHECK(changes([&] { f.block(1)->fallthrough = f.block(1)->fallthrough; }) == 0);
  CHECK(changes([&] { f.block(0)->fallthrough = 2; }) == 1);
  CHECK(changes([&] { f.setOperand(branch, 0, isa::Operand::label(2)); }) == 1);
  CHECK(changes([&] { f.setGuard(branch, isa::Operand::pt()); }) == 0);
  CHECK(changes([&] { f.setLayout({f.block(0), f.block(2), f.block(1)}); }) == 1);
  CHECK(changes([&] { f.unlink(branch); }) == 1);
  CHECK(changes([&] { f.append(f.block(1), branch); }) == 1);
  CHECK(changes([&] { splitEdge(f, f.block(1), f.block(2)); }) == 1);
  CHECK(changes([&] { f.erase(f.block(2)->first); }) == 0);
  CHECK(changes([&] { f.eraseBlock(f.newBlock()); }) == 1);
}

TEST_CASE("analyses: modifiers change divergence and nothing else") {
  const auto module = test::kernel(kLoop);
  Function& f = *module->functions[0];
  askAll(f);
  f.noteValueChange();
  askAll(f);
  CHECK(computed(f, AnalysisKind::Liveness) == 1);
  CHECK(computed(f, AnalysisKind::Pressure) == 1);
  CHECK(computed(f, AnalysisKind::Divergence) == 2);
}

TEST_CASE("analyses: random edits are counted") {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 300; ++round) {
    const auto module = test::emptyModule();
    Function& f = module->newFunction("k", true);
    test::fillRandomly(f, random, {});
    f.analyses().setVerified(true);
    for (unsigned edit = 0; edit < 20; ++edit) {
      askAll(f);
      const auto pick = [&](std::size_t n) { return static_cast<unsigned>(random() % n); };
      Block* block = f.layout()[pick(f.layout().size())];
      Instr* instr = block->first;
      for (unsigned i = pick(6); instr && instr->next && i > 0; --i)
        instr = instr->next;
      const auto pickLike = [&](const isa::Operand& other) {
        for (unsigned tries = 0; tries < 20; ++tries)
          if (const VRegId reg = pick(f.vregCount());
              f.vreg(reg).file == other.file && f.vreg(reg).width == f.vreg(other.reg).width)
            return reg;
        return static_cast<VRegId>(other.reg);
      };
      switch (pick(12)) {
      case 0:
        if (instr && !isTerminator(instr->op)) f.erase(instr);
        break;
      case 1:
        if (instr && instr != block->last) f.splitAfter(instr);
        break;
      case 2:
        if (instr && instr->prev && !isTerminator(instr->op)) {
          Instr* before = instr->prev;
          f.unlink(instr);
          f.insertBefore(before, instr);
        }
        break;
      case 3:
        if (instr && !isTerminator(instr->op)) f.setGuard(instr, isa::Operand::pt());
        break;
      case 4:
        if (block->fallthrough != kNoId) block->fallthrough = f.layout()[pick(f.layout().size())]->id;
        break;
      case 5:
        if (instr && isTerminator(instr->op) && instr->operandCount && instr->op_(0).isLabel())
          f.setOperand(instr, 0, isa::Operand::label(f.layout()[pick(f.layout().size())]->id));
        break;
      case 6: // another register is read or written
        if (instr && instr->operandCount && instr->op_(0).isVirtual()) {
          const unsigned index = pick(instr->operandCount);
          isa::Operand operand = instr->op_(index).value();
          if (operand.isVirtual()) operand.reg = pickLike(operand);
          f.setOperand(instr, index, operand);
        }
        break;
      case 7: // another guard
        if (instr && !isTerminator(instr->op))
          for (VRegId reg = pick(f.vregCount()); reg < f.vregCount(); ++reg)
            if (f.vreg(reg).file == File::P) {
              f.setGuard(instr, f.use(reg));
              break;
            }
        break;
      case 8: // again elsewhere, with a new register for its result
        if (instr && !isTerminator(instr->op) && instr->op != Op::PHI) {
          std::vector<isa::Operand> operands;
          for (const Operand& o : instr->ops()) {
            operands.push_back(o.value());
            if (o.isDef && o.isVirtual() && pick(2)) operands.back().reg = f.newVReg(o.file, f.vreg(o.reg).width);
          }
          Instr* again = f.create(instr->op, operands);
          if (pick(2)) f.setGuard(again, instr->guard().value());
          if (Block* other = f.layout()[pick(f.layout().size())]; other->last) f.insertBefore(other->last, again);
        }
        break;
      case 9: // another instruction
        if (instr && instr->operandCount && instr->op_(0).isDef && instr->op_(0).file == File::R &&
            instr->op_(0).width == 1) {
          const isa::Operand result = instr->op_(0).value();
          f.rewrite(instr, Op::MOV, std::array{result, isa::Operand::rz()});
        }
        break;
      case 10: { // another name everywhere
        const VRegId from = pick(f.vregCount());
        f.replaceAllRefs(from, pickLike(f.use(from)));
        break;
      }
      default: removeUnreachableBlocks(f); break;
      }
      CHECK_NOTHROW(askAll(f));
    }
  }
}

TEST_CASE("analyses: a change that is not counted is found by the check of kept results") {
  const auto module = test::kernel(kLoop);
  Function& f = *module->functions[0];
  askAll(f);
  // The loop no longer reads %r0: changed without the function's mutators.
  static_cast<isa::Operand&>(f.block(1)->first->operands[4]) = isa::Operand::rz();
  CHECK_NOTHROW(f.analyses().liveness()); // without the check it is not detected
  f.analyses().setVerified(true);
  CHECK_THROWS_AS(f.analyses().liveness(), InternalError);
  CHECK_NOTHROW(f.analyses().loops());
}
