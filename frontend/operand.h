#pragma once

#include "frontend/ids.h"
#include "frontend/special_registers.h"
#include "frontend/types.h"

#include <bit>
#include <cstdint>
#include <string_view>

namespace orias::ptx {

enum class OperandKind : std::uint8_t {
  Sink,       ///< `_`
  Register,   ///< `%r1`, `!%p1`, `-%r1`, `%v.x`, `%r1.h0`
  Pair,       ///< `%p1|%p2`: two destinations, either may be `_`
  Special,    ///< `%tid.x`
  Int,        ///< an integer constant (expression) of 64 bits
  Float32,    ///< `0f3f800000`, exact bits
  Float64,    ///< `0d…` exact bits, or a decimal such as `1.5`
  Address,    ///< `[%rd1+8]`, `[symbol+4]`, `[64]`
  Variable,   ///< the address of a variable with an offset: `symbol+4`; `symbol` alone as a texture or call parameter
  Function,   ///< a function's name
  Label,      ///< a label of this function
  Prototype,  ///< the name of a `.callprototype`
  TargetList, ///< the name of a `.calltargets` or `.branchtargets`
  Vector,     ///< `{a, b, _, d}`
  List,       ///< `(a, b)`: arguments or results of a call
  Bracket,    ///< `[tex, {x, y}]`, `[tensor, {c0, c1}]`: an address of several parts
};

/// One operand, 16 bytes. Vector, List and Bracket hold a range of Function::operands.
class Operand {
 public:
  Operand() = default;

  static Operand sink() { return Operand(OperandKind::Sink); }
  static Operand reg(RegisterId id, Component part = Component::None) {
    Operand o(OperandKind::Register, index(id));
    o.part_ = part;
    return o;
  }
  /// A selection of several bytes (`.b3210`) or halves (`.h10`) of a SIMD video instruction; `digits` as written.
  static Operand selected(RegisterId id, bool bytes, std::string_view digits) {
    Operand o(OperandKind::Register, index(id));
    o.part_ = bytes ? Component::Bytes : Component::Halves;
    for (char d : digits)
      o.value_ = o.value_ << 4 | static_cast<std::uint64_t>(d - '0');
    return o;
  }
  static Operand pair(RegisterId first, RegisterId second) {
    Operand o(OperandKind::Pair, index(first));
    o.value_ = index(second);
    return o;
  }
  static Operand special(SpecialRegister reg, Component part) {
    Operand o(OperandKind::Special, static_cast<std::uint32_t>(reg));
    o.part_ = part;
    return o;
  }
  /// `isUnsigned`: written with the suffix `U`, or too large for a signed value.
  static Operand integer(std::uint64_t bits, bool isUnsigned) {
    Operand o(OperandKind::Int);
    o.value_ = bits;
    o.unsigned_ = isUnsigned;
    return o;
  }
  static Operand float32(std::uint32_t bits) {
    Operand o(OperandKind::Float32);
    o.value_ = bits;
    return o;
  }
  static Operand float64(std::uint64_t bits, bool isDecimal) {
    Operand o(OperandKind::Float64);
    o.value_ = bits;
    o.decimal_ = isDecimal;
    return o;
  }
  static Operand address(RegisterId base, std::int64_t offset) {
    Operand o(OperandKind::Address, index(base));
    o.base_ = OperandKind::Register;
    o.value_ = static_cast<std::uint64_t>(offset);
    return o;
  }
  static Operand address(VariableId base, std::int64_t offset) {
    Operand o(OperandKind::Address, index(base));
    o.base_ = OperandKind::Variable;
    o.value_ = static_cast<std::uint64_t>(offset);
    return o;
  }
  static Operand absoluteAddress(std::uint64_t at) {
    Operand o(OperandKind::Address);
    o.base_ = OperandKind::Int;
    o.value_ = at;
    return o;
  }
  static Operand variable(VariableId id, std::int64_t offset) {
    Operand o(OperandKind::Variable, index(id));
    o.value_ = static_cast<std::uint64_t>(offset);
    return o;
  }
  static Operand function(FunctionId id) { return Operand(OperandKind::Function, index(id)); }
  static Operand label(LabelId id) { return Operand(OperandKind::Label, index(id)); }
  static Operand prototype(PrototypeId id) { return Operand(OperandKind::Prototype, index(id)); }
  static Operand targetList(TargetListId id) { return Operand(OperandKind::TargetList, index(id)); }
  /// Vector, List or Bracket over Function::operands[first, first + count).
  static Operand group(OperandKind kind, std::uint32_t first, std::uint32_t count) {
    Operand o(kind, first);
    o.value_ = count;
    return o;
  }

