#include "regalloc/bank_conflicts.h"

#include "encoder/isa/desc.h"
#include "ori/function.h"

#include <algorithm>

namespace orias::regalloc {

BankConflicts::BankConflicts(const ori::Function& function, const Webs& webs) : ofWeb_(webs.all.size()) {
  for (const ori::Block* block : function.layout()) {
    if (block->isCold) continue;
    for (const ori::Instr& instr : *block) {
      const isa::InstrDesc& row = isa::desc(instr.op);
      if (row.has(isa::Flag::Load) || row.has(isa::Flag::Store) || row.has(isa::Flag::Atomic)) continue;
      ThreeReads reads{};
      std::size_t count = 0;
      bool isPlain = true;
      for (const ori::Operand& o : instr.ops()) {
        if (o.isDef || !o.isReg(isa::File::R) || o.isZeroReg()) continue;
        isPlain &= o.isVirtual() && o.width == 1 && webs.webOf[o.reg] != ~0u && count < 3;
        if (!isPlain) break;
        reads.webs[count] = webs.webOf[o.reg];
        reads.offsets[count++] = static_cast<std::uint8_t>(webs.offsetOf[o.reg] + o.sub);
      }
      const auto isSame = [&](std::size_t a, std::size_t b) {
        return reads.webs[a] == reads.webs[b] && reads.offsets[a] == reads.offsets[b];
      };
      if (!isPlain || count != 3 || isSame(0, 1) || isSame(0, 2) || isSame(1, 2)) continue;
      reads.weight = regalloc::weightOf(instr);
      for (const std::uint32_t web : reads.webs)
        ofWeb_[web].push_back(static_cast<std::uint32_t>(all_.size()));
      all_.push_back(reads);
    }
  }
}

double BankConflicts::weightOf(std::span<const std::uint32_t> webs, const std::vector<std::uint32_t>& slotOf) const {
  double weight = 0;
  for (const std::uint32_t web : webs)
    for (const std::uint32_t i : ofWeb_[web])
      if (isConflict(all_[i], slotOf)) weight += all_[i].weight;
  return weight;
}

} // namespace orias::regalloc
