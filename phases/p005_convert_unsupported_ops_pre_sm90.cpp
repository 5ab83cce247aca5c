// Expansions, for operations that a chip lacks, into those of earlier chips.

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "phases/expansion.h"

namespace orias::phases {

using isa::Fmt;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::component;

namespace {

/// Selects the low halves of two registers.
constexpr std::uint32_t kLowHalves = 0x5410;

/// Packs two f16 converted from f32, one conversion each.
void expandPack(Expansion& e, const ori::Instr& pack) {
  const isa::ModValue rounding{Mod::Rnd, static_cast<int>(isa::getMod(pack.op, pack.mods, Mod::Rnd))};
  const auto half = [&](const Operand& value) {
    const Operand d = e.newR();
    e.builder().emit(Op::F2F, {d, value}, {{Mod::DstFmt, Fmt::F16}, {Mod::SrcFmt, Fmt::F32}, rounding});
    return d;
  };
  const Operand high = pack.op_(1).value(), low = pack.op_(2).value();
  if (high.isZeroReg()) return e.give(half(low));
  const Operand both = e.newR();
  const Operand halves[] = {half(low), half(high)};
  e.builder().emit(Op::PRMT, {both, halves[0], Expansion::imm(kLowHalves), halves[1]});
  e.give(both);
}

/// Splits a product of depth 16 into two of depth 8; the second adds to the first.
void expandDeepProduct(Expansion& e, const ori::Instr& mma) {
  const isa::ModValue format{Mod::DstFmt, static_cast<int>(isa::getMod(mma.op, mma.mods, Mod::DstFmt))};
  const Operand a = mma.op_(1).value(), b = mma.op_(2).value();
  Operand sum = mma.op_(3).value();
  for (unsigned part = 0; part < 2; ++part) {
    const Operand next = e.newR(mma.op_(0).width);
    e.builder().emit(Op::HMMA_1688, {next, component(a, 2 * part, 2), component(b, part), sum}, {format});
    sum = next;
  }
  e.give(sum);
}

/// Splits a product of 16 rows into two of 8.
void expandTallProduct(Expansion& e, const ori::Instr& mma) {
  const auto mod = [&](Mod kind) { return isa::ModValue{kind, static_cast<int>(isa::getMod(mma.op, mma.mods, kind))}; };
  const Operand a = mma.op_(1).value(), b = mma.op_(2).value(), c = mma.op_(3).value();
  const Operand d = e.newR(mma.op_(0).width);
  for (unsigned half = 0; half < 2; ++half)
    e.builder().emit(Op::IMMA_8816, {component(d, 2 * half, 2), component(a, half), b, component(c, 2 * half, 2)},
                     {mod(Mod::SrcFmt), mod(Mod::DstFmt), mod(Mod::Sat)});
  e.give(d);
}

/// From sm_100 on: turns a product of 8 rows into one of 16, whose lower half is zero (ptxas does the same, observed).
void expandShortProduct(Expansion& e, const ori::Instr& mma) {
  const auto mod = [&](Mod kind) { return isa::ModValue{kind, static_cast<int>(isa::getMod(mma.op, mma.mods, kind))}; };
  const Operand c = mma.op_(3).value();
  const Operand rows = e.pair(mma.op_(1).value(), Operand::rz());
  Operand sum = Operand::rz();
  if (!c.isZeroReg()) {
    sum = e.newR(4);
    for (unsigned w = 0; w < sum.width; ++w)
      e.builder().copy(component(sum, w), w < c.width ? component(c, w) : Operand::rz());
  }
  const Operand d = e.newR(4);
  e.builder().emit(Op::IMMA_16816, {d, rows, mma.op_(2).value(), sum},
                   {mod(Mod::SrcFmt), mod(Mod::DstFmt), mod(Mod::Sat)});
  e.give(component(d, 0, 2));
}

} // namespace

bool hasOlderWay(const isa::Target& target, const ori::Instr& instr) {
  if (isa::desc(instr.op).isPseudo() || isa::existsOn(target, instr.op, instr.mods)) return false;
  switch (instr.op) {
  case Op::F2FP:
    return isa::getMod(instr.op, instr.mods, Mod::DstFmt) == 0 && isa::getMod(instr.op, instr.mods, Mod::Relu) == 0 &&
           isa::getMod(instr.op, instr.mods, Mod::Sat) == 0;
  case Op::HMMA_16816: return isa::getMod(instr.op, instr.mods, Mod::SrcFmt) == 0;
  case Op::IMMA_16816:
  case Op::IMMA_8816: return true;
  default: return false;
  }
}

void expandForPreSm90(ori::Function& function, ori::Instr* instr) {
  Expansion e(function, instr);
  switch (instr->op) {
  case Op::F2FP: return expandPack(e, *instr);
  case Op::HMMA_16816: return expandDeepProduct(e, *instr);
  case Op::IMMA_8816: return expandShortProduct(e, *instr);
  default: return expandTallProduct(e, *instr);
  }
}

} // namespace orias::phases
