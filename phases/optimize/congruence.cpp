#include "phases/optimize/congruence.h"

#include "encoder/isa/desc.h"
#include "phases/optimize/pure.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::CompId;
using ori::Instr;
using ori::kNoId;

namespace {

void append(KeyWords& key, const KeyWords& more) {
  key.insert(key.end(), more.begin(), more.end());
}

bool isCopy(const Instr& instr) {
  if (!isa::desc(instr.op).has(Flag::Copy) || instr.isGuarded()) return false;
  // A MOV may apply to some lanes of each quad only.
  return instr.operandCount <= 2 || instr.op_(2).isNone() || instr.op_(2).imm == 15;
}

} // namespace

bool Congruence::compute(std::int64_t maxRounds) {
  numbers_.assign(parts_.count(), kNoId);
  for (std::int64_t round = 0; round < maxRounds; ++round) {
    first_.clear();
    keys_ = {};
    bool changed = false;
    for (ori::BlockId id : cfg_.reversePostOrder())
      for (const Instr& instr : *cfg_.function().block(id))
        changed |= visit(instr);
    if (!changed) return true;
  }
  return false;
}

bool Congruence::set(CompId part, CompId number) {
  if (numbers_[part] == number) return false;
  numbers_[part] = number;
  return true;
}

/// Appends the operand with the numbers of its components in place of its register; false if its value may change.
bool Congruence::appendValue(KeyWords& key, const Operand& operand) const {
  const bool namesRegister = operand.isReg() || (operand.isConst() && operand.reg != Operand::kNoReg);
  if (!namesRegister || operand.isZeroReg()) {
    append(key, operand);
    return true;
  }
  if (!operand.isReg() || !rewriter_.isStable(operand)) return false;
  Operand plain = operand;
  plain.reg = 0;
  plain.sub = 0;
  append(key, plain);
  parts_.forEach(operand, [&](CompId part) { key.push_back(numbers_[part]); });
  return true;
}

bool Congruence::isPlainCopy(const Instr& instr) const {
  if (!isCopy(instr)) return false;
  const Operand source = instr.op_(1).value(), result = instr.op_(0).value();
  return source.isReg(result.file) && source.isVirtual() && source.width == result.width && !source.inverted() &&
         !source.neg() && !source.abs() && source.half == Operand::Half::None && rewriter_.isStable(source);
}

/// Only phis of the same block are equal. The order of their sources does not matter.
void Congruence::makeKeyOfPhi(const Instr& phi) {
  KeyWords& key = key_;
  std::size_t count = 0;
  for (unsigned i = 1; i + 1 < phi.operandCount; i += 2, ++count) {
    if (count == sources_.size()) sources_.emplace_back();
    sources_[count].first = phi.op_(i + 1).reg;
    sources_[count].second.clear();
    if (!appendValue(sources_[count].second, phi.op_(i).value())) return;
  }
  std::sort(sources_.begin(), sources_.begin() + static_cast<std::ptrdiff_t>(count));
  key.push_back(static_cast<std::uint64_t>(phi.op));
  key.push_back(phi.op_(0).width);
  key.push_back(static_cast<std::uint64_t>(phi.op_(0).file));
  key.push_back(phi.block->id);
  for (std::size_t i = 0; i < count; ++i) {
    key.push_back(sources_[i].first);
    append(key, sources_[i].second);
  }
}

/// Appends everything that determines the results; the key is empty if no other instruction can be equal.
void Congruence::makeKeyOfOther(const Instr& instr) {
  KeyWords& key = key_;
  if (isCopy(instr)) {
    // For a constant, MOV and COPY are equal.
    key.push_back(static_cast<std::uint64_t>(Op::COPY));
    key.push_back(instr.op_(0).width);
    const Operand source = instr.op_(1).value();
    const bool isZero = source.isImm() && source.imm == 0 && instr.op_(0).isReg(File::R);
    if (!appendValue(key, isZero ? Operand::zero(File::R, instr.op_(0).width) : source)) key.clear();
    return;
  }
  if (!isPure(instr)) return;
  append(key, instr.op, instr.mods);
  key.push_back(resultMask(instr));
  const unsigned interchanged = interchangeable(instr);
  unsigned count = 0;
  for (const ori::Operand& o : instr.ops()) {
    if (o.isDef) continue;
    KeyWords* place = &key;
    if (count < interchanged) {
      place = &unordered_[count++];
      place->clear();
    }
    if (!appendValue(*place, o.value())) return key.clear();
  }
  std::sort(unordered_.begin(), unordered_.begin() + count);
  for (unsigned i = 0; i < count; ++i)
    append(key, unordered_[i]);
}

bool Congruence::visit(const Instr& instr) {
  bool changed = false;
  // Registers with several definitions have no single value, so each component has its own number.
  const bool isOpaque = std::any_of(instr.ops().begin(), instr.ops().end(), [&](const ori::Operand& o) {
    return o.isDef && o.isVirtual() && !rewriter_.isSingle(o.reg);
  });
  if (!isOpaque && isPlainCopy(instr)) {
    leaders_.clear();
    parts_.forEach(instr.op_(1).value(), [&](CompId part) { leaders_.push_back(numbers_[part]); });
    std::size_t i = 0;
    parts_.forEach(instr.op_(0).value(), [&](CompId part) { changed |= set(part, leaders_[i++]); });
    return changed;
  }
  key_.clear();
  if (!isOpaque) instr.op == Op::PHI ? makeKeyOfPhi(instr) : makeKeyOfOther(instr);
  const Instr* first = &instr;
  if (!key_.empty()) {
    auto entry = first_.find(key_);
    if (entry == first_.end()) entry = first_.emplace(keys_.copyArray(WordKey(key_)), &instr).first;
    first = entry->second;
  }
  for (unsigned i = 0; i < instr.operandCount; ++i) {
    if (!instr.op_(i).isDef || !instr.op_(i).isReg()) continue;
    leaders_.clear();
    parts_.forEach(first->op_(i).value(), [&](CompId part) { leaders_.push_back(part); });
    std::size_t k = 0;
    parts_.forEach(instr.op_(i).value(), [&](CompId part) { changed |= set(part, leaders_[k++]); });
  }
  return changed;
}

} // namespace orias::phases
