// Threads that elect.sync selects (elected.h).

#include "frontend/lower/elected.h"

#include "frontend/instr_form_table.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace orias::ptx {

namespace {

constexpr std::uint32_t kWholeWarp = 0xffffffff;

bool isPlainRegister(const Operand& o) {
  return o.is(OperandKind::Register) && !o.isNegated() && o.component() == Component::None;
}

/// Calls f for the registers of an operand, except those of an address.
template <typename F> void forEachRegister(const Function& function, const Operand& o, F&& f) {
  const bool isPair = o.is(OperandKind::Pair);
  const RegisterId first = isPair || o.is(OperandKind::Register) ? o.registerId() : RegisterId::None;
  const RegisterId second = isPair ? o.secondRegister() : o.is(OperandKind::Vector) ? o.vectorPair() : RegisterId::None;
  for (const RegisterId reg : {first, second})
    if (reg != RegisterId::None) f(reg);
  if (o.isGroup())
    for (const Operand& part : function.parts(o))
      forEachRegister(function, part, f);
}

/// Whether this is a kernel whose CTAs have one row, or rows of whole warps.
bool hasOneOfEachThreadX(const Function& function) {
  constexpr std::uint32_t kWarp = 32;
  const auto& threads = function.performance.reqntid;
  return function.isEntry && threads[0] != 0 && (threads[0] % kWarp == 0 || (threads[1] <= 1 && threads[2] <= 1));
}

/// Operations that write only their first operand. Others may write more.
bool writesFirstOnly(Op op) {
  switch (op) {
  case Op::Mov:
  case Op::Not:
  case Op::And:
  case Op::Or:
  case Op::Selp:
  case Op::Setp:
  case Op::Elect: return true;
  default: return false;
  }
}

} // namespace

Elected::Elected(const Module& module, const Function& function, const FormTable& forms)
    : module_(module), function_(function), forms_(forms), writers_(function.registers.size()),
      byOne_(function.instructions.size()), passedByOne_(function.instructions.size()),
      alone_(function.instructions.size()) {
  isThreadXOfOne_ = hasOneOfEachThreadX(function);
  const auto elects = [&](const Instruction& i) { return forms.form(i).op == Op::Elect; };
  if (!isThreadXOfOne_ && std::ranges::none_of(function.instructions, elects)) return;
  // The first operand may be a destination.
  for (const Instruction& i : function.instructions)
    if (const auto ops = function.operandsOf(i); !ops.empty())
      forEachRegister(function, ops[0], [&](RegisterId r) { ++writers_[index(r)]; });
  // The lasting facts are known only after a first walk.
  followBlocks();
  followBlocks();
  findRegions();
}

void Elected::followBlocks() {
  facts_.clear();
  hasBranched_ = true;
  for (const Statement& statement : function_.statements) {
    if (statement.kind == StatementKind::Label) {
      facts_.clear();
      hasBranched_ = true;
    } else if (statement.kind == StatementKind::Instruction) {
      step(statement.index);
    }
  }
}

void Elected::step(std::uint32_t number) {
  const Instruction& i = function_.instructions[number];
  const Op op = forms_.form(i).op;
  byOne_[number] = i.guard != RegisterId::None && isOfOne(i.guard, i.guardNegated);
  passedByOne_[number] = i.guard != RegisterId::None && isOfOne(i.guard, !i.guardNegated);
  if (op == Op::Bra || op == Op::BrxIdx) hasBranched_ = true;
  const auto ops = function_.operandsOf(i);
  if (ops.empty()) return;
  const std::optional<Fact> fact = derived(i);
  if (op == Op::Elect) hasBranched_ = !fact;
  for (const Operand& o : ops.first(writesFirstOnly(op) ? 1 : ops.size()))
    forEachRegister(function_, o, [&](RegisterId r) { facts_.erase(r); });
  if (!fact) return;
  const RegisterId reg = ops[0].is(OperandKind::Pair) ? ops[0].secondRegister() : ops[0].registerId();
  facts_.insert_or_assign(reg, *fact);
  const bool isPredicate = fact->kind == Fact::Kind::TrueForOne || fact->kind == Fact::Kind::FalseForOne;
  // If a thread may skip this write, it keeps the value of an earlier election.
  const bool isLasting = fact->isFixed || (isPredicate && !hasBranched_) || fact->kind == Fact::Kind::ThreadX;
  if (isLasting && writers_[index(reg)] == 1) lasting_.insert_or_assign(reg, *fact);
}

std::optional<Elected::Fact> Elected::factOf(RegisterId reg) const {
  if (const auto found = facts_.find(reg); found != facts_.end()) return found->second;
  if (const auto found = lasting_.find(reg); found != lasting_.end()) return found->second;
  return std::nullopt;
}

bool Elected::isOfOne(RegisterId predicate, bool isNegated) const {
  const std::optional<Fact> fact = factOf(predicate);
  return fact && fact->kind == (isNegated ? Fact::Kind::FalseForOne : Fact::Kind::TrueForOne);
}

std::optional<std::uint32_t> Elected::constantOf(const Operand& o) const {
  if (o.is(OperandKind::Int)) return static_cast<std::uint32_t>(o.bits());
  if (!isPlainRegister(o)) return std::nullopt;
  const std::optional<Fact> fact = factOf(o.registerId());
  if (!fact || fact->kind != Fact::Kind::Constant) return std::nullopt;
  return fact->value;
}

