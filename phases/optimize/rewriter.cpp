#include "phases/optimize/rewriter.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "ori/results.h"
#include "phases/optimize/rule_table.h"
#include "phases/optimize/single_def_values.h"
#include "phases/removable.h"
#include "support/check.h"

#include <array>
#include <bit>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;

Rewriter::Rewriter(ori::Function& function) : function_(function), isSingle_(singleDefValues(function)) {
  first_.reserve(function.vregCount() + 1);
  std::uint32_t count = 0;
  for (ori::VRegId id = 0; id < function.vregCount(); ++id) {
    first_.push_back(count);
    count += function.vreg(id).width;
  }
  first_.push_back(count);
  defs_.resize(count);
  isQueued_.resize(function.instrIdCount());
  const ori::BlockId entry = function.entry()->id;
  for (ori::Block* block : function.layout()) {
    for (Instr& instr : *block)
      record(instr);
    function.forEachSuccessor(*block, [&](ori::BlockId to) { entryRunsOnce_ &= to != entry; });
  }
}

void Rewriter::record(Instr& instr) {
  Instr* definer = instr.isGuarded() ? nullptr : &instr;
  const auto results = static_cast<unsigned>(ori::resultSlots(instr).size());
  for (unsigned i = 0; i < results; ++i) {
    const ori::Operand& o = instr.op_(i);
    if (!o.isDef || !o.isReg() || !o.isVirtual() || !isSingle(o.reg)) continue;
    Definition* defs = &defs_[first_[o.reg] + o.sub];
    for (unsigned k = 0; k < o.width; ++k)
      defs[k] = {definer, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(k)};
  }
}

void Rewriter::forget(Instr& instr) {
  for (const ori::Operand& o : ori::resultSlots(instr))
    if (o.isDef && o.isReg() && o.isVirtual())
      for (unsigned k = 0; k < o.width; ++k)
        defs_[first_[o.reg] + o.sub + k] = {};
}

// --- queries

std::uint8_t Rewriter::kindsOfSources(const Instr& instr) const {
  std::uint8_t kinds = 0;
  for (const ori::Operand& o : instr.refs()) {
    if (o.isDef) continue;
    const Definition def = definition(o);
    if (!def) continue;
    switch (def.instr->op) {
    case Op::SEL: kinds |= kChosen; break;
    case Op::LOP3: // NOLINT(bugprone-branch-clone)
    case Op::PRMT:
    case Op::LEA:
    case Op::SGXT: kinds |= kMasked; break;
    default:
      if (isa::desc(def.instr->op).has(isa::Flag::Copy)) kinds |= kCopied;
    }
  }
  return kinds;
}

Instr* Rewriter::producer(const Operand& operand, Op op, unsigned slot) const {
  const Definition def = definition(operand);
  if (!def || def.instr->op != op || def.slot != slot || def.index != 0) return nullptr;
  const ori::Operand& result = def.instr->op_(slot);
  return result.width == operand.width ? def.instr : nullptr;
}

bool Rewriter::hasOneUse(const Operand& operand) const {
  unsigned uses = 0;
  for (const ori::Ref o : function_.refs(operand.reg)) {
    if (uses == 2) break;
    uses += !o->isDef && o->sub < operand.sub + operand.width && operand.sub < o->sub + o->width;
  }
  return uses == 1;
}

std::optional<std::uint32_t> Rewriter::constantOf(const Operand& operand) const {
  Operand o = operand;
  for (unsigned steps = 0; steps < 8; ++steps) {
    if (o.width != 1 || o.half != Operand::Half::None || o.abs() || o.neg() || o.inverted()) return std::nullopt;
    if (o.isImm()) return static_cast<std::uint32_t>(o.imm);
    if (!o.isReg(File::R)) return std::nullopt;
    if (o.isZeroReg()) return 0u;
    const Definition def = definition(o);
    if (!def || (def.instr->op != Op::MOV && def.instr->op != Op::COPY) || def.instr->op_(0).width != 1)
      return std::nullopt;
    if (def.instr->op == Op::MOV && !def.instr->op_(2).isNone() && def.instr->op_(2).imm != 15) return std::nullopt;
    o = def.instr->op_(1).value();
  }
  return std::nullopt;
}

std::optional<bool> Rewriter::truthOf(const Operand& operand) const {
  Operand o = operand;
  bool isInverted = false;
  for (unsigned steps = 0; steps < 8; ++steps) {
    if (!o.isReg(File::P)) return std::nullopt;
    isInverted ^= o.inverted();
    if (o.isZeroReg()) return !isInverted;
    const Definition def = definition(o);
    if (!def || def.instr->op != Op::COPY) return std::nullopt;
    o = def.instr->op_(1).value();
  }
  return std::nullopt;
}

bool Rewriter::isStable(const Operand& operand) const {
  if (operand.isZeroReg()) return true;
  if (!operand.isVirtual() || !isSingle(operand.reg)) return false;
  if (operand.file == File::R || operand.file == File::P) return true;
  if (operand.file == File::B) return false;
  for (unsigned k = 0; k < operand.width; ++k) {
    const Definition def = definition(operand, k);
    if (!def || !entryRunsOnce_ || def.instr->block != function_.entry()) return false;
  }
  return true;
}

// --- changes

void Rewriter::enqueue(Instr* instr) {
  if (instr->id >= isQueued_.size()) isQueued_.resize(instr->id + 1);
  if (isQueued_[instr->id]) return;
  isQueued_[instr->id] = true;
  next_.push_back(instr);
}

void Rewriter::enqueueDefinitions(const Operand& operand) {
  if (!operand.isReg() || !operand.isVirtual()) return;
  for (unsigned k = 0; k < operand.width; ++k)
    if (const Definition def = definition(operand, k)) enqueue(def.instr);
}

