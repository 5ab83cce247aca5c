#include "phases/remat/demote_induction_variables.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/optimize/phis.h"
#include "phases/optimize/rule_table.h"
#include "phases/remat/long_range.h"
#include "phases/split_components.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::BlockId;
using ori::component;
using ori::Instr;

namespace {

// Levels of the knob. Level 4 is for counters that are merged (share_pointers.h).
constexpr std::int64_t kNothingAdded = 1, kNothingLost = 2, kWithSign = 3, kAlways = 5;
/// An instruction in the loop counts as this many outside of it.
constexpr int kLoopWeight = 4;
constexpr std::int64_t kMaxCleanUps = 4;

/// A long value that its low word determines.
struct Narrow {
  Long value;
  LongRange range;
  bool hasSign = false;
};

/// A counter and the values derived from it.
struct Demotion {
  const LongCounter* counter = nullptr;
  std::vector<Narrow> values; ///< the counter first
  int gain = 0;               ///< instructions, weighted
  int added = 0;
};

class Demoter {
 public:
  Demoter(ori::Function& function, PhaseContext& context, std::int64_t level)
      : function_(function), context_(context), level_(level), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()), rewriter_(function),
        ranges_(rewriter_, cfg_, dominators_, loops_) {}

  bool run() {
    std::vector<Demotion> chosen;
    for (const LongCounter& counter : ranges_.counters())
      if (auto demotion = planFor(counter)) chosen.push_back(std::move(*demotion));
    if (chosen.empty()) return false;
    for (const Demotion& d : chosen)
      for (const Narrow& narrow : d.values)
        narrow_[keyOf(narrow.value.high)] = narrow;
    shortenTests();
    for (const Demotion& d : chosen) {
      doomed_.push_back(d.counter->highPhi);
      for (const Narrow& narrow : d.values)
        if (&narrow != &d.values[0]) doomed_.push_back(rewriter_.definition(narrow.value.high).instr);
    }
    std::sort(doomed_.begin(), doomed_.end());
    for (const Demotion& d : chosen)
      for (const Narrow& narrow : d.values)
        replaceHighWord(narrow);
    eraseDoomed();
    foldPhisOfNumbers();
    static constexpr RuleTable kRules{simplifyPhi,    propagateCopies,    foldConstants,
                                      foldComparison, foldLongComparison, simplifyAlgebra};
    Rewriter(function_).run(kRules, kMaxCleanUps);
    for (const Demotion& d : chosen)
      for (const Narrow& narrow : d.values)
        shrink(narrow.value.low.reg, &narrow == &d.values[0] ? "newBaseIV" : "demoteIV");
    return true;
  }

 private:
  static std::pair<ori::VRegId, unsigned> keyOf(const Operand& word) { return {word.reg, word.sub}; }

  bool isIn(const Demotion& d, BlockId block) const { return loops_.contains(d.counter->loop, block); }

  // --- profitability

  std::optional<Demotion> planFor(const LongCounter& counter) {
    const Instr* where = counter.lowPhi;
    if (!counter.range) {
      note(2, fmt::format("{}: no range", print(counter)));
      return std::nullopt;
    }
    note(2, fmt::format("{}: {} to {}", print(counter), counter.range->least, counter.range->most));
    const bool hasSign = !counter.range->fitsUnsigned();
    if (hasSign && (!counter.range->fitsSigned() || level_ < kWithSign)) return std::nullopt;
    Demotion d;
    d.counter = &counter;
    d.values.push_back({counter.value, *counter.range, hasSign});
    for (BlockId id : loops_.blocks(counter.loop))
      for (const Instr& instr : *function_.block(id)) {
        const auto value = ranges_.sumOf(instr);
        const auto more = value ? ranges_.distance(counter, *value) : std::nullopt;
        if (!more) continue;
        const LongRange range{counter.range->least + more->least, counter.range->most + more->most};
        if (hasSign ? range.fitsSigned() : range.fitsUnsigned()) d.values.push_back({*value, range, hasSign});
      }
    if (!weigh(d)) {
      context_.remarks.missed(where, "induction variable not demoted to 32 bits: a phi uses the pair");
      return std::nullopt;
    }
    const bool isGood = level_ == kNothingAdded ? d.added == 0 : level_ >= kAlways || d.gain >= 0;
    if (!isGood) {
      context_.remarks.missed(where, "induction variable not demoted to 32 bits: its uses need 64 bits", d.added);
      return std::nullopt;
    }
    context_.remarks.applied(
        where, fmt::format("demoted an induction variable from 64 to 32 bits{}", hasSign ? ", signed" : ""), d.gain);
    note(1, fmt::format("demoteIV {}: {} to {}, {} values", print(counter), counter.range->least, counter.range->most,
                        d.values.size()));
    return d;
  }

