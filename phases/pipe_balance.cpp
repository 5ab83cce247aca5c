#include "phases/pipe_balance.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/call_abi.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <vector>

namespace orias::phases {

namespace {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

/// Cycles for which an instruction occupies either pipe.
constexpr unsigned kCycles = 2;
/// The share of the issue slots for which the integer pipe may be busy. Up to that share, warps seldom wait for it, and
/// an instruction on the other pipe gets its operands a cycle later.
constexpr unsigned kBusyPercent = 60;

/// An equivalent instruction of the other pipe.
struct Form {
  Op op;
  std::vector<Operand> operands;
  std::array<std::uint8_t, isa::kMaxMods> mods{};
};

bool isRegister(const Operand& o) {
  return o.isReg(File::R) && !o.abs() && !o.inverted() && o.half == Operand::Half::None;
}

/// Whether the operand has no modifiers and is not an address filled in by the linker: only moves have relocations.
bool isTerm(const Operand& o) {
  const bool isPlace = o.isReg(File::R) || o.isReg(File::UR) || o.isConst();
  return (isPlace || o.isImm()) && !o.abs() && !o.inverted() && !o.neg() && o.half == Operand::Half::None;
}

/// A move as 0 * 0 + source.
std::optional<Form> ofMove(const Instr& move) {
  const bool isForAll = move.operandCount <= 2 || move.op_(2).isNone() || move.op_(2).imm == 15;
  const Operand to = move.op_(0).value(), from = move.op_(1).value();
  if (!isForAll || !isRegister(to) || !isTerm(from)) return std::nullopt;
  return Form{Op::IMAD, {to, Operand::rz(), Operand::rz(), from}, {}};
}

/// A left shift by a constant as x * 2^n + 0.
std::optional<Form> ofShift(const Instr& shift) {
  const auto type = isa::modAs<isa::ShiftType>(shift, Mod::ShiftType);
  const bool isPlain = isa::modAs<isa::ShiftDir>(shift, Mod::ShiftDir) == isa::ShiftDir::L &&
                       isa::getMod(shift.op, shift.mods, Mod::Hi) == 0 &&
                       (type == isa::ShiftType::U32 || type == isa::ShiftType::S32);
  const Operand from = shift.op_(1).value(), count = shift.op_(2).value(), other = shift.op_(3).value();
  if (!isPlain || !isRegister(from) || from.neg() || !count.isImm() || count.imm < 1 || count.imm > 31)
    return std::nullopt;
  if (!other.isNone() && !other.isZeroReg()) return std::nullopt;
  const std::uint32_t factor = std::uint32_t{1} << count.imm;
  return Form{
      Op::IMAD, {shift.op_(0).value(), from, Operand::immediate(static_cast<std::int32_t>(factor)), Operand::rz()}, {}};
}

/// A sum of two registers, one of which may be negated, as a * 1 + b; of one register as 0 * 0 + b; of a register and
/// another operand as VIADD, where it exists.
std::optional<Form> ofSum(const Instr& sum) {
  for (unsigned i : {1u, 2u})
    if (!sum.op_(i).isNone() && !sum.op_(i).isZeroReg()) return std::nullopt;
  std::vector<Operand> terms;
  for (unsigned i = 3; i < 6; ++i)
    if (const Operand term = sum.op_(i).value(); !term.isZeroReg()) terms.push_back(term);
  if (terms.size() == 1 && isRegister(terms[0]))
    return Form{Op::IMAD, {sum.op_(0).value(), Operand::rz(), Operand::rz(), terms[0]}, {}};
  if (terms.size() != 2) return std::nullopt;
  if (!isRegister(terms[0]) || terms[0].neg()) std::swap(terms[0], terms[1]);
  if (!isRegister(terms[0]) || terms[0].neg()) return std::nullopt;
  if (!isRegister(terms[1]) && !isTerm(terms[1])) return std::nullopt;
  if (!isRegister(terms[1])) return Form{Op::VIADD, {sum.op_(0).value(), terms[0], terms[1]}, {}};
  return Form{Op::IMAD, {sum.op_(0).value(), terms[0], Operand::immediate(1), terms[1]}, {}};
}

/// A sum of two registers and one carry as a * 1 + b + carry.
std::optional<Form> ofSumWithCarry(const Instr& sum) {
  const auto isUnused = [](const Operand& o) { return o.isNone() || o.isZeroReg(); };
  if (!isUnused(sum.op_(1).value()) || !isUnused(sum.op_(2).value())) return std::nullopt;
  if (sum.op_(7).value() != Operand::pt().notted()) return std::nullopt;
  std::vector<Operand> terms;
  for (unsigned i = 3; i < 6; ++i)
    if (const Operand term = sum.op_(i).value(); !term.isZeroReg() || term.inverted()) terms.push_back(term);
  while (terms.size() < 2)
    terms.push_back(Operand::rz());
  if (terms.size() != 2) return std::nullopt;
  if (!isRegister(terms[0])) std::swap(terms[0], terms[1]);
  if (!isRegister(terms[0]) || terms[0].neg() || !terms[1].isReg(File::R) || terms[1].neg()) return std::nullopt;
  return Form{Op::IMAD_X, {sum.op_(0).value(), terms[0], Operand::immediate(1), terms[1], sum.op_(6).value()}, {}};
}

/// A shifted sum as a * 2^n + b.
std::optional<Form> ofShiftedSum(const Instr& sum) {
  const Operand carry = sum.op_(1).value(), a = sum.op_(2).value(), b = sum.op_(3).value(), count = sum.op_(4).value();
  if (!carry.isNone() && !carry.isZeroReg()) return std::nullopt;
  if (!isRegister(a) || a.neg() || !isRegister(b) || b.neg()) return std::nullopt;
  if (!count.isImm() || count.imm < 0 || count.imm > 31) return std::nullopt;
  const std::uint32_t factor = std::uint32_t{1} << count.imm;
  return Form{Op::IMAD, {sum.op_(0).value(), a, Operand::immediate(static_cast<std::int32_t>(factor)), b}, {}};
}

std::optional<Form> onMultiplier(const Instr& instr, const isa::Target& target) {
  std::optional<Form> form;
  // Code that describes the frame looks for specific instructions on the stack pointer.
  if (instr.operandCount == 0 || (instr.op_(0).isReg(File::R) && instr.op_(0).reg == ori::kStackPointer))
    return std::nullopt;
  switch (instr.op) {
  case Op::MOV: form = ofMove(instr); break;
  case Op::SHF: form = ofShift(instr); break;
  case Op::IADD3: form = ofSum(instr); break;
  case Op::IADD3_X: form = ofSumWithCarry(instr); break;
  case Op::LEA: form = ofShiftedSum(instr); break;
  default: break;
  }
  if (!form) return std::nullopt;
  form->mods = isa::makeInst(form->op).mods;
  if (form->op == Op::IMAD) isa::setMod(form->op, form->mods, {Mod::Type, isa::IntType::U32});
  if (!isa::existsOn(target, form->op, form->mods) || !isa::fits(form->op, form->mods, form->operands))
    return std::nullopt;
  return form;
}

/// Blocks whose instructions are balanced together.
struct Group {
  unsigned integer = 0, multiplier = 0; ///< cycles
  unsigned slots = 0;                   ///< instructions
  std::vector<Instr*> candidates;
};

class PipeBalance {
 public:
  PipeBalance(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), target_(context.target),
        multiplier_(target_.pipe(isa::latencyClassOf(Op::IMAD, isa::makeInst(Op::IMAD).mods))) {}

