#include "phases/loop_tests.h"

#include "encoder/isa/mods.h"
#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "phases/counted_exit.h"

#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;
using ori::LoopId;

namespace {

constexpr unsigned kFirst = 2, kSecond = 3, kChained = 5; // slots of ISETP and ISETP_EX

/// The last instruction before `instr` in its block that sets the predicate, if it compares integers.
Instr* comparisonBefore(const Instr& instr, ori::VRegId predicate) {
  Instr* writer = writerBefore(instr, predicate);
  return writer && (writer->op == Op::ISETP || writer->op == Op::ISETP_EX) ? writer : nullptr;
}

class Orienter {
 public:
  explicit Orienter(ori::Function& function) : function_(function), loops_(function.analyses().loops()) {}

  bool run() {
    bool changed = false;
    for (LoopId loop = 0; loop < loops_.all().size(); ++loop) {
      // Most loops that synchronize are not unrolled, and phase 74 can make both operands uniform in their present
      // order.
      if (synchronizes(function_, loops_, loop)) continue;
      for (const auto& [from, to] : loops_.exits(loop)) {
        const Instr* branch = ori::plainBranch(*function_.block(from));
        if (branch && branch->guard().isReg(File::P) && branch->guard().isVirtual())
          changed |= orient(loop, comparisonBefore(*branch, branch->guard().reg));
      }
    }
    return changed;
  }

 private:
  bool orient(LoopId loop, Instr* compare) {
    if (!compare || !isTurned(loop, *compare)) return false;
    if (compare->op == Op::ISETP_EX) {
      const ori::Operand& chained = compare->op_(kChained);
      Instr* low = chained.isVirtual() ? comparisonBefore(*compare, chained.reg) : nullptr;
      if (!low || low->op != Op::ISETP || !isTurned(loop, *low)) return false;
      turn(*low);
    }
    turn(*compare);
    return true;
  }

  /// Whether the first operand is a loop-invariant plain register and the second one changes.
  bool isTurned(LoopId loop, const Instr& compare) {
    const ori::Operand &first = compare.op_(kFirst), &second = compare.op_(kSecond);
    const auto isPlain = [](const ori::Operand& o) {
      return o.isReg(File::R) && o.isVirtual() && !o.neg() && !o.abs() && !o.inverted();
    };
    return isPlain(first) && isPlain(second) && !changesIn(loop, first.reg) && changesIn(loop, second.reg);
  }

  void turn(Instr& compare) {
    const Operand first = compare.op_(kFirst).value(), second = compare.op_(kSecond).value();
    function_.setOperand(&compare, kFirst, second);
    function_.setOperand(&compare, kSecond, first);
    isa::setMod(compare.op, compare.mods,
                {isa::Mod::Cmp, isa::mirrored(isa::modAs<isa::ICmp>(compare, isa::Mod::Cmp))});
  }

  /// Whether the loop writes the register.
  bool changesIn(LoopId loop, ori::VRegId reg) {
    if (loop != noted_) {
      lastLoop_.resize(function_.vregCount(), ori::kNoId);
      for (const ori::BlockId block : loops_.blocks(loop))
        for (const Instr& instr : *function_.block(block))
          for (const ori::Operand& o : instr.ops())
            if (o.isDef && o.isVirtual()) lastLoop_[o.reg] = loop;
      noted_ = loop;
    }
    return lastLoop_[reg] == loop;
  }

  ori::Function& function_;
  const ori::Loops& loops_;
  LoopId noted_ = ori::kNoId;
  std::vector<LoopId> lastLoop_; ///< by register: the last examined loop that writes it
};

} // namespace

bool orientLoopTests(ori::Function& function) {
  return !function.analyses().loops().all().empty() && Orienter(function).run();
}

} // namespace orias::phases