  /// Computes the gain of a demotion; false when it cannot be done.
  bool weigh(Demotion& d) {
    bool canBe = true;
    for (const Narrow& narrow : d.values) {
      const auto weightAt = [&](const Instr& instr) { return isIn(d, instr.block->id) ? kLoopWeight : 1; };
      if (&narrow != &d.values[0]) d.gain += kLoopWeight;
      std::set<BlockId> signs; // blocks that need a word for the sign
      function_.forEachUse(narrow.value.high.reg, [&](ori::Ref use) {
        if (!names(*use, narrow.value.high)) return;
        Instr& user = *use.owner;
        const int weight = weightAt(user);
        if (use->width != 1) {
          const bool isPair = use->width == 2 && user.op != Op::PHI && narrow.value.low.reg == narrow.value.high.reg &&
                              narrow.value.low.sub == use->sub;
          canBe &= isPair;
          if (isPair && canConvertShort(user, narrow)) return;
          d.added += 2;
          d.gain -= 2 * weight;
          return;
        }
        if (user.op == Op::ISETP_EX && isShortTest(d, user)) {
          d.gain += weight;
          return;
        }
        if (&user == d.counter->highPhi || !narrow.hasSign || isSumOf(d, user) || takesSign(use, narrow)) return;
        const BlockId at = placeOf(use);
        if (!signs.insert(at).second) return;
        ++d.added;
        d.gain -= isIn(d, at) ? kLoopWeight : 1;
      });
    }
    return canBe;
  }

  static bool names(const ori::Operand& use, const Operand& word) {
    return use.sub <= word.sub && word.sub < use.sub + use.width;
  }

  static bool isSumOf(const Demotion& d, const Instr& user) {
    return std::any_of(d.values.begin() + 1, d.values.end(),
                       [&](const Narrow& n) { return n.value.high == user.op_(0).value(); });
  }

  static const Narrow* find(const Demotion& d, const Long& value) {
    for (const Narrow& n : d.values)
      if (n.value == value) return &n;
    return nullptr;
  }

  bool isShortTest(const Demotion& d, Instr& compare) const {
    const auto test = ranges_.comparisonOf(compare);
    if (!test) return false;
    const auto rangeOf = [&](const Long& side) {
      const Narrow* n = find(d, side);
      return n ? std::optional(n->range) : ranges_.of(side, compare.block->id);
    };
    return typeOf(*test, rangeOf(test->left), rangeOf(test->right)).has_value();
  }

  /// The integer type with which the low words alone compare alike.
  static std::optional<isa::IntType> typeOf(const LongComparison& test, const std::optional<LongRange>& left,
                                            const std::optional<LongRange>& right) {
    if (!left || !right) return std::nullopt;
    if (left->fitsUnsigned() && right->fitsUnsigned()) return isa::IntType::U32;
    if (left->fitsSigned() && right->fitsSigned()) return test.isSigned ? isa::IntType::S32 : isa::IntType::U32;
    return std::nullopt;
  }

  /// Whether the user is LEA.HI.X, which has a form that takes the sign of its other source.
  static bool takesSign(ori::Ref use, const Narrow& narrow) {
    const Instr& user = *use.owner;
    return user.op == Op::LEA_HI_X && use.index() == 4 && user.op_(2).value() == narrow.value.low &&
           isUnused(user.op_(1).value());
  }

  /// Whether the user converts 64 bits to a float and can convert 32 bits instead.
  static bool canConvertShort(const Instr& user, const Narrow& narrow) {
    if (user.op != Op::I2F_64 || user.isGuarded()) return false;
    const auto source = static_cast<isa::IntFmt>(isa::getMod(user.op, user.mods, Mod::SrcFmt));
    return source == isa::IntFmt::S64 || (source == isa::IntFmt::U64 && !narrow.hasSign);
  }

  // --- transformation

  /// Folds phis all of whose sources are the same number: high words after their loops.
  void foldPhisOfNumbers() {
    const Rewriter rewriter(function_);
    std::vector<std::pair<Instr*, Operand>> folded;
    for (ori::Block* block : function_.layout())
      for (Instr& phi : *block) {
        if (phi.op != Op::PHI) break;
        if (!phi.op_(0).isReg(File::R) || phi.operandCount < 3) continue;
        const auto number = rewriter.constantOf(phi.op_(1).value());
        bool isSame = number.has_value();
        for (unsigned i = 3; isSame && i < phi.operandCount; i += 2)
          isSame = rewriter.constantOf(phi.op_(i).value()) == number;
        if (isSame) folded.emplace_back(&phi, Operand::immediate(static_cast<std::int32_t>(*number)));
      }
    for (const auto& [phi, number] : folded)
      becomeCopy(function_, *phi, number);
  }

