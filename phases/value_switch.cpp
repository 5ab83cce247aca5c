#include "phases/value_switch.h"

#include "encoder/isa/desc.h"
#include "ori/cfg_edit.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::ICmp;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;

namespace {

/// Limits: tests of one switch, and ranges of the words of one target.
constexpr std::size_t kMaxTests = 512;
constexpr std::size_t kMaxRanges = 64;
constexpr std::uint32_t kMax = ~0u;
constexpr std::uint32_t kSign = 1u << 31;

using Ranges = std::vector<WordRange>;

/// The intersection of both.
Ranges common(const Ranges& a, const Ranges& b) {
  Ranges out;
  for (const WordRange& x : a)
    for (const WordRange& y : b)
      if (const WordRange both{std::max(x.first, y.first), std::min(x.last, y.last)}; both.first <= both.last)
        out.push_back(both);
  return out;
}

/// All other words; `ranges` must be sorted.
Ranges complement(const Ranges& ranges) {
  Ranges out;
  std::uint64_t next = 0;
  for (const WordRange& range : ranges) {
    if (next < range.first) out.push_back({static_cast<std::uint32_t>(next), range.first - 1});
    next = std::uint64_t{range.last} + 1;
  }
  if (next <= kMax) out.push_back({static_cast<std::uint32_t>(next), kMax});
  return out;
}

/// Words less than `number`, as signed or unsigned ones.
Ranges below(std::uint32_t number, bool isSigned) {
  if (!isSigned) return number == 0 ? Ranges{} : Ranges{{0, number - 1}};
  if (number == kSign) return {};
  if (number > kSign) return {{kSign, number - 1}};
  if (number == 0) return {{kSign, kMax}};
  return {{0, number - 1}, {kSign, kMax}};
}

/// Sorts the ranges and joins adjacent ones.
Ranges tidy(Ranges ranges) {
  std::ranges::sort(ranges, {}, &WordRange::first);
  Ranges out;
  for (const WordRange& range : ranges)
    if (!out.empty() && std::uint64_t{out.back().last} + 1 >= range.first)
      out.back().last = std::max(out.back().last, range.last);
    else
      out.push_back(range);
  return out;
}

std::optional<Ranges> wordsThatPass(ICmp order, std::uint32_t number, bool isSigned) {
  const auto atMost = [&] {
    Ranges words = below(number, isSigned);
    words.push_back({number, number});
    return tidy(std::move(words));
  };
  switch (order) {
  case ICmp::EQ: return Ranges{{number, number}};
  case ICmp::NE: return complement({{number, number}});
  case ICmp::LT: return below(number, isSigned);
  case ICmp::GE: return complement(below(number, isSigned));
  case ICmp::LE: return atMost();
  case ICmp::GT: return complement(atMost());
  default: return std::nullopt;
  }
}

std::optional<std::uint32_t> numberOf(const Operand& o) {
  if (o.isImm() && !o.neg()) return static_cast<std::uint32_t>(o.imm);
  if (o.isReg(File::R) && o.isZeroReg()) return 0u;
  return std::nullopt;
}

/// Whether the comparison has one result and no second condition.
bool isPlain(const Instr& compare) {
  const ori::Operand &second = compare.op_(1), &other = compare.op_(4);
  return (second.isNone() || second.isZeroReg()) && other.isZeroReg() && !other.inverted() &&
         isa::modAs<isa::BoolOp>(compare, Mod::Bool) == isa::BoolOp::AND;
}

bool isChangedAfter(const Instr& compare, const ori::Operand& value) {
  for (const Instr* instr = compare.next; instr; instr = instr->next)
    for (const ori::Operand& o : instr->ops())
      if (o.isDef && o.isVirtual() && o.reg == value.reg) return true;
  return false;
}

} // namespace

std::optional<WordTest> wordTestAt(const ori::Function& function, Block* block) {
  const Instr* branch = ori::plainBranch(*block);
  if (!branch || !branch->isGuarded() || block->fallthrough == ori::kNoId) return std::nullopt;
  const ori::Operand& guard = branch->guard();
  const BlockId taken = branch->op_(1).reg;
  if (guard.file != File::P || !guard.isVirtual() || taken == block->fallthrough) return std::nullopt;
  Instr* compare = function.singleDef(guard.reg);
  if (!compare || compare->block != block || compare->op != Op::ISETP || compare->isGuarded() || !isPlain(*compare))
    return std::nullopt;
  unsigned readers = 0;
  function.forEachUse(guard.reg, [&](ori::Ref) { ++readers; });
  const auto number = numberOf(compare->op_(3).value());
  if (readers != 1 || !number) return std::nullopt;
  const ori::Operand& value = compare->op_(2);
  if (!value.isReg(File::R) || !value.isVirtual() || value.neg() || isChangedAfter(*compare, value))
    return std::nullopt;
  const bool isSigned = isa::modAs<isa::IntType>(*compare, Mod::Type) != isa::IntType::U32;
  auto words = wordsThatPass(isa::modAs<ICmp>(*compare, Mod::Cmp), *number, isSigned);
  if (!words) return std::nullopt;
  if (guard.inverted()) words = complement(*words);
  // The target gets the smaller set of words.
  const bool isRare = words->size() == 1 && words->front().first == words->front().last;
  if (!isRare)
    if (Ranges rest = complement(*words); rest.size() == 1 && rest.front().first == rest.front().last)
      return WordTest{block, compare, value.value(), std::move(rest), block->fallthrough, taken};
  return WordTest{block, compare, value.value(), std::move(*words), taken, block->fallthrough};
}

std::optional<ValueSwitch> valueSwitchAt(const ori::Cfg& cfg, Block* head) {
  const ori::Function& function = cfg.function();
  const auto first = wordTestAt(function, head);
  if (!first) return std::nullopt;
  ValueSwitch found;
  found.head = head;
  found.value = first->value;

  struct Way {
    Block* block;
    Ranges words;
  };
  std::vector<Way> ways{{head, {{0, kMax}}}};
  while (!ways.empty()) {
    const Way way = std::move(ways.back());
    ways.pop_back();
    const auto test = way.block == head ? first : wordTestAt(function, way.block);
    found.blocks.push_back(way.block->id);
    if (found.blocks.size() > kMaxTests) return std::nullopt;
    for (const bool passes : {true, false}) {
      const BlockId to = passes ? test->target : test->rest;
      Ranges words = tidy(common(way.words, passes ? test->numbers : complement(test->numbers)));
      if (words.size() > kMaxRanges) return std::nullopt;
      Block* next = function.block(to);
      const auto inner = next == head || to == cfg.entry() || cfg.predecessors(to).size() != 1
                             ? std::nullopt
                             : wordTestAt(function, next);
      if (inner && inner->value == found.value && inner->compare == next->first && inner->compare->next == next->last) {
        ways.push_back({next, std::move(words)});
        continue;
      }
      Ranges& known = found.targets[to];
      known.insert(known.end(), words.begin(), words.end());
    }
  }
  for (auto& [target, words] : found.targets)
    words = tidy(std::move(words));
  return found;
}

} // namespace orias::phases