/// The fact that the instruction establishes about its result.
std::optional<Elected::Fact> Elected::derived(const Instruction& i) const {
  using Kind = Fact::Kind;
  const Form& form = forms_.form(i);
  const auto ops = function_.operandsOf(i);
  const auto isOf32Bits = [&](const Operand& o) {
    return isPlainRegister(o) && bitWidth(function_.registers[index(o.registerId())].type) == 32;
  };
  if (form.op == Op::Elect) {
    const bool isOfAll = ops[0].is(OperandKind::Pair) && ops[0].secondRegister() != RegisterId::None &&
                         constantOf(ops[1]) == kWholeWarp && i.guard == RegisterId::None;
    return isOfAll ? std::optional(Fact{Kind::TrueForOne}) : std::nullopt;
  }
  if (form.op == Op::Mov && ops.size() == 2 && isOf32Bits(ops[0])) {
    if (i.guard == RegisterId::None) {
      if (isThreadXOfOne_ && ops[1].is(OperandKind::Special) && ops[1].component() == Component::X &&
          ops[1].specialRegister() == SpecialRegister::Tid)
        return Fact{Kind::ThreadX};
      if (const auto value = constantOf(ops[1])) return Fact{Kind::Constant, *value};
      return isOf32Bits(ops[1]) ? factOf(ops[1].registerId()) : std::nullopt;
    }
    const auto old = constantOf(ops[0]);
    return old && isOfOne(i.guard, i.guardNegated) ? std::optional(Fact{Kind::OtherForOne, *old}) : std::nullopt;
  }
  if (i.guard != RegisterId::None || !isPlainRegister(ops[0])) return std::nullopt;
  const auto isOfOneHere = [&](const Operand& o, bool isInverted) {
    return o.is(OperandKind::Register) && isOfOne(o.registerId(), o.isNegated() != isInverted);
  };
  switch (form.op) {
  case Op::Not:
    if (isOfOneHere(ops[1], false)) return Fact{Kind::FalseForOne};
    if (isOfOneHere(ops[1], true)) return Fact{Kind::TrueForOne};
    break;
  case Op::And:
    if (isOfOneHere(ops[1], false) || isOfOneHere(ops[2], false)) return Fact{Kind::TrueForOne};
    break;
  case Op::Or:
    if (isOfOneHere(ops[1], true) || isOfOneHere(ops[2], true)) return Fact{Kind::FalseForOne};
    break;
  case Op::Selp:
    if (!isOf32Bits(ops[0])) break;
    for (const bool isInverted : {false, true})
      if (const auto usual = constantOf(ops[isInverted ? 1 : 2]); usual && isOfOneHere(ops[3], isInverted))
        return Fact{Kind::OtherForOne, *usual};
    break;
  case Op::Setp: {
    if (ops.size() != 3 || !isOf32Bits(ops[1])) break;
    const auto value = constantOf(ops[2]);
    const std::optional<Fact> compared = factOf(ops[1].registerId());
    if (!value || !compared) break;
    if (compared->kind == Kind::ThreadX) {
      if (form.compare() == Mod::Eq) return Fact{Kind::TrueForOne, 0, true};
      if (form.compare() == Mod::Ne) return Fact{Kind::FalseForOne, 0, true};
      break;
    }
    if (compared->kind != Kind::OtherForOne || *value != compared->value) break;
    if (form.compare() == Mod::Ne) return Fact{Kind::TrueForOne};
    if (form.compare() == Mod::Eq) return Fact{Kind::FalseForOne};
    break;
  }
  default: break;
  }
  return std::nullopt;
}

/// A branch with such a guard begins a region of one thread, on one of its two paths. The region ends where other paths
/// join.
void Elected::findRegions() {
  constexpr std::uint32_t kUnknown = ~0u, kNone = ~0u - 1;
  // By label: the branch that began the region.
  std::vector<std::uint32_t> entry(function_.labels.size(), kUnknown);
  bool changed = true;
  const auto flow = [&](std::uint32_t region, LabelId to) {
    std::uint32_t& at = entry[index(to)];
    const std::uint32_t joined = at == kUnknown || at == region ? region : region == kUnknown ? at : kNone;
    changed |= joined != at;
    at = joined;
  };
  while (std::exchange(changed, false)) {
    std::uint32_t region = kNone;
    for (const Statement& statement : function_.statements) {
      if (statement.kind == StatementKind::Label) {
        flow(region, LabelId(statement.index));
        region = entry[statement.index];
      }
      if (statement.kind != StatementKind::Instruction) continue;
      const Instruction& i = function_.instructions[statement.index];
      const Op op = forms_.form(i).op;
      alone_[statement.index] = region != kNone && region != kUnknown;
      if (op == Op::Bra) {
        const bool isTakenByOne = byOne_[statement.index], isPassedByOne = passedByOne_[statement.index];
        flow(isTakenByOne ? statement.index : region, function_.operandsOf(i)[0].labelId());
        if (isPassedByOne) region = statement.index;
      } else if (op == Op::BrxIdx) {
        for (const std::uint32_t target : module_.targetLists[index(function_.operandsOf(i)[1].targetListId())].targets)
          flow(region, LabelId(target));
      }
      const bool isEnd = op == Op::Bra || op == Op::BrxIdx || op == Op::Ret || op == Op::Exit;
      if (isEnd && i.guard == RegisterId::None) region = kUnknown;
    }
  }
}

} // namespace orias::ptx