  /// Replaces comparisons that the low words alone decide by one instruction.
  void shortenTests() {
    std::vector<std::pair<LongComparison, isa::IntType>> tests;
    const auto rangeOf = [&](const Long& side, BlockId at) -> std::optional<LongRange> {
      const Narrow* narrow = narrowOf(side);
      return narrow ? std::optional(narrow->range) : ranges_.of(side, at);
    };
    for (const ori::Block* block : function_.layout())
      for (Instr& instr : *block) {
        const auto test = ranges_.comparisonOf(instr);
        if (!test || (!narrowOf(test->left) && !narrowOf(test->right))) continue;
        const auto type = typeOf(*test, rangeOf(test->left, block->id), rangeOf(test->right, block->id));
        if (type) tests.emplace_back(*test, *type);
      }
    for (const auto& [test, type] : tests) {
      ori::Builder b = ori::Builder::before(function_, test.high);
      b.setSource(test.high->source);
      const Operand operands[]{test.high->op_(0).value(), test.high->op_(1).value(), test.low->op_(2).value(),
                               test.low->op_(3).value(), test.high->op_(4).value()};
      const isa::ModValue mods[]{
          {Mod::Cmp, test.comparison}, {Mod::Type, type}, {Mod::Bool, isa::modAs<isa::BoolOp>(*test.high, Mod::Bool)}};
      b.emit(Op::ISETP, operands, mods);
      function_.erase(test.high);
    }
  }

  const Narrow* narrowOf(const Long& value) const {
    if (!value.high.isVirtual()) return nullptr;
    const auto found = narrow_.find(keyOf(value.high));
    return found != narrow_.end() && found->second.value == value ? &found->second : nullptr;
  }

  /// Erases the high words and their carries, which are dead now.
  void eraseDoomed() {
    for (Instr* instr : doomed_) {
      Operand carry;
      for (const ori::Operand& o : instr->ops())
        if (!o.isDef && o.isReg(File::P) && o.isVirtual()) carry = o.value();
      function_.erase(instr);
      if (carry.isNone() || function_.hasUses(carry.reg)) continue;
      Instr* low = rewriter_.definition(carry).instr;
      function_.setOperand(low, rewriter_.definition(carry).slot, Operand::pt());
    }
  }

  void replaceHighWord(const Narrow& narrow) {
    const Operand high = narrow.value.high;
    std::vector<ori::Ref> uses;
    function_.forEachUse(high.reg, [&](ori::Ref use) {
      if (names(*use, high)) uses.push_back(use);
    });
    std::map<BlockId, Operand> signs;
    for (const ori::Ref use : uses) {
      Instr& user = *use.owner;
      const unsigned slot = use.index();
      if (std::binary_search(doomed_.begin(), doomed_.end(), &user)) continue;
      if (use->width == 2) {
        if (canConvertShort(user, narrow))
          convertShort(user, narrow);
        else
          function_.setOperand(&user, slot, pairFor(user, narrow));
      } else if (use->flags & (Operand::kNeg | Operand::kAbs | Operand::kNot)) {
        function_.setOperand(&user, slot, changedWord(user, *use, narrow));
      } else if (!narrow.hasSign) {
        function_.setOperand(&user, slot, user.op == Op::PHI ? Operand::immediate(0) : Operand::rz());
      } else if (takesSign(use, narrow)) {
        const std::array<Operand, 6> operands{user.op_(0).value(), Operand::pt(),       user.op_(2).value(),
                                              user.op_(3).value(), user.op_(5).value(), user.op_(6).value()};
        function_.rewrite(&user, Op::LEA_HI_X_SX32, operands);
      } else {
        const auto [sign, isNew] = signs.try_emplace(placeOf(use));
        if (isNew) sign->second = signIn(sign->first, narrow);
        function_.setOperand(&user, slot, sign->second);
      }
    }
  }

  void emitSign(ori::Builder& b, const Operand& to, const Operand& low) {
    b.emit(Op::SHF, {to, Operand::rz(), Operand::immediate(31), low},
           {{Mod::ShiftDir, isa::ShiftDir::R}, {Mod::ShiftType, isa::ShiftType::S32}, {Mod::Hi, 1}});
  }

