#pragma once

#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"

#include <initializer_list>
#include <optional>
#include <vector>

namespace orias::phases {

/// Emits the code of macro instructions, with short names for its operations. Everything is computed into new
/// registers, without a guard. Finally, give() writes the result under the guard of the macro and removes the macro. A
/// slow path, between beginColdPath() and endColdPath(), is emitted to a cold block at the end of the function.
class Expansion {
 public:
  using Operand = isa::Operand;

  Expansion(ori::Function& function, ori::Instr* macro)
      : function_(function), macro_(macro), b_(ori::Builder::before(function, macro)) {}

  static Operand imm(std::uint32_t bits) {
    return bits ? Operand::immediate(static_cast<std::int32_t>(bits)) : Operand::rz();
  }
  Operand newR(unsigned words = 1) { return b_.newR(words); }
  /// A constant in a register.
  Operand constant(std::uint32_t bits);
  Operand pair(Operand low, Operand high);
  static Operand low(Operand pair) { return ori::component(pair, 0); }
  static Operand high(Operand pair) { return ori::component(pair, 1); }

  // 32-bit integers
  Operand add(Operand a, Operand b);
  Operand multiply(Operand a, Operand b);
  Operand multiplyAdd(Operand a, Operand b, Operand c);
  Operand multiplyHigh(Operand a, Operand b, bool isSigned = false);
  /// The 64-bit product of two 32-bit values, plus a pair.
  Operand multiplyWide(Operand a, Operand b, Operand addend = Operand::rz(2));
  Operand logic(Operand a, Operand b, std::uint32_t lut);
  Operand logic(Operand a, Operand b, Operand c, std::uint32_t lut);
  Operand bitAnd(Operand a, Operand b) { return logic(a, b, 0xc0); }
  Operand bitOr(Operand a, Operand b) { return logic(a, b, 0xfc); }
  Operand bitXor(Operand a, Operand b) { return logic(a, b, 0x3c); }
  Operand shiftRight(Operand a, unsigned count, bool isSigned = false); ///< count below 32
  Operand signMask(Operand a) { return shiftRight(a, 31, true); }       ///< all ones for negative a
  Operand absolute(Operand a);
  Operand extend16(Operand a, bool isSigned);
  Operand select(Operand p, Operand a, Operand b); ///< p ? a : b; a is a register
  Operand compare(isa::ICmp cmp, Operand a, Operand b, bool isSigned = false);

  // pairs
  Operand add64(Operand a, Operand b);
  Operand multiply64(Operand a, Operand b);
  Operand multiplyHigh64(Operand a, Operand b);    ///< unsigned
  Operand shiftRight64(Operand a, unsigned count); ///< unsigned, count below 64
  Operand notLess64(Operand a, Operand b);         ///< predicate a >= b, unsigned
  Operand select64(Operand p, Operand a, Operand b);
  /// Returns a where mask is 0, -a where it is all ones.
  Operand negateWhere64(Operand a, Operand mask);

  // floating point
  /// A source of the macro, which is read more than once, and as an integer: a register without a sign to apply.
  Operand source(unsigned i);
  Operand mufu(isa::Mufu function, Operand a);
  Operand flush(Operand a);                                                       ///< f32 subnormals become zero
  Operand fma(Operand a, Operand b, Operand c, isa::Rnd rounding = isa::Rnd::RN); ///< of f32
  Operand fmul(Operand a, Operand b, isa::Rnd rounding = isa::Rnd::RN);           ///< of f32
  Operand toF64(Operand f32);
  Operand toF32(Operand f64, isa::Rnd rounding);
  Operand dmul(Operand a, Operand b, isa::Rnd rounding = isa::Rnd::RN);
  Operand dfma(Operand a, Operand b, Operand c, isa::Rnd rounding = isa::Rnd::RN);
  /// A predicate: the comparison of a and b, combined with `other`.
  Operand dcompare(isa::FCmp cmp, Operand a, Operand b, isa::BoolOp combine = isa::BoolOp::AND,
                   Operand other = Operand::pt());
  static Operand f64High(double value); ///< an immediate: its low word must be zero

  /// Under `condition` (and the guard of the macro), branches to a new cold block, which receives all code up to
  /// endColdPath(). That returns here; both paths must write the same register. A cold block may branch to another cold
  /// block.
  void beginColdPath(Operand condition);
  void endColdPath();
  /// In a cold path: the macro itself, with these sources, as its slow path. Phase 78 expands it.
  void deferSlowPath(Operand result, std::initializer_list<Operand> sources);
  /// Between beginColdPath() and endColdPath(), not nested: the following code is emitted in place, and runs only where
  /// the branch was not taken. endColdPath() then joins both paths.
  void otherwise();

  void give(Operand result);
  ori::Builder& builder() { return b_; }
  const isa::Target& target() const;

 private:
  ori::Function& function_;
  ori::Instr* macro_;
  ori::Builder b_;
  std::vector<ori::Block*> returnTo_; // innermost last
  ori::Block* leftAt_ = nullptr;      // the end of the cold block, after otherwise()
};

/// The sum of two pairs with machine instructions: the low words, and the high words with the carry. Only b may be
/// negated.
isa::Operand addWithCarry(ori::Builder& builder, isa::Operand a, isa::Operand b);
/// Expands IDIV and IREM. A constant divisor (its bits, up to the width of the type) needs multiplications only; other
/// 64-bit divisions add blocks.
void expandIntegerDivision(ori::Function& function, ori::Instr* macro, std::optional<std::uint64_t> divisor = {});
/// The required result of a division; `bits` is 32 or 64.
struct IntegerDivision {
  unsigned bits = 32;
  bool isSigned = false, wantsRemainder = false;
};
/// a divided by the low bits of `d`; all ones if these are 0.
isa::Operand divideByConstant(Expansion& e, isa::Operand a, std::uint64_t d, IntegerDivision how);
/// The rounding mode of the macro's result.
isa::Rnd roundingOf(const ori::Instr& macro);
/// Expands FDIV, FRCP, FSQRT of f32, exactly rounded. Adds blocks. The slow path stays a macro.
void expandFloatMacro(ori::Function& function, ori::Instr* macro);
/// Expands the same macros of f64, and the approximate FRSQRT of f64 that supports subnormals. May add blocks.
void expandDoubleMacro(ori::Function& function, ori::Instr* macro);
/// Expand the slow paths that these have left, correct for all operands. Add blocks.
void expandSlowFloatMacro(ori::Function& function, ori::Instr* macro);
void expandSlowDoubleMacro(ori::Function& function, ori::Instr* macro);
/// Whether expandDoubleMacro() expands the instruction.
bool isDoubleMacro(const ori::Instr& instr);
/// Whether the instruction is an exactly rounded division or root. After phase 5 these are slow paths.
bool isExactMacro(const ori::Instr& instr);
/// Whether the target lacks the instruction, and an expansion for older targets exists.
bool hasOlderWay(const isa::Target& target, const ori::Instr& instr);
void expandForPreSm90(ori::Function& function, ori::Instr* instr);
/// Whether the instruction is a macro that phase 8 expands.
bool isApproximation(const ori::Instr& instr);

} // namespace orias::phases
