// Narrows 64-bit sums of which only the lower word is used, also around loops.

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;
using ori::VRegId;

namespace {

/// Finds the pairs whose upper word is used only for other unused upper words.
class WordNarrower {
 public:
  explicit WordNarrower(ori::Function& function) : function_(function), isDemanded_(function.vregCount(), false) {}

  bool run() {
    std::vector<Instr*> sums, moves;
    for (ori::Block* block : function_.layout())
      for (Instr& instr : *block)
        if (isSum(instr))
          sums.push_back(&instr);
        else if (isUpperMove(instr))
          moves.push_back(&instr);
    if (sums.empty()) return false;
    const auto count = static_cast<VRegId>(isDemanded_.size());
    for (VRegId id = 0; id < count; ++id)
      if (isPair(id) && !isDemanded_[id] && isUpperRead(id)) demand(id);
    const auto isWanted = [&](const Instr* maker) { return isDemanded_[maker->op_(0).reg]; };
    std::erase_if(sums, isWanted);
    if (sums.empty()) return false;
    std::erase_if(moves, isWanted);
    for (Instr* sum : sums)
      narrow(*sum);
    for (Instr* move : moves)
      function_.erase(move);
    return true;
  }

 private:
  bool isPair(VRegId id) const { return function_.vreg(id).file == File::R && function_.vreg(id).width == 2; }

  bool isSum(const Instr& instr) const {
    const ori::Operand& result = instr.op_(0);
    return instr.op == Op::IADD64 && !instr.isGuarded() && result.isReg(File::R) && result.isVirtual() &&
           isPair(result.reg) && instr.op_(1).isReg(File::R) && instr.op_(2).isReg(File::R) &&
           !function_.vreg(result.reg).multiDef;
  }

  /// Whether this is a phi or copy to the upper word of a pair.
  bool isUpperMove(const Instr& instr) const {
    if ((instr.op != Op::PHI && instr.op != Op::COPY) || instr.isGuarded()) return false;
    const ori::Operand& result = instr.op_(0);
    return result.isReg(File::R) && result.isVirtual() && isPair(result.reg) && result.sub == 1 && result.width == 1 &&
           !function_.vreg(result.reg).multiDef;
  }

  /// Whether the upper word has a use other than computing another upper word.
  bool isUpperRead(VRegId pair) const {
    bool isRead = false;
    function_.forEachUse(pair, [&](ori::Ref use) {
      const bool isUpper = use->sub + use->width > 1;
      isRead |= isUpper && !isSum(*use.owner) && !(isUpperMove(*use.owner) && use->width == 1);
    });
    return isRead;
  }

  void demand(VRegId first) {
    std::vector<VRegId> next{first};
    isDemanded_[first] = true;
    while (!next.empty()) {
      const VRegId pair = next.back();
      next.pop_back();
      function_.forEachDef(pair, [&](ori::Ref def) {
        if (!isSum(*def.owner) && !isUpperMove(*def.owner)) return;
        for (const ori::Operand& source : def.owner->ops()) {
          if (source.isDef || !source.isVirtual() || !isPair(source.reg) || source.sub + source.width < 2) continue;
          if (isDemanded_[source.reg]) continue;
          isDemanded_[source.reg] = true;
          next.push_back(source.reg);
        }
      });
    }
  }

  void narrow(Instr& sum) {
    ori::Builder b = ori::Builder::before(function_, &sum);
    const Operand result = ori::component(sum.op_(0).value(), 0);
    Operand x = ori::component(sum.op_(1).value(), 0);
    const Operand y = ori::component(sum.op_(2).value(), 0);
    if (x.neg() && y.neg()) {
      const Operand negated = b.newR();
      b.emit(Op::IADD3, {negated, Operand::pt(), Operand::pt(), x, Operand::rz(), Operand::rz()});
      x = negated;
    }
    b.emit(Op::IADD3, {result, Operand::pt(), Operand::pt(), x, y, Operand::rz()});
    function_.erase(&sum);
  }

  ori::Function& function_;
  std::vector<bool> isDemanded_; // by virtual register: the upper word
};

} // namespace

bool narrowLongValues(ori::Function& function) {
  return function.ssa && WordNarrower(function).run();
}

} // namespace orias::phases