  /// Returns the sign of a low word, for the readers of a block.
  Operand signIn(BlockId at, const Narrow& narrow) {
    const Operand low = narrow.value.low;
    Instr* def = rewriter_.definition(low).instr;
    ori::Block* block = function_.block(at);
    Instr* where = def->block == block && def->op != Op::PHI ? def->next : afterPhis(*block);
    ori::Builder b = where ? ori::Builder::before(function_, where) : ori::Builder(function_, block);
    b.setSource(def->source);
    const Operand sign = b.newR();
    function_.vreg(sign.reg).name = function_.intern("substIV");
    emitSign(b, sign, low);
    return sign;
  }

  /// Returns both words in a pair, for an instruction that needs one.
  Operand pairFor(Instr& user, const Narrow& narrow) {
    ori::Builder b = ori::Builder::before(function_, &user);
    b.setSource(user.source);
    const Operand pair = b.newR(2);
    function_.vreg(pair.reg).name = function_.intern("iv_base_clone_");
    b.copy(component(pair, 0), narrow.value.low);
    if (narrow.hasSign)
      emitSign(b, component(pair, 1), narrow.value.low);
    else
      b.emit(Op::MOV, {component(pair, 1), Operand::rz()});
    return pair;
  }

  /// Returns the high word in a separate register, with the modifiers of the operand: one that is subtracted is
  /// inverted.
  Operand changedWord(Instr& user, const ori::Operand& use, const Narrow& narrow) {
    ori::Builder b = ori::Builder::before(function_, &user);
    b.setSource(user.source);
    Operand word = b.newR();
    if (narrow.hasSign)
      emitSign(b, word, narrow.value.low);
    else
      b.emit(Op::MOV, {word, Operand::immediate(0)});
    word.flags |= static_cast<std::uint8_t>(use.flags & (Operand::kNeg | Operand::kAbs | Operand::kNot));
    return word;
  }

  void convertShort(Instr& user, const Narrow& narrow) {
    const auto result = isa::getMod(user.op, user.mods, Mod::DstFmt), round = isa::getMod(user.op, user.mods, Mod::Rnd);
    const Operand operands[]{user.op_(0).value(), narrow.value.low};
    const bool isNearest = round == static_cast<std::uint8_t>(isa::Rnd::RN);
    if (isNearest && result == static_cast<std::uint8_t>(isa::Fmt::F32) &&
        context_.target.has(isa::Capability::AluIntegerToFloat)) {
      function_.rewrite(&user, Op::I2FP, operands);
      isa::setMod(user.op, user.mods, {Mod::Type, narrow.hasSign ? isa::IntType::S32 : isa::IntType::U32});
      return;
    }
    function_.rewrite(&user, user.op_(0).width == 2 ? Op::I2F_64 : Op::I2F, operands);
    isa::setMod(user.op, user.mods, {Mod::SrcFmt, narrow.hasSign ? isa::IntFmt::S32 : isa::IntFmt::U32});
    isa::setMod(user.op, user.mods, {Mod::DstFmt, result});
    isa::setMod(user.op, user.mods, {Mod::Rnd, round});
  }

  /// Turns a pair whose high word has been removed into a register of one word.
  void shrink(ori::VRegId reg, const char* name) {
    bool isHalf = function_.vreg(reg).width == 2, isNamed = false;
    for (const ori::Ref o : function_.refs(reg)) {
      isHalf &= o->sub == 0 && o->width == 1;
      isNamed = true;
    }
    if (!isHalf || !isNamed) return;
    const Operand word = function_.use(function_.newVReg(File::R, 1, function_.intern(name)));
    function_.vreg(word.reg).divergent = function_.vreg(reg).divergent;
    renameWords(function_, reg, std::span(&word, 1));
  }

  void note(std::int64_t level, const std::string& text) const {
    if (context_.dump && context_.knobs.get(Knob::DumpRematIv) >= level) *context_.dump += text + "\n";
  }

  std::string print(const LongCounter& counter) const {
    return fmt::format("%r{} of the loop at .L{} of {}", counter.value.low.reg, loops_.loop(counter.loop).header,
                       function_.name());
  }

  ori::Function& function_;
  PhaseContext& context_;
  const std::int64_t level_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  const Rewriter rewriter_;
  const LongRanges ranges_;
  std::map<std::pair<ori::VRegId, unsigned>, Narrow> narrow_; ///< by the high word
  std::vector<Instr*> doomed_;                                ///< the definitions of high words; sorted
};

} // namespace

bool demoteHighWords(ori::Function& function, PhaseContext& context) {
  const std::int64_t level = context.knobs.get(Knob::RematIv);
  return level != 0 && Demoter(function, context, level).run();
}

} // namespace orias::phases
