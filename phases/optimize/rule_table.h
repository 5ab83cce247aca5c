#pragma once

// Selects the rules that may apply to an instruction: most rules handle few opcodes.

#include "phases/optimize/rewriter.h"

#include <array>
#include <cstdint>
#include <initializer_list>

namespace orias::phases {

/// Some rules need a source of a certain kind.
struct RuleNeed {
  Rewriter::Rule rule;
  std::uint8_t sources;
};
inline constexpr RuleNeed kRuleNeeds[]{{propagateCopies, Rewriter::kCopied}, {ignoreUnusedBits, Rewriter::kMasked}};

/// The opcodes that a rule handles. Rules that are not listed handle any opcode.
struct RuleOpcodes {
  Rewriter::Rule rule;
  std::initializer_list<isa::Op> ops;
};

/// An ordered list of rules, and for each opcode the set of rules that handle it. With `alwaysRequests` all rules see
/// all instructions, for tests.
class RuleTable {
 public:
  constexpr RuleTable(std::initializer_list<Rewriter::Rule> rules, bool alwaysRequests = false) {
    using isa::Op;
    const RuleOpcodes known[]{
        {simplifyPhi, {Op::PHI}},
        {propagateConstantLoad, {Op::LDC}},
        {foldComparison, {Op::ISETP, Op::FSETP, Op::DSETP}},
        {foldLongComparison, {Op::ISETP_EX}},
        {foldBitTest, {Op::LOP3}},
        {reassociateLongSum, {Op::IADD64}},
        {narrowWideProduct, {Op::IMAD_WIDE}},
        {simplifyAlgebra,
         {Op::IADD3, Op::IADD64, Op::IMAD_WIDE, Op::IMAD_HI, Op::IMAD, Op::IMUL64, Op::IMAD64, Op::SHF, Op::PRMT,
          Op::LOP3, Op::PLOP3}},
        {dropMasks, {Op::PRMT, Op::SHF, Op::IABS, Op::SGXT, Op::I2F, Op::LOP3}},
        {dropIdentity, {Op::FMUL, Op::DMUL, Op::FMNMX, Op::VIMNMX, Op::IMNMX}},
        {combinePredicates, {Op::PLOP3}},
        {foldShiftedAddress, {Op::IADD64, Op::IMAD64, Op::IMUL64}},
        {foldWideAddress, {Op::IADD64}},
        {foldFrameAddress, {Op::LDL, Op::STL}},
        {foldCarries, {Op::IADD3, Op::IADD3_X}},
        {combineShifts, {Op::SHF, Op::LOP3, Op::IADD3, Op::IADD64}},
        {combineLongSums, {Op::IADD3_X}},
        {permuteBytes, {Op::LOP3, Op::SHF, Op::SGXT, Op::LEA}},
        {combineSums, {Op::IADD3, Op::IADD3_X}},
        {combineLogic, {Op::LOP3}},
        {combineRounding, {Op::F2I, Op::F2I_64}},
        {combineTest, {Op::ISETP}},
        {foldSigns,
         {Op::FADD, Op::FMUL, Op::FFMA, Op::FSETP, Op::FMNMX, Op::MUFU, Op::F2I, Op::F2I_64, Op::F2F, Op::F2F_64,
          Op::DADD, Op::DMUL, Op::DFMA, Op::DSETP, Op::SEL}},
        {foldConstantIndex, {Op::LDC}},
        {foldSaturation, {Op::FADD}},
        {splitConstOffset, {Op::IADD64, Op::IMAD_WIDE}},
        {separateShortNumber, {Op::IADD3, Op::LEA}},
        {separateProduct, {Op::IMAD_WIDE}},
        {pairProducts, {Op::IMAD_HI}},
        {combineCarryPair, {Op::IADD3_X}},
        {foldProductOfNumbers, {Op::IMAD_WIDE}},
    };
    for (const Rewriter::Rule rule : rules) {
      const std::uint64_t bit = std::uint64_t{1} << count_;
      rules_[count_++] = rule;
      bool isKnown = false;
      for (const RuleOpcodes& r : known) {
        if (r.rule != rule || alwaysRequests) continue;
        isKnown = true;
        for (const Op op : r.ops)
          byOp_[static_cast<std::size_t>(op)] |= bit;
      }
      if (!isKnown)
        for (std::uint64_t& set : byOp_)
          set |= bit;
      for (const RuleNeed& need : kRuleNeeds)
        if (need.rule == rule && !alwaysRequests) needs_[need.sources] |= bit;
    }
  }

  Rewriter::Rule operator[](unsigned index) const { return rules_[index]; }
  /// The rules that may change an instruction with these kinds of sources, one bit each.
  std::uint64_t worthTrying(isa::Op op, std::uint8_t sources) const {
    std::uint64_t set = byOp_[static_cast<std::size_t>(op)];
    for (const std::uint8_t kind : {Rewriter::kCopied, Rewriter::kMasked})
      if ((sources & kind) == 0) set &= ~needs_[kind];
    return set;
  }

 private:
  std::array<Rewriter::Rule, 64> rules_{};
  unsigned count_ = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(isa::Op::kCount)> byOp_{};
  std::array<std::uint64_t, 8> needs_{}; // by kind of source
};

} // namespace orias::phases
