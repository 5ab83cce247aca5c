#include "../ori/random_function.h"
#include "allocation.h"

#include "encoder/isa/mods.h"

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;
using isa::File;
using ori::Op;

namespace {

/// Converts allocated code to a form for the interpreter of virtual code: one virtual register contains all physical
/// registers of a file, another the frame. Spill code is converted to copies.
void virtualise(ori::Function& f) {
  const ori::VRegId files[] = {f.newVReg(File::R, 255), f.newVReg(File::UR, 63), f.newVReg(File::P, 7)};
  const ori::VRegId frame = f.newVReg(File::R, 255);
  auto lifted = [&](const ori::Operand& o) {
    isa::Operand out = o.value();
    if (!o.isReg() || o.isZeroReg() || o.isVirtual()) return out;
    out = f.part(files[static_cast<unsigned>(o.file)], o.reg, o.width);
    if (o.inverted()) out = out.notted();
    return out;
  };
  for (ori::Block* block : f.layout())
    f.forEachSafe(*block, [&](ori::Instr& instr) {
      for (unsigned i = 0; i < instr.operandCount; ++i)
        f.setOperand(&instr, i, lifted(instr.op_(i)));
      f.setGuard(&instr, lifted(instr.guard()));
      auto rewriteAsCopy = [&](const isa::Operand& to, isa::Operand from) {
        from.flags &= static_cast<std::uint8_t>(~isa::Operand::kNot);
        f.rewrite(&instr, Op::COPY, std::array{to, from});
      };
      auto slot = [&](unsigned width) {
        for (const ori::Operand& o : instr.ops())
          if (o.isImm()) return f.part(frame, static_cast<unsigned>(o.imm) / 4, width);
        REQUIRE(false);
        return isa::Operand{};
      };
      if (instr.op == Op::LDL) rewriteAsCopy(instr.op_(0).value(), slot(instr.op_(0).width));
      if (instr.op == Op::STL)
        for (const ori::Operand& o : instr.ops())
          if (o.isVirtual() && !(o.sub == 1 && o.reg == files[0])) {
            rewriteAsCopy(slot(o.width), o.value());
            break;
          }
      const bool isFromUniform = instr.op == Op::MOV && instr.op_(1).isReg(File::UR);
      if (isFromUniform) rewriteAsCopy(instr.op_(0).value(), instr.op_(1).value());
      if (instr.op == Op::R2UR) rewriteAsCopy(instr.op_(1).value(), instr.op_(2).value());
      if (instr.op == Op::SEL) rewriteAsCopy(instr.op_(0).value(), instr.op_(3).value());
      if (instr.op == Op::ISETP &&
          isa::getMod(instr.op, instr.mods, isa::Mod::Cmp) == static_cast<unsigned>(isa::ICmp::NE))
        rewriteAsCopy(instr.op_(0).value(), instr.op_(2).value());
    });
  f.allocated = false;
}

void checkSeed(unsigned seed, const ori::test::RandomShape& shape, AllocationOptions options) {
  CAPTURE(seed);
  CAPTURE(options.maxRegisters);
  auto module = ori::test::emptyModule();
  ori::Function& f = module->newFunction("random", true);
  std::mt19937 random(seed);
  ori::test::fillRandomly(f, random, shape);
  const ori::test::Trace before = ori::test::Interpreter(f).run(60);
  const std::string problem = allocate(f, options);
  REQUIRE(problem == "");
  virtualise(f);
  ori::test::checkSameBehaviour(before, f);
}

} // namespace

TEST_CASE("random functions do the same after allocation, at any budget") {
  for (unsigned seed = 0; seed < 60; ++seed)
    for (unsigned registers : {255u, 20u, 10u}) {
      AllocationOptions options;
      options.maxRegisters = registers;
      options.uniformPromotion = seed % 2 == 0;
      checkSeed(seed, {8, 6, 6, 15, seed % 3 != 0}, options);
    }
}

TEST_CASE("random functions under guards do the same after allocation, at any budget") {
  for (unsigned seed = 0; seed < 60; ++seed)
    for (unsigned registers : {255u, 20u, 10u}) {
      AllocationOptions options;
      options.maxRegisters = registers;
      checkSeed(3000 + seed, {8, 10, 8, 60, seed % 3 != 0, 80}, options);
    }
}

TEST_CASE("larger random functions with more values than registers") {
  for (unsigned seed = 0; seed < 20; ++seed)
    for (unsigned registers : {40u, 12u}) {
      AllocationOptions options;
      options.maxRegisters = registers;
      options.uniformPromotion = seed % 4 < 2;
      checkSeed(1000 + seed, {25, 10, 24, 10, seed % 2 == 0}, options);
    }
}

TEST_CASE("random functions do the same when everything is spilled") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    AllocationOptions options;
    options.spillEverything = true;
    options.remat = seed % 2 == 0;
    checkSeed(2000 + seed, {8, 6, 6, 15, seed % 3 != 0}, options);
  }
}
