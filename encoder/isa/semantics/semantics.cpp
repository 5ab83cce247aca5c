#include "encoder/isa/semantics/semantics.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"

#include <array>

namespace orias::isa {

namespace {

constexpr std::size_t kOps = static_cast<std::size_t>(Op::kCount);

struct Functions {
  std::array<LaneFunction, kOps> lane{};
  std::array<WarpFunction, kOps> warp{};
};

constexpr Functions kFunctions = [] {
  Functions f;
#define ORIAS_LANE(op, function, slots) f.lane[static_cast<std::size_t>(Op::op)] = semantics::function;
#define ORIAS_WARP(op, function, slots) f.warp[static_cast<std::size_t>(Op::op)] = semantics::function;
#define ORIAS_MACHINE(op)
#include "encoder/isa/semantics/functions.inc"
#undef ORIAS_LANE
#undef ORIAS_WARP
#undef ORIAS_MACHINE
  return f;
}();

/// Whether the operand in `slot` is an f64.
bool isDouble(const InstrDesc& d, const Inst& inst, unsigned slot) {
  if (d.texts[slot].style == Style::F64) return true;
  switch (d.slots[slot].width) {
  case WidthRule::SrcFmt: return modAs<Fmt>(inst, Mod::SrcFmt) == Fmt::F64;
  case WidthRule::MacroType: return modAs<MacroType>(inst, Mod::MacroType) == MacroType::F64;
  default: return false;
  }
}

/// Whether the operand in `slot` is a 64-bit integer whose immediate is the high half. ptxas writes 5 << 32 as
/// `I2F.F64.U64 R0, 0x5`, and uses a register for 5 (observed).
bool hasHighImmediate(const InstrDesc& d, const Inst& inst, unsigned slot) {
  if (d.slots[slot].width != WidthRule::SrcInt) return false;
  const auto format = modAs<IntFmt>(inst, Mod::SrcFmt);
  return format == IntFmt::U64 || format == IntFmt::S64;
}

/// Whether the operand in `slot` is an unsigned 64-bit integer.
bool isUnsigned64(const InstrDesc& d, const Inst& inst, unsigned slot) {
  return d.slots[slot].width == WidthRule::MacroType && modAs<MacroType>(inst, Mod::MacroType) == MacroType::U64;
}

/// Whether ptxas 13.0 folds this f32 function, to the correctly rounded result (observed). It does not fold TANH, the
/// functions of f16, and the seeds of f64.
bool isFoldableFunction(const Inst& inst) {
  if (getMod(inst.op, inst.mods, Mod::FuncFmt) != 0) return false;
  switch (modAs<Mufu>(inst, Mod::Func)) {
  case Mufu::COS:
  case Mufu::SIN:
  case Mufu::EX2:
  case Mufu::LG2:
  case Mufu::RCP:
  case Mufu::RSQ:
  case Mufu::SQRT: return true;
  default: return false;
  }
}

} // namespace

LaneFunction laneFunction(Op op) {
  return kFunctions.lane[static_cast<std::size_t>(op)];
}

WarpFunction warpFunction(Op op) {
  return kFunctions.warp[static_cast<std::size_t>(op)];
}

bool isFoldable(const Inst& inst, const LaneValues& values) {
  switch (inst.op) {
  case Op::MUFU: return isFoldableFunction(inst);
  case Op::MUFU_H1:
  case Op::FCHK: return false;
  case Op::IDIV:
  case Op::IREM: {
    const auto type = modAs<MacroType>(inst, Mod::MacroType);
    if (type == MacroType::U64 || type == MacroType::S64) return values[2].u64() != 0;
    const bool isNarrow = type == MacroType::U16 || type == MacroType::S16;
    return (values[2].w[0] & (isNarrow ? 0xffffu : ~0u)) != 0;
  }
  default: break;
  }
  if (desc(inst.op).modIndex(Mod::MacroKind) < 0) return true;
  const auto kind = modAs<MacroKind>(inst, Mod::MacroKind);
  return kind != MacroKind::Approx && kind != MacroKind::Full;
}

LaneValue immediateValue(const Inst& inst, unsigned slot) {
  const InstrDesc& d = desc(inst.op);
  const std::int64_t value = inst.operands[slot].imm;
  const auto bits = static_cast<std::uint32_t>(value);
  if (isDouble(d, inst, slot) || hasHighImmediate(d, inst, slot)) return LaneValue::of64(std::uint64_t{bits} << 32);
  // A copy has the width of its destination.
  const unsigned width = operandWidth(inst, slot);
  const unsigned registers = width != 0 ? width : inst.operands[0].width;
  if (registers < 2 || isUnsigned64(d, inst, slot)) return LaneValue::of(bits);
  return LaneValue::of64(static_cast<std::uint64_t>(value));
}

namespace semantics {

void throwUnsupported(const Inst& inst, const char* what) {
  throw Error("the emulator does not support " + std::string(desc(inst.op).mnemonic) + " with " + what);
}

bool compares(FCmp comparison, Format format, Bits a, Bits b) {
  if (comparison == FCmp::F || comparison == FCmp::T) return comparison == FCmp::T;
  const bool isUnordered = ieee::isNan(format, a) || ieee::isNan(format, b);
  if (comparison == FCmp::NUM || comparison == FCmp::NAN_) return (comparison == FCmp::NAN_) == isUnordered;
  // LT to GE, then their variants with "or unordered".
  const auto code = static_cast<unsigned>(comparison);
  if (isUnordered) return code >= static_cast<unsigned>(FCmp::LTU);
  // A double holds any of the formats.
  const auto value = [&](Bits bits) { return ieee::doubleOf(ieee::convert(Format::F64, format, bits)); };
  const double x = value(a), y = value(b);
  return ((code & 1) != 0 && x < y) || ((code & 2) != 0 && x == y) || ((code & 4) != 0 && x > y);
}

bool compares(ICmp comparison, std::int64_t a, std::int64_t b) {
  const auto code = static_cast<unsigned>(comparison);
  return ((code & 1) != 0 && a < b) || ((code & 2) != 0 && a == b) || ((code & 4) != 0 && a > b);
}

} // namespace semantics

} // namespace orias::isa
