#include "phases/equal_constants.h"

#include "encoder/isa/desc.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::Op;
using ori::Instr;
using ori::VRegId;

namespace {

bool setsNumber(const Instr& instr) {
  return (instr.op == Op::MOV || instr.op == Op::UMOV) && !instr.isGuarded() && instr.op_(0).isVirtual() &&
         instr.op_(0).width == 1 && instr.op_(1).isImm();
}

/// File and words of a constant.
using Number = std::pair<isa::File, std::vector<std::int32_t>>;

/// The constant that a register holds from `last` on: each of its words is set once, in the block of `last`, and `last`
/// is the last of these instructions.
std::optional<Number> numberAfter(const ori::Function& function, const Instr& last,
                                  const std::vector<std::uint32_t>& order) {
  const ori::VReg& reg = function.vreg(last.op_(0).reg);
  Number number{reg.file, std::vector<std::int32_t>(reg.width)};
  unsigned defs = 0, written = 0;
  bool isNumber = true;
  function.forEachDef(last.op_(0).reg, [&](ori::Ref def) {
    const Instr& instr = *def.owner;
    isNumber = isNumber && setsNumber(instr) && instr.block == last.block && order[instr.id] <= order[last.id];
    if (!isNumber) return;
    ++defs;
    written |= 1u << def->sub;
    number.second[def->sub] = instr.op_(1).imm;
  });
  if (!isNumber || defs != reg.width || written != (1u << reg.width) - 1) return std::nullopt;
  return number;
}

} // namespace

bool mergeEqualConstants(ori::Function& function) {
  bool changed = false;
  std::vector<std::uint32_t> order(function.instrIdCount());
  for (ori::Block* block : function.layout()) {
    std::uint32_t count = 0;
    for (const Instr& instr : *block)
      order[instr.id] = count++;
    std::map<Number, const Instr*> first; // the last instruction that writes the kept register
    std::vector<std::pair<VRegId, VRegId>> equal;
    for (const Instr& instr : *block) {
      if (!setsNumber(instr)) continue;
      std::optional<Number> number = numberAfter(function, instr, order);
      if (!number) continue;
      const auto [kept, isFirst] = first.try_emplace(std::move(*number), &instr);
      if (isFirst) continue;
      bool isReadAfter = true; // no word is read before the kept register has all of them
      function.forEachUse(instr.op_(0).reg, [&](ori::Ref use) {
        isReadAfter &= use.owner->block != block || order[use.owner->id] > order[kept->second->id];
      });
      if (isReadAfter) equal.emplace_back(instr.op_(0).reg, kept->second->op_(0).reg);
    }
    for (const auto& [from, to] : equal) {
      std::vector<Instr*> writers;
      function.forEachDef(from, [&](ori::Ref def) { writers.push_back(def.owner); });
      for (Instr* writer : writers)
        function.erase(writer);
      function.replaceAllRefs(from, to);
    }
    changed |= !equal.empty();
  }
  return changed;
}

} // namespace orias::phases
