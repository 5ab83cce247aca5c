#pragma once

// The view of one lane in a semantics function: reads operands with their modifiers applied, and writes results by
// slot.

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/semantics/semantics.h"
#include "support/check.h"
#include "support/ieee.h"

namespace orias::isa::semantics {

using ieee::Bits;
using ieee::Format;
using ieee::Rounding;

/// Throws: this use of an instruction is not modeled, because its meaning is not known well enough.
[[noreturn]] void throwUnsupported(const Inst& inst, const char* what);

class Lane {
 public:
  Lane(const Inst& inst, LaneValues& values) : inst_(inst), values_(values) {}

  const Inst& inst() const { return inst_; }
  unsigned mod(Mod kind) const { return getMod(inst_, kind); }
  template <typename E> E modAs(Mod kind) const { return isa::modAs<E>(inst_, kind); }
  Rounding rounding() const { return static_cast<Rounding>(mod(Mod::Rnd)); }

  /// The operand in a slot; the row's default if it is absent.
  const Operand& operand(unsigned slot) const {
    const Operand& given = inst_.operands[slot];
    return given.isNone() ? desc(inst_.op).defaults[slot] : given;
  }
  bool isUnused(unsigned slot) const { return operand(slot).isNone() || operand(slot).isZeroReg(); }

  /// The bits of a source, without its modifiers.
  std::uint32_t raw(unsigned slot) const { return values_[slot].w[0]; }
  std::uint64_t raw64(unsigned slot) const { return values_[slot].u64(); }
  const LaneValue& value(unsigned slot) const { return values_[slot]; }

  /// An integer source, with the operand's negation or inversion.
  std::uint32_t u32(unsigned slot) const {
    const Operand& o = operand(slot);
    std::uint32_t v = raw(slot);
    if (o.inverted()) v = ~v;
    return o.neg() ? 0 - v : v;
  }
  std::uint64_t u64(unsigned slot) const {
    const Operand& o = operand(slot);
    std::uint64_t v = raw64(slot);
    if (o.inverted()) v = ~v;
    return o.neg() ? 0 - v : v;
  }
  std::int32_t s32(unsigned slot) const { return static_cast<std::int32_t>(u32(slot)); }

  /// A predicate source, with the operand's inversion. An absent operand is the row's default.
  bool pred(unsigned slot) const {
    const Operand& o = operand(slot);
    const bool v = inst_.operands[slot].isNone() || (raw(slot) & 1) != 0;
    return v != o.inverted();
  }

  /// A floating-point source in `format`, with the operand's absolute value and negation; with `flush` subnormals
  /// become zero.
  Bits number(unsigned slot, Format format, bool flush = false) const {
    const Operand& o = operand(slot);
    const Bits sign = format == Format::F64 ? Bits{1} << 63 : format == Format::F32 ? Bits{1} << 31 : Bits{1} << 15;
    Bits v = format == Format::F64 ? raw64(slot) : format == Format::F32 ? raw(slot) : raw(slot) & 0xffff;
    if (o.abs()) v &= ~sign;
    if (o.neg()) v ^= sign;
    return flush ? ieee::flush(format, v) : v;
  }
  float f32(unsigned slot, bool flush) const { return ieee::floatOf(number(slot, Format::F32, flush)); }
  double f64(unsigned slot) const { return ieee::doubleOf(number(slot, Format::F64)); }

  void set(unsigned slot, std::uint32_t value) { values_[slot] = LaneValue::of(value); }
  void set64(unsigned slot, std::uint64_t value) { values_[slot] = LaneValue::of64(value); }
  void setPred(unsigned slot, bool value) { values_[slot] = LaneValue::of(value ? 1 : 0); }
  /// Sets an f32 result, flushed and saturated if requested.
  void setF32(unsigned slot, float value, bool flush, bool saturate) {
    if (flush) value = ieee::flush(value);
    if (saturate) value = ieee::saturate(value);
    set(slot, static_cast<std::uint32_t>(ieee::bitsOf(value)));
  }
  void setF64(unsigned slot, double value) { set64(slot, ieee::bitsOf(value)); }
  /// Sets the two results of a comparison: the result and its opposite, each combined with the predicate input.
  void setComparison(unsigned slot, bool result, bool input) {
    setPred(slot, combine(result, input));
    setPred(slot + 1, combine(!result, input));
  }
  bool combine(bool result, bool input) const {
    switch (modAs<BoolOp>(Mod::Bool)) {
    case BoolOp::AND: return result && input;
    case BoolOp::OR: return result || input;
    case BoolOp::XOR: break;
    }
    return result != input;
  }

 private:
  const Inst& inst_;
  LaneValues& values_;
};

/// Whether the comparison is true for two numbers in `format`.
bool compares(FCmp comparison, Format format, Bits a, Bits b);
bool compares(ICmp comparison, std::int64_t a, std::int64_t b);

inline std::int64_t signedOf(std::uint64_t value, unsigned bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

} // namespace orias::isa::semantics
