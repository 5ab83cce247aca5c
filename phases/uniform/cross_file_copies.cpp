#include "phases/uniform/cross_file_copies.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "ori/calls.h"
#include "phases/optimize/single_def_values.h"

#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::Instr;

namespace {

/// A vector register plus a constant.
struct Sum {
  Operand root;
  std::uint32_t added = 0;
};

/// A value that is copied to the uniform file this often in a block is copied once. For two, the longer chain would not
/// pay.
constexpr std::size_t kFewest = 3;
/// The most uniform registers that may hold such values at a time, in a block.
constexpr std::size_t kMaxHeld = 12;

class CopySharing {
 public:
  explicit CopySharing(ori::Function& function) : function_(function), isSingle_(singleDefValues(function)) {}

  unsigned run() {
    unsigned gone = 0;
    for (Block* block : function_.layout())
      gone += share(*block);
    return gone;
  }

 private:
  using Key = std::pair<ori::VRegId, unsigned>; // register and component

  unsigned share(Block& block) {
    unsigned gone = 0;
    std::map<Key, std::vector<std::pair<Instr*, Sum>>> copies;
    std::vector<Key> order; // of their first cross-file copies, so that the result does not depend on register numbers
    const auto finish = [&] {
      std::size_t held = 0;
      for (const Key& key : order)
        if (const auto& some = copies[key]; some.size() >= kFewest && held++ < kMaxHeld) gone += bringOnce(some);
      copies.clear();
      order.clear();
    };
    for (Instr& instr : block) {
      if (ori::isCall(instr)) finish(); // calls may change uniform registers
      if (instr.op != Op::R2UR || instr.isGuarded() || !instr.op_(0).isZeroReg() || !isPlain(instr.op_(2).value()))
        continue;
      const Sum sum = sumOf(instr.op_(2).value());
      if (!isSingle_[sum.root.reg]) continue;
      const Key key{sum.root.reg, sum.root.sub};
      auto& some = copies[key];
      if (some.empty()) order.push_back(key);
      some.emplace_back(&instr, sum);
    }
    finish();
    return gone;
  }

  static bool isPlain(const Operand& o) {
    return o.isVirtual() && o.isReg(File::R) && !o.isZeroReg() && o.width == 1 && !o.neg() && !o.abs() &&
           !o.inverted() && o.half == Operand::Half::None;
  }

  Sum sumOf(Operand o) const {
    Sum sum{o, 0};
    while (isSingle_[sum.root.reg]) {
      const Instr* def = function_.singleDef(sum.root.reg);
      if (!def || def->isGuarded() || def->op != Op::IADD3 || def->op_(0).value() != sum.root ||
          !def->op_(1).isZeroReg() || !def->op_(2).isZeroReg())
        break;
      // A register and numbers, in any order.
      Operand next;
      std::uint32_t added = sum.added;
      bool isSum = true;
      for (unsigned slot = 3; slot < 6; ++slot) {
        const Operand term = def->op_(slot).value();
        if (term.isImm())
          added += static_cast<std::uint32_t>(term.imm);
        else if (term.isZeroReg())
          continue;
        else if (next.isNone() && isPlain(term))
          next = term;
        else
          isSum = false;
      }
      if (!isSum || next.isNone() || !isSingle_[next.reg]) break;
      sum = {next, added};
    }
    return sum;
  }

  unsigned bringOnce(const std::vector<std::pair<Instr*, Sum>>& copies) {
    Instr* first = copies.front().first;
    const Operand brought = function_.use(function_.newVReg(File::UR));
    ori::Builder b = ori::Builder::before(function_, first);
    b.setSource(first->source);
    b.emit(Op::R2UR, {Operand::pt(), brought, copies.front().second.root});
    for (const auto& [instr, sum] : copies) {
      const Operand to = instr->op_(1).value(), nothing = Operand::zero(File::UP);
      const std::array copy{to, brought};
      const std::array add{to,
                           nothing,
                           nothing,
                           brought,
                           Operand::immediate(static_cast<std::int32_t>(sum.added)),
                           Operand::zero(File::UR)};
      const bool isCopy = sum.added == 0;
      const Op op = isCopy ? Op::UMOV : Op::UIADD3;
      function_.rewrite(instr, op, isCopy ? std::span<const Operand>(copy) : add);
      instr->mods = isa::makeInst(op).mods;
      function_.setGuard(instr, nothing);
    }
    return static_cast<unsigned>(copies.size() - 1);
  }

  ori::Function& function_;
  std::vector<bool> isSingle_; ///< by virtual register, of the original ones
};

} // namespace

unsigned shareCrossFileCopies(ori::Function& function) {
  return CopySharing(function).run();
}

} // namespace orias::phases
