// Undone changes restore the code.

#include "phases/remat/undo_log.h"

#include "../ori/helpers.h"
#include "phases/remat/rematerializable.h"

using namespace orias;

TEST_CASE("undo: what was put in, changed and erased, in one another's way") {
  const auto module = ori::test::kernel(".L0:\n  S2R %r0, SR_TID.X;\n  IADD3 %r1, %r0, 1, RZ;\n"
                                        "  @%p5 IADD3 %r2, %r1, %r0, RZ;\n  STS [%r1], %r2;\n  EXIT;\n");
  ori::Function& f = *module->functions[0];
  ori::Instr* sum = f.block(0)->first->next;
  ori::Instr* guarded = sum->next;
  ori::Instr* store = guarded->next;
  const std::string before = ori::print(f);
  f.setCurrentPhase(7); // the text names the phases that changed an instruction
  phases::UndoLog log(f);
  ori::Instr* added = f.create(ori::Op::MOV, std::vector{f.use(f.newVReg(ori::File::R)), isa::Operand::immediate(3)});
  f.insertBefore(guarded, added);
  log.inserted(added);
  const auto slot = [&](ori::VRegId reg) {
    for (unsigned i = 0; i < store->operandCount; ++i)
      if (store->op_(i).isVirtual() && store->op_(i).reg == reg) return static_cast<int>(i);
    return -1;
  };
  for (const ori::VRegId reg : {1U, 2U}) {
    const int at = slot(reg);
    REQUIRE(at >= 0);
    log.changes(store, at);
    f.setOperand(store, static_cast<unsigned>(at), added->op_(0).value());
  }
  log.changes(guarded, -1);
  f.setGuard(guarded, isa::Operand::pt());
  // When each is restored, its successor is still erased.
  CHECK(phases::removeDead(f, {2}, [&](ori::Instr& instr) { log.erases(instr); }) == 3);
  CHECK(ori::print(f) != before);
  log.undo();
  CHECK(ori::print(f) == before);
}