  bool run() {
    const ori::Loops& loops = function_.analyses().loops();
    std::map<ori::LoopId, Group> groups;
    for (ori::Block* block : function_.layout())
      if (!block->isCold) count(*block, groups[loops.innermost(block->id)]);
    bool changed = false;
    for (auto& [loop, group] : groups)
      changed |= balance(group);
    return changed;
  }

 private:
  void count(ori::Block& block, Group& group) {
    for (Instr& instr : block) {
      const isa::InstrDesc& row = isa::desc(instr.op);
      if (row.isPseudo()) continue;
      ++group.slots;
      const isa::LatencyClass latencyClass = isa::latencyClassOf(instr.op, instr.mods);
      const unsigned pipe = target_.pipe(latencyClass), cycles = target_.issueCycles(latencyClass);
      if (pipe == multiplier_)
        group.multiplier += cycles;
      else if (row.pipe == isa::Pipe::Alu && pipe != 0) {
        group.integer += cycles;
        if (onMultiplier(instr, target_)) group.candidates.push_back(&instr);
      }
    }
  }

  bool balance(Group& group) {
    if (group.candidates.empty()) return false;
    const unsigned level = std::max((group.integer + group.multiplier) / 2, group.slots * kBusyPercent / 100);
    if (group.integer < level + kCycles) {
      context_.remarks.missed(group.candidates.front(), "not balanced: the integer pipe is not the bottleneck",
                              static_cast<std::int64_t>(group.integer) - level);
      return false;
    }
    const std::size_t wanted = std::min<std::size_t>((group.integer - level) / kCycles, group.candidates.size());
    context_.remarks.applied(group.candidates.front(), fmt::format("moved {} instructions to the multiplier", wanted),
                             static_cast<std::int64_t>(wanted));
    // Spread the changes evenly over the code.
    std::size_t share = 0;
    for (Instr* instr : group.candidates) {
      share += wanted;
      if (share < group.candidates.size()) continue;
      share -= group.candidates.size();
      const std::optional<Form> form = onMultiplier(*instr, target_);
      function_.rewrite(instr, form->op, form->operands);
      instr->mods = form->mods;
    }
    return true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const isa::Target& target_;
  const unsigned multiplier_;
};

} // namespace

bool balancePipes(ori::Function& function, PhaseContext& context) {
  return PipeBalance(function, context).run();
}

} // namespace orias::phases
