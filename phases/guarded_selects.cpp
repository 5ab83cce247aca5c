#include "phases/guarded_selects.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/local_scan.h"
#include "phases/removable.h"
#include "phases/split_components.h"

#include <algorithm>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr unsigned kCopiesFarther = 16; ///< a copy of the result may be this many times as far away as a select

/// One word of a result, and the select that reads it.
struct Choice {
  Instr* select = nullptr;
  Operand to, other;
  Instr* copy = nullptr; ///< copies the select's result to `to`; null if the select writes `to` itself
};

class GuardedSelects {
 public:
  GuardedSelects(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context),
        distance_(static_cast<unsigned>(context.knobs.get(Knob::BackCopyMaxDistance))) {}

  bool run() {
    bool changed = false;
    for (ori::Block* block : function_.layout())
      // visit() erases selects after the instruction, often the next one.
      for (Instr* instr = block->first; instr; instr = instr->next)
        if (const ori::Operand* result = onlyResult(*instr)) changed |= visit(*instr, *result);
    return changed;
  }

 private:
  /// The only result of a guarded or plain arithmetic instruction; null unless it is a whole register of file R with no
  /// other definition.
  const ori::Operand* onlyResult(const Instr& instr) const {
    const Operand guard = instr.guard().value();
    if (instr.isGuarded() ? guard.file != File::P || !guard.isVirtual() : !mayBeGuarded(instr)) return nullptr;
    const ori::Operand* result = nullptr;
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isDef || !o.isReg() || o.isZeroReg()) continue;
      if (result || o.file != File::R || !isPlainRegister(o.value())) return nullptr;
      result = &o;
    }
    if (!result || result->sub != 0 || result->width != function_.vreg(result->reg).width) return nullptr;
    return result;
  }

  static bool mayBeGuarded(const Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    for (const isa::Flag flag :
         {isa::Flag::Load, isa::Flag::Convergent, isa::Flag::WarpWide, isa::Flag::Volatile, isa::Flag::Pseudo})
      if (row.has(flag)) return false;
    return isRemovable(instr) && row.pipe != isa::Pipe::Mma && row.pipe != isa::Pipe::Tex;
  }

  /// The predicate for which a select takes the result. None if no select in this block reads it.
  Operand takersOf(const Instr& instr, const ori::Operand& result) const {
    ori::Ref use;
    function_.forEachUse(result.reg, [&](ori::Ref o) { use = o; });
    if (!use.owner || use.owner->op != Op::SEL || use.owner->block != instr.block) return {};
    const Operand which = use.owner->op_(3).value();
    if (!which.isReg(File::P) || !which.isVirtual()) return {};
    return use.index() == 1 ? which : which.notted();
  }

  bool visit(Instr& instr, const ori::Operand& result) {
    // Each word must have one reader, a select.
    if (countRefs(function_, result.value(), 2u * result.width) != 1u + result.width) return false;
    const Operand guard = instr.isGuarded() ? instr.guard().value() : takersOf(instr, result);
    if (guard.isNone()) return false;
    std::vector<Choice> choices(result.width);
    unsigned left = distance_, found = 0;
    const Instr* last = &instr;
    for (Instr* at = instr.next; at && found < result.width; at = at->next) {
      if (left-- == 0) return false;
      if (writes(*at, guard)) return false;
      last = at;
      if (!reads(*at, result.value())) continue;
      if (at->op != Op::SEL || !note(*at, guard, result.value(), choices)) return false;
      ++found;
    }
    if (found < result.width) return false;
    std::vector<Choice> back = choices;
    if (const Instr* copied = goBackByCopies(instr, back); copied && mayWriteOver(instr, *copied, back)) {
      choices = std::move(back);
    } else {
      if (instr.isGuarded() && whole(choices).isNone()) joinResults(choices);
      if (!mayWriteOver(instr, *last, choices)) return false;
    }
    context_.remarks.applied(choices[0].select, "select removed: the guarded instruction writes over the other value");
    ori::Builder b = ori::Builder::before(function_, &instr);
    b.setSource(choices[0].select->source);
    for (const Choice& choice : choices)
      if (choice.other != choice.to) b.emit(Op::MOV, {choice.to, choice.other});
    function_.setOperand(&instr, static_cast<unsigned>(&result - instr.operands), whole(choices));
    if (!instr.isGuarded()) function_.setGuard(&instr, guard);
    for (const Choice& choice : choices) {
      function_.erase(choice.select);
      if (choice.copy) function_.erase(choice.copy);
    }
    return true;
  }

  /// Records the word if the select takes it in the lanes that run the instruction, and `other` in the other lanes.
  static bool note(Instr& select, const Operand& guard, const Operand& result, std::vector<Choice>& choices) {
    if (select.isGuarded()) return false;
    const Operand to = select.op_(0).value(), yes = select.op_(1).value(), no = select.op_(2).value();
    const Operand which = select.op_(3).value();
    if (which.reg != guard.reg || which.file != guard.file || !which.isVirtual()) return false;
    const bool sameSense = which.inverted() == guard.inverted();
    const Operand mine = sameSense ? yes : no, other = sameSense ? no : yes;
    if (!isPlainRegister(mine) || mine.reg != result.reg || mine.width != 1 || overlap(other, result)) return false;
    if (!isPlainRegister(to) || to.reg == result.reg) return false;
    const bool isMovable = other.isImm() || other.isZeroReg() || isPlainRegister(other) || isOfWarp(other);
    Choice& choice = choices[mine.sub];
    if (choice.select || !isMovable) return false;
    choice = {&select, to, other};
    return true;
  }

  /// Whether this is one word of the constant bank or of a uniform register.
  static bool isOfWarp(const Operand& o) {
    if (o.neg() || o.abs() || o.inverted()) return false;
    return o.isConst() ? o.reg == Operand::kNoReg : o.isReg(File::UR) && o.isVirtual();
  }

  /// For selects whose results are only copied back to the other values, as where the sum of a loop changes in some
  /// lanes: makes the other values the results. Returns the last copy. Null otherwise; `choices` must then be dropped.
  const Instr* goBackByCopies(const Instr& instr, std::vector<Choice>& choices) const {
    for (Choice& choice : choices) {
      if (!isPlainRegister(choice.other) || function_.singleDef(choice.to.reg) != choice.select ||
          function_.vreg(choice.to.reg).width != 1)
        return nullptr;
      Instr*& copy = choice.copy;
      unsigned uses = 0;
      function_.forEachUse(choice.to.reg, [&](ori::Ref o) { copy = o.owner, ++uses; });
      if (uses != 1 || !isa::desc(copy->op).has(isa::Flag::Copy) || copy->isGuarded() || copy->block != instr.block ||
          copy->op_(0).value() != choice.other || copy->op_(1).value() != choice.to)
        return nullptr;
    }
    const Instr* last = nullptr;
    std::size_t found = 0;
    unsigned left = kCopiesFarther * distance_;
    for (const Instr* at = instr.next; at && found < choices.size() && left-- > 0; at = at->next)
      if (std::ranges::find(choices, at, &Choice::copy) != choices.end()) {
        ++found;
        last = at;
      }
    if (found < choices.size()) return nullptr;
    for (Choice& choice : choices)
      choice.to = choice.other;
    return last;
  }

  /// The words of the results as one operand; none if they are not consecutive.
  static Operand whole(const std::vector<Choice>& choices) {
    Operand all = choices[0].to;
    for (unsigned w = 1; w < choices.size(); ++w)
      if (choices[w].to.reg != all.reg || choices[w].to.sub != all.sub + w) return {};
    all.width = static_cast<std::uint8_t>(choices.size());
    return all;
  }

  /// Puts results in separate registers into one wide register. Phase 97 splits it again if the transformation fails.
  void joinResults(std::vector<Choice>& choices) {
    for (const Choice& choice : choices)
      if (function_.vreg(choice.to.reg).width != 1 || function_.singleDef(choice.to.reg) != choice.select) return;
    const std::string_view name = function_.vreg(choices[0].to.reg).name;
    const Operand all = function_.use(function_.newVReg(File::R, static_cast<unsigned>(choices.size()), name));
    for (unsigned w = 0; w < choices.size(); ++w) {
      const Operand word = ori::component(all, w);
      renameWords(function_, choices[w].to.reg, std::span(&word, 1));
      choices[w].to = word;
    }
  }

  /// Whether the instruction may overwrite the other values in place of the selects. `last` is the last select, or the
  /// last copy of a result.
  bool mayWriteOver(const Instr& instr, const Instr& last, const std::vector<Choice>& choices) const {
    const Operand to = whole(choices);
    if (to.isNone() || !isAlignedPart(function_, to)) return false;
    // Without in-place words, an unguarded instruction would gain nothing: each select would become a copy.
    const bool isInPlace = std::ranges::all_of(choices, [](const Choice& c) { return c.other == c.to; });
    if (!isInPlace && (!instr.isGuarded() || reads(instr, to))) return false;
    return mayWriteEarly(instr, last, to, choices);
  }

  /// From the instruction to the last select, only the selects may use the result registers, and the other values must
  /// not change.
  static bool mayWriteEarly(const Instr& instr, const Instr& last, const Operand& to,
                            const std::vector<Choice>& choices) {
    for (const Instr* at = instr.next;; at = at->next) {
      bool isOurs = false;
      for (const Choice& choice : choices) {
        isOurs |= choice.select == at || choice.copy == at;
        if (choice.other.isVirtual() && choice.other != choice.to && writes(*at, choice.other)) return false;
      }
      if (!isOurs && (reads(*at, to) || writes(*at, to))) return false;
      if (at == &last) break;
    }
    // A select may read a word of the result as its other value only if it is the word that it writes.
    for (const Choice& choice : choices)
      if (choice.other != choice.to && overlap(choice.other, to)) return false;
    return true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const unsigned distance_;
};

} // namespace

bool writeOverOtherValues(ori::Function& function, PhaseContext& context) {
  return GuardedSelects(function, context).run();
}

} // namespace orias::phases
