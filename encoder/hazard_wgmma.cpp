#include "encoder/hazard_wgmma.h"

#include <algorithm>
#include <bitset>
#include <map>

namespace orias::hazard {

namespace {

using isa::Inst;
using isa::Op;

using Registers = std::bitset<256>;

struct Product {
  Registers sum, factors;
  unsigned shape = 0;
  std::string_view kind;
  bool closesGroup = false;

  /// Whether both accumulate into the same registers: they execute in sequence.
  bool hasSumOf(const Product& other) const { return sum == other.sum && shape == other.shape && kind == other.kind; }
};

/// The products that may be in flight, by word, and the minimum number of groups that have ended since, including the
/// product's own.
using UnderWay = std::map<std::uint32_t, unsigned>;

class Walker {
 public:
  Walker(std::span<const std::optional<Inst>> instructions, std::span<const encoder::FlowBlock> blocks,
         const isa::Target& target)
      : instructions_(instructions), blocks_(blocks), target_(target) {}

  std::vector<Violation> run() {
    for (std::uint32_t i = 0; i < instructions_.size(); ++i)
      if (instructions_[i] &&
          isa::latencyClassOf(instructions_[i]->op, instructions_[i]->mods) == isa::LatencyClass::Gmma)
        products_.emplace(i, describe(*instructions_[i]));
    if (products_.empty()) return {};
    std::vector<UnderWay> entry(blocks_.size());
    for (bool again = true; again;) {
      again = false;
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        UnderWay now = entry[b];
        walk(blocks_[b], now);
        for (const encoder::FlowEdge& edge : blocks_[b].successors)
          for (const auto& [product, ended] : now) {
            const auto [at, isNew] = entry[edge.to].emplace(product, ended);
            again |= isNew || ended < at->second;
            at->second = std::min(at->second, ended);
          }
      }
    }
    isReporting_ = true;
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      walk(blocks_[b], entry[b]);
    return std::move(found_);
  }

 private:
  Product describe(const Inst& inst) const {
    const isa::InstrDesc& row = isa::desc(inst.op);
    Product p;
    isa::forEachTouch(inst, target_, [&](const isa::Touch& t) {
      if (t.file != isa::File::R) return;
      const bool isSum = t.isDef || t.access.port == isa::Access::Port::Addend;
      (isSum ? p.sum : p.factors).set(t.reg & 0xff);
    });
    p.shape = isa::getMod(inst, isa::Mod::Geometry);
    p.kind = row.name;
    p.closesGroup = inst.operands[row.slot(isa::SlotId::gsb)].imm == 0;
    return p;
  }

  void walk(const encoder::FlowBlock& block, UnderWay& now) {
    bool hasArrived = false; // ptxas places a WARPGROUP.ARRIVE for each group, in the block of the wgmma
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      if (!instructions_[i]) continue;
      const Inst& inst = *instructions_[i];
      if (inst.op == Op::WARPGROUP_ARRIVE) hasArrived = true;
      if (inst.op == Op::WARPGROUP_DEPBAR) {
        hasArrived = false;
        const int count = isa::desc(inst.op).slotIndex(isa::SlotId::count);
        const auto left = static_cast<unsigned>(inst.operands[static_cast<std::size_t>(count)].imm);
        std::erase_if(now, [&](const auto& entry) { return entry.second > left; });
        continue;
      }
      const auto product = products_.find(i);
      if (product == products_.end()) {
        if (isReporting_ && !now.empty()) check(i, inst, now);
        continue;
      }
      if (isReporting_) {
        check(i, product->second, now);
        if (!hasArrived) found_.push_back({Kind::NoArrival, i, i, isa::File::R, 0, 0, 0, isa::Evidence::Observed});
      }
      hasArrived &= !product->second.closesGroup;
      now[i] = 0;
      constexpr unsigned kMax = 8; // a wait leaves no more in flight
      if (product->second.closesGroup)
        for (auto& [other, ended] : now)
          ended = std::min(kMax, ended + 1);
    }
  }

  void check(std::uint32_t index, const Inst& inst, const UnderWay& now) {
    isa::forEachTouch(inst, target_, [&](const isa::Touch& t) {
      if (t.file != isa::File::R) return;
      for (const auto& [first, ended] : now) {
        const Product& p = products_.at(first);
        if (p.sum.test(t.reg & 0xff) || (t.isDef && p.factors.test(t.reg & 0xff))) complain(first, index, t.reg);
      }
    });
  }

  void check(std::uint32_t index, const Product& product, const UnderWay& now) {
    if (const Registers own = product.factors & product.sum; own.any())
      complain(index, index, static_cast<std::uint32_t>(own._Find_first()));
    for (const auto& [first, ended] : now) {
      const Product& before = products_.at(first);
      Registers shared = (product.factors & before.sum) | (product.sum & before.factors);
      if (!product.hasSumOf(before)) shared |= product.sum & before.sum;
      if (shared.any()) complain(first, index, static_cast<std::uint32_t>(shared._Find_first()));
    }
  }

  void complain(std::uint32_t first, std::uint32_t second, std::uint32_t reg) {
    const auto isSaid = [&](const Violation& v) { return v.first == first && v.second == second; };
    if (std::ranges::any_of(found_, isSaid)) return;
    found_.push_back({Kind::ProductUnderWay, first, second, isa::File::R, reg, 0, 0, isa::Evidence::Observed});
  }

  std::span<const std::optional<Inst>> instructions_;
  std::span<const encoder::FlowBlock> blocks_;
  const isa::Target& target_;
  std::map<std::uint32_t, Product> products_; // by word
  std::vector<Violation> found_;
  bool isReporting_ = false;
};

} // namespace

std::vector<Violation> checkProducts(std::span<const std::optional<Inst>> instructions,
                                     std::span<const encoder::FlowBlock> blocks, const isa::Target& target) {
  return Walker(instructions, blocks, target).run();
}

} // namespace orias::hazard