  OperandKind kind() const { return kind_; }
  bool is(OperandKind kind) const { return kind_ == kind; }
  bool isGroup() const { return kind_ >= OperandKind::Vector; }

  /// Register: the register. Address: its base when `addressBase()` is Register. Pair: the first; None for `_`.
  RegisterId registerId() const { return RegisterId(id_); }
  RegisterId secondRegister() const { return RegisterId(static_cast<std::uint32_t>(value_)); }
  VariableId variableId() const { return VariableId(id_); }
  FunctionId functionId() const { return FunctionId(id_); }
  LabelId labelId() const { return LabelId(id_); }
  PrototypeId prototypeId() const { return PrototypeId(id_); }
  TargetListId targetListId() const { return TargetListId(id_); }
  SpecialRegister specialRegister() const { return static_cast<SpecialRegister>(id_); }

  /// Component Bytes or Halves: the selected parts, four bits each, in the order of the text (`.b3210` is 0x3210).
  std::uint32_t selection() const { return static_cast<std::uint32_t>(value_); }
  /// Register, Special: the part after the dot.
  Component component() const { return part_; }
  /// Address: Register, Variable or Int (no base, `offset()` is the whole address).
  OperandKind addressBase() const { return base_; }
  /// Address, Variable: bytes.
  std::int64_t offset() const { return static_cast<std::int64_t>(value_); }

  /// Register of a predicate written `!%p`.
  bool isNegated() const { return negated_; }
  /// Register written `-%r` (video instructions).
  bool isMinus() const { return minus_; }
  void setNegated() { negated_ = true; }
  void setMinus() { minus_ = true; }

  std::int64_t intValue() const { return static_cast<std::int64_t>(value_); }
  /// Int, Float32 (low half), Float64: the bits.
  std::uint64_t bits() const { return value_; }
  bool isUnsignedInt() const { return unsigned_; }
  /// Float64: written as a decimal; it then takes the width of the instruction's type.
  bool isDecimal() const { return decimal_; }
  float float32Value() const { return std::bit_cast<float>(static_cast<std::uint32_t>(value_)); }
  double float64Value() const { return std::bit_cast<double>(value_); }

  std::uint32_t groupFirst() const { return id_; }
  std::uint32_t groupCount() const { return static_cast<std::uint32_t>(value_); }
  /// Vector: the predicate of `{a, b}|%p`, or None.
  RegisterId vectorPair() const { return RegisterId(static_cast<std::uint32_t>(value_ >> 32) - 1); }
  void setVectorPair(RegisterId reg) { value_ |= std::uint64_t{index(reg) + 1} << 32; }

 private:
  explicit Operand(OperandKind kind, std::uint32_t id = kNoId) : kind_(kind), id_(id) {}

  OperandKind kind_ = OperandKind::Sink;
  OperandKind base_ = OperandKind::Int;
  Component part_ = Component::None;
  bool negated_ : 1 = false;
  bool minus_ : 1 = false;
  bool unsigned_ : 1 = false;
  bool decimal_ : 1 = false;
  std::uint32_t id_ = kNoId;
  std::uint64_t value_ = 0;
};

static_assert(sizeof(Operand) == 16);

} // namespace orias::ptx
