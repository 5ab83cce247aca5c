#include "encoder/isa/desc.h"
#include "phases/guarded_selects.h"
#include "phases/local_scan.h"
#include "phases/phases.h"
#include "phases/speculation.h"

#include <string>
#include <utility>
#include <vector>

namespace orias::phases {

using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// Results of more registers than this may not overwrite an instruction's sources.
constexpr unsigned kWidestInPlace = 2;

/// The definition of the copied value, and its other readers.
struct Found {
  Instr* def = nullptr;
  unsigned slot = 0;
  std::vector<std::pair<Instr*, unsigned>> readers; ///< operand numbers
};

class BackCopies {
 public:
  BackCopies(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context),
        distance_(static_cast<unsigned>(context.knobs.get(Knob::BackCopyMaxDistance))) {}

  bool run() {
    bool changed = false;
    // From the end: an instruction that has become a copy into the next of a chain is visited again.
    for (ori::Block* block : function_.layout())
      for (Instr *instr = block->last, *before; instr; instr = before) {
        before = instr->prev;
        if (isCopy(*instr)) changed |= visit(*instr);
      }
    return changed;
  }

 private:
  static bool isCopy(const Instr& instr) {
    if (!isa::desc(instr.op).has(isa::Flag::Copy)) return false;
    // A MOV may write some lanes of each quad only.
    if (instr.operandCount > 2 && !instr.op_(2).isNone() && instr.op_(2).imm != 15) return false;
    const Operand to = instr.op_(0).value(), from = instr.op_(1).value();
    return isPlainRegister(to) && isPlainRegister(from) && to.file == from.file && to.width == from.width &&
           to.reg != from.reg;
  }

  bool reportMissed(const Instr& copy, const char* why) {
    context_.remarks.missed(&copy, std::string("copy not removed: ") + why);
    return false;
  }

  bool visit(Instr& copy) {
    const Operand to = copy.op_(0).value(), from = copy.op_(1).value();
    Found found;
    if (!find(copy, found)) return false;
    if (!isAlignedPart(function_, to)) return reportMissed(copy, "its result is not aligned");
    if (function_.vreg(to.reg).align < ori::defaultAlign(to.width))
      return reportMissed(copy, "its result is not aligned");
    for (const ori::Operand& o : found.def->refs()) {
      if (!overlap(o.value(), to)) continue;
      if (o.isDef) return reportMissed(copy, "the definition of its source also writes its result");
      if (to.width > kWidestInPlace)
        return reportMissed(copy, "the definition of its source would overwrite its own operands");
    }
    for (const auto& [reader, slot] : found.readers)
      if (reader->op_(slot).width > 1 && !isAlignedPart(function_, moved(reader->op_(slot).value(), from, to)))
        return reportMissed(copy, "a use needs it aligned");
    if (copy.isGuarded()) return guard(copy, found);
    context_.remarks.applied(&copy, "copy removed: its source is computed in place");
    for (const auto& [reader, slot] : found.readers)
      function_.setOperand(reader, slot, moved(reader->op_(slot).value(), from, to));
    function_.setOperand(found.def, found.slot, to);
    function_.erase(&copy);
    return true;
  }

  /// The copy is guarded. Moves the value's definition here, under the same guard.
  bool guard(Instr& copy, const Found& found) {
    Instr& def = *found.def;
    if (!found.readers.empty()) return reportMissed(copy, "it is guarded, and its source has other uses");
    if (speculationOf(function_, def) != Speculation::Free || !hasOneResult(def))
      return reportMissed(copy, "it is guarded, and its source cannot be");
    if (!hasSameResultAt(def, copy, distance_)) return reportMissed(copy, "an operand of its source is overwritten");
    context_.remarks.applied(&copy, "copy removed: its source is computed in place, under the guard of the copy");
    function_.setOperand(&def, found.slot, copy.op_(0).value());
    function_.setGuard(&def, copy.guard().value());
    function_.unlink(&def);
    function_.insertBefore(&copy, &def);
    function_.erase(&copy);
    return true;
  }

  static bool hasOneResult(const Instr& instr) {
    unsigned results = 0;
    for (const ori::Operand& o : instr.ops())
      results += o.isDef && o.isReg() && !o.isZeroReg();
    return results == 1;
  }

  /// The same part of the register that replaces `from`.
  static Operand moved(Operand operand, const Operand& from, const Operand& to) {
    operand.reg = to.reg;
    operand.sub = static_cast<std::uint8_t>(operand.sub - from.sub + to.sub);
    return operand;
  }

  static bool contains(const Operand& whole, const Operand& part) {
    return part.sub >= whole.sub && part.sub + part.width <= whole.sub + whole.width;
  }

  /// Searches upwards for the value's definition, and downwards for its readers after the copy. The result must not be
  /// referred to before the copy, nor changed where the value is read.
  bool find(const Instr& copy, Found& found) {
    const Operand to = copy.op_(0).value(), from = copy.op_(1).value();
    const std::size_t refs = countRefs(function_, from, distance_);
    if (refs > distance_) return false;
    unsigned left = distance_;
    for (Instr* instr = copy.prev;; instr = instr->prev) {
      if (!instr || left-- == 0) return false;
      if (writes(*instr, from)) {
        for (unsigned i = 0; i < instr->operandCount; ++i)
          if (instr->op_(i).isDef && instr->op_(i).value() == from) found = {instr, i, std::move(found.readers)};
        break;
      }
      if (reads(*instr, to) || writes(*instr, to)) return reportMissed(copy, "its result is used before it");
      if (!addReaders(*instr, from, found)) return reportMissed(copy, "a component of it is used");
    }
    if (!found.def || found.def->isGuarded() || found.def->op == Op::PHI)
      return reportMissed(copy, "its source is written by component or under a guard");
    if (reads(*found.def, from)) return reportMissed(copy, "its source is computed from its old value");
    bool isChanged = false;
    for (Instr* instr = copy.next; instr && left > 0 && found.readers.size() + 2 < refs; instr = instr->next, --left) {
      if (isChanged && reads(*instr, from))
        return reportMissed(copy, "its source is live when the result is overwritten");
      if (!addReaders(*instr, from, found)) return reportMissed(copy, "a component of it is used");
      isChanged |= writes(*instr, to);
    }
    if (found.readers.size() + 2 != refs) return reportMissed(copy, "its source is live after it");
    return true;
  }

  static bool addReaders(Instr& instr, const Operand& from, Found& found) {
    if (overlap(instr.guard().value(), from)) return false;
    for (unsigned i = 0; i < instr.operandCount; ++i) {
      const ori::Operand& o = instr.op_(i);
      if (o.isDef || !overlap(o.value(), from)) continue;
      if (!contains(from, o.value())) return false;
      found.readers.emplace_back(&instr, i);
    }
    return true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const unsigned distance_;
};

} // namespace

/// Phase 83. Computes a copied value directly in the copy's destination, when the source has no other use. Leaving SSA
/// form has coalesced copies of whole, alike registers. Words of tuples, chains, and guarded copies are left. A select
/// of the result of a guarded instruction is such a copy, too.
bool oriBackCopyPropagate(ori::Function& function, PhaseContext& context) {
  const bool changed = writeOverOtherValues(function, context);
  return BackCopies(function, context).run() || changed;
}

} // namespace orias::phases