void Rewriter::changed(Instr& instr) {
  enqueue(&instr);
  // Rules do not look through registers with several definitions, which may have very many uses.
  for (const ori::Operand& o : instr.ops())
    if (o.isDef && o.isReg() && o.isVirtual() && isSingle(o.reg))
      function_.forEachUse(o.reg, [&](ori::Ref use) { enqueue(use.owner); });
}

void Rewriter::setOperand(Instr& instr, unsigned slot, const Operand& value) {
  const Operand old = instr.op_(slot).value();
  function_.setOperand(&instr, slot, value);
  enqueueDefinitions(old);
  changed(instr);
}

void Rewriter::setGuard(Instr& instr, const Operand& value) {
  const Operand old = instr.guard().value();
  function_.setGuard(&instr, value);
  record(instr);
  enqueueDefinitions(old);
  changed(instr);
}

void Rewriter::rewrite(Instr& instr, Op op, std::initializer_list<Operand> operands,
                       std::initializer_list<isa::ModValue> mods) {
  forget(instr);
  for (const ori::Operand& o : instr.ops())
    if (!o.isDef) enqueueDefinitions(o.value());
  const isa::InstrDesc& row = isa::desc(op);
  std::vector<Operand> all(operands);
  for (std::size_t i = all.size(); i < row.slotCount; ++i)
    all.push_back(row.defaults[i]);
  function_.rewrite(&instr, op, all);
  for (const isa::ModValue& mod : mods)
    isa::setMod(op, instr.mods, mod);
  record(instr);
  changed(instr);
}

void Rewriter::becomeCopy(Instr& instr, const Operand& value, unsigned slot) {
  rewrite(instr, value.isReg() ? Op::COPY : Op::MOV, {instr.op_(slot).value(), value});
}

Operand Rewriter::newRegister(File file, unsigned width) {
  const ori::VRegId id = function_.newVReg(file, width);
  ORIAS_CHECK(id + 1 == first_.size(), "only the rewriter may create registers during its lifetime");
  first_.push_back(first_.back() + width);
  defs_.resize(first_.back());
  if (!isSingle_.empty()) isSingle_.resize(id + 1, true);
  return function_.use(id);
}

Instr& Rewriter::insertBefore(Instr& where, Op op, std::span<const Operand> operands,
                              const std::array<std::uint8_t, isa::kMaxMods>* mods) {
  Instr* instr = function_.create(op, operands, where.source);
  if (mods != nullptr) instr->mods = *mods;
  function_.insertBefore(&where, instr);
  record(*instr);
  enqueue(instr);
  return *instr;
}

void Rewriter::becomePair(Instr& instr, unsigned slot, std::uint32_t low, std::uint32_t high) {
  const Operand pair = instr.op_(slot).value();
  const auto word = [](std::uint32_t bits) { return Operand::immediate(static_cast<std::int32_t>(bits)); };
  rewrite(instr, Op::MOV, {ori::component(pair, 1), word(high)});
  std::vector<Operand> operands;
  for (const ori::Operand& o : instr.ops())
    operands.push_back(o.value());
  operands[0] = ori::component(pair, 0);
  operands[1] = word(low);
  Instr* first = function_.create(Op::MOV, operands, instr.source);
  function_.insertBefore(&instr, first);
  record(*first);
  changed(*first);
}

bool Rewriter::fitsWith(const Instr& instr, unsigned slot, const Operand& value) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.isPseudo() || slot >= row.slotCount || instr.operandCount < row.slotCount) return false;
  const isa::SlotDesc& s = row.slots[slot];
  if ((value.neg() && !s.canNeg) || (value.abs() && !s.canAbs) || (value.inverted() && !s.canNot)) return false;
  std::array<Operand, isa::kMaxOperands> operands;
  for (unsigned i = 0; i < row.slotCount; ++i)
    operands[i] = instr.op_(i).value();
  operands[slot] = value;
  return isa::fits(instr.op, instr.mods, {operands.data(), row.slotCount});
}

bool Rewriter::eraseIfDead(Instr& instr) {
  if (!isRemovable(instr)) return false;
  for (const ori::Operand& o : ori::resultSlots(instr))
    if (o.isDef && o.isReg() && !o.isZeroReg() && (!o.isVirtual() || function_.hasUses(o.reg))) return false;
  forget(instr);
  for (const ori::Operand& o : instr.refs())
    if (!o.isDef) enqueueDefinitions(o.value());
  function_.erase(&instr);
  return true;
}

bool Rewriter::run(const RuleTable& rules, std::int64_t maxRounds) {
  bool changedAtAll = false;
  for (ori::Block* block : function_.layout())
    for (Instr& instr : *block)
      enqueue(&instr);
  std::vector<Instr*> round;
  for (std::int64_t n = 0; n < maxRounds && !next_.empty(); ++n) {
    round.swap(next_);
    next_.clear();
    for (Instr* instr : round) {
      isQueued_[instr->id] = false;
      if (!instr->block) continue;
      if (eraseIfDead(*instr)) {
        changedAtAll = true;
        continue;
      }
      const auto worthTrying = [&] {
        sources_ = kindsOfSources(*instr);
        return rules.worthTrying(instr->op, sources_);
      };
      for (std::uint64_t left = worthTrying(); left != 0;) {
        const auto next = static_cast<unsigned>(std::countr_zero(left));
        left &= left - 1;
        if (!rules[next](*this, *instr)) continue;
        changedAtAll = true;
        if (!instr->block) break;
        left = worthTrying() & (~std::uint64_t{1} << next);
      }
    }
  }
  return changedAtAll;
}

} // namespace orias::phases
