#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/target.h"
#include "phases/phases.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// Lets instructions of the integer pipe that a multiplication can do as well go there, where that pipe would be the
/// busiest: both take an instruction in two cycles only.
class PipeBalance {
 public:
  PipeBalance(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context),
        multiplier_(context.target.pipe(isa::latencyClassOf(Op::IMAD, isa::makeInst(Op::IMAD).mods))) {}

  bool run() {
    bool changed = false;
    for (ori::Block* block : function_.layout())
      changed |= balance(*block);
    return changed;
  }

 private:
  bool balance(const ori::Block& block) {
    unsigned slots = 0, integer = 0, multiplier = 0;
    std::vector<Instr*> candidates;
    for (Instr& instr : block) {
      const isa::InstrDesc& row = isa::desc(instr.op);
      if (row.isPseudo()) continue;
      ++slots;
      const isa::LatencyClass latencyClass = isa::latencyClassOf(instr.op, instr.mods);
      const unsigned pipe = context_.target.pipe(latencyClass), cycles = context_.target.issueCycles(latencyClass);
      if (pipe == multiplier_)
        multiplier += cycles;
      else if (row.pipe == isa::Pipe::Alu && pipe != 0) {
        integer += cycles;
        if (asMultiplication(instr)) candidates.push_back(&instr);
      }
    }
    // As many as bring the integer pipe down to what takes longest then.
    const unsigned level = std::max(slots, (integer + multiplier) / 2);
    if (candidates.empty() || integer <= level) return false;
    const std::size_t wanted = std::min<std::size_t>((integer - level) / kCycles, candidates.size());
    if (wanted < kFewest) {
      context_.remarks.refused(block.first, "not balanced: the integer pipe is not the bottleneck",
                               static_cast<std::int64_t>(integer) - level);
      return false;
    }
    context_.remarks.did(block.first, fmt::format("moved {} instructions to the multiplier", wanted),
                         static_cast<std::int64_t>(wanted));
    // Evenly over the block.
    std::size_t share = 0;
    for (Instr* instr : candidates) {
      share += wanted;
      if (share < candidates.size()) continue;
      share -= candidates.size();
      function_.rewrite(instr, Op::IMAD, *asMultiplication(*instr));
      isa::setMod(Op::IMAD, instr->mods, {Mod::Type, isa::IntType::U32});
    }
    return true;
  }

  static bool isRegister(const Operand& o) {
    return o.isReg(File::R) && !o.abs() && !o.inverted() && o.half == Operand::Half::None;
  }

  /// The operands of a product and a sum that is the same.
  static std::optional<std::vector<Operand>> asMultiplication(const Instr& instr) {
    std::vector<Operand> operands;
    switch (instr.op) {
    case Op::MOV: operands = ofMove(instr); break;
    case Op::SHF: operands = ofShift(instr); break;
    case Op::IADD3: operands = ofSum(instr); break;
    default: break;
    }
    if (operands.empty()) return std::nullopt;
    auto mods = isa::makeInst(Op::IMAD).mods;
    isa::setMod(Op::IMAD, mods, {Mod::Type, isa::IntType::U32});
    if (!isa::fits(Op::IMAD, mods, operands)) return std::nullopt;
    return operands;
  }

  /// Of a number: 0 * 0 + number.
  static std::vector<Operand> ofMove(const Instr& move) {
    const bool isForAll = move.operandCount <= 2 || move.op_(2).isNone() || move.op_(2).imm == 15;
    if (!move.op_(1).isImm() || !isForAll || !isRegister(move.op_(0).value())) return {};
    return {move.op_(0).value(), Operand::rz(), Operand::rz(), move.op_(1).value()};
  }

  /// To the left by a number: x * 2^n + 0.
  static std::vector<Operand> ofShift(const Instr& shift) {
    const auto type = isa::modAs<isa::ShiftType>(shift, Mod::ShiftType);
    const bool isPlain = isa::modAs<isa::ShiftDir>(shift, Mod::ShiftDir) == isa::ShiftDir::L &&
                         isa::getMod(shift.op, shift.mods, Mod::Hi) == 0 &&
                         (type == isa::ShiftType::U32 || type == isa::ShiftType::S32);
    const Operand from = shift.op_(1).value(), count = shift.op_(2).value(), other = shift.op_(3).value();
    if (!isPlain || !isRegister(from) || from.neg() || !count.isImm() || count.imm < 1 || count.imm > 31) return {};
    if (!other.isNone() && !other.isZeroReg()) return {};
    const std::uint32_t factor = std::uint32_t{1} << count.imm;
    return {shift.op_(0).value(), from, Operand::immediate(static_cast<std::int32_t>(factor)), Operand::rz()};
  }

  /// Of two registers, one of which may be negated: a * 1 + b.
  static std::vector<Operand> ofSum(const Instr& sum) {
    for (unsigned i : {1u, 2u})
      if (!sum.op_(i).isNone() && !sum.op_(i).isZeroReg()) return {};
    std::vector<Operand> terms;
    for (unsigned i = 3; i < 6; ++i) {
      const Operand term = sum.op_(i).value();
      if (!isRegister(term)) return {};
      if (!term.isZeroReg()) terms.push_back(term);
    }
    if (terms.size() != 2) return {};
    if (terms[0].neg()) std::swap(terms[0], terms[1]);
    if (terms[0].neg()) return {};
    return {sum.op_(0).value(), terms[0], Operand::immediate(1), terms[1]};
  }

  /// What an instruction takes of either pipe, and how many are worth the longer ways between the pipes.
  static constexpr unsigned kCycles = 2;
  static constexpr std::size_t kFewest = 4;

  ori::Function& function_;
  PhaseContext& context_;
  const unsigned multiplier_;
};

} // namespace

/// Phase 81. The peepholes of phase 75 on what is left, and then, as all instructions are known, the pipes: moves of
/// numbers, shifts and sums are products too.
bool lateArchOptimizeSecond(ori::Function& function, PhaseContext& context) {
  const bool changed = lateArchOptimizeFirst(function, context);
  if (!context.knobs.enabled(Knob::LateArchBalancePipes)) return changed;
  return PipeBalance(function, context).run() || changed;
}

} // namespace orias::phases
