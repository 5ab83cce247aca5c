#pragma once

#include "encoder/isa/operand.h"
#include "ori/builder.h"

#include <cstdint>

namespace orias::ptx {

/// A source value: words that are registers or known bits. A 64-bit constant needs no register until one of its words
/// is used.
class Value {
 public:
  Value() = default;
  static Value constant(std::uint64_t bits, unsigned words) {
    Value v;
    v.bits_ = bits;
    v.words_ = words;
    return v;
  }
  static Value of(isa::Operand reg) {
    Value v;
    v.reg_ = reg;
    v.isReg_ = true;
    v.words_ = reg.width;
    return v;
  }
  bool isConstant() const { return !isReg_; }
  std::uint64_t bits() const { return bits_; }
  unsigned words() const { return words_; }
  /// The 32-bit word `i` as an operand: a register component or an immediate (RZ for zero).
  isa::Operand word(unsigned i) const {
    if (isReg_) return ori::component(reg_, i);
    std::uint32_t bits = i < 2 ? static_cast<std::uint32_t>(bits_ >> (32 * i)) : 0;
    return bits ? isa::Operand::immediate(static_cast<std::int32_t>(bits)) : isa::Operand::rz();
  }
  /// The register that holds all words; only for values that are not constant.
  const isa::Operand& reg() const { return reg_; }

 private:
  isa::Operand reg_;
  std::uint64_t bits_ = 0;
  unsigned words_ = 1;
  bool isReg_ = false;
};

/// An address as memory instructions accept it: a base register (RZ: none), an optional uniform register, an offset in
/// bytes.
struct Address {
  isa::Operand base = isa::Operand::rz();
  isa::Operand uniform;
  std::int64_t offset = 0;
  bool isFrame = false; ///< offset is within frame object `frameObject`, base is the stack pointer
  std::uint32_t frameObject = 0;
};

} // namespace orias::ptx
