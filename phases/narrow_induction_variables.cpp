#include "phases/narrow_induction_variables.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/induction_variables.h"

#include <algorithm>
#include <limits>

namespace orias::phases {

using isa::ICmp;
using isa::IntType;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;
using ori::VRegId;

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int32_t>::max();

std::optional<std::uint32_t> numberOf(const Operand& o) {
  if (o.isZeroReg()) return 0;
  if (!o.isImm()) return std::nullopt;
  return o.neg() ? 0u - static_cast<std::uint32_t>(o.imm) : static_cast<std::uint32_t>(o.imm);
}

std::int64_t number64(std::uint32_t low, std::uint32_t high) {
  return static_cast<std::int64_t>(std::uint64_t{high} << 32 | low);
}

bool isComponent(const Operand& o, unsigned sub) {
  return o.isReg(isa::File::R) && o.isVirtual() && o.sub == sub && o.width == 1 && !o.neg() && !o.abs() &&
         !o.inverted();
}

/// A 64-bit comparison that alone decides whether a lane stays in a loop.
struct WideTest {
  LoopId loop = ori::kNoId;
  Instr *low = nullptr, *high = nullptr; ///< ISETP of the low words, ISETP.EX of the high ones
  Instr* step = nullptr;
  Block* entry = nullptr; ///< the only block outside the loop that leads to it
  VRegId counter = ori::kNoId;
  ICmp stay = ICmp::F;
  std::int64_t by = 0;
  std::vector<std::int64_t> first; ///< the initial values
};

class Narrower {
 public:
  Narrower(ori::Function& function, Remarks& remarks)
      : function_(function), remarks_(remarks), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()), definitions_(function) {}

  bool run() {
    if (!loops_.isReducible()) return false;
    std::vector<std::pair<WideTest, IntType>> found;
    for (LoopId loop = 0; loop < loops_.all().size(); ++loop)
      for (const auto& [from, to] : loops_.exits(loop))
        if (const auto test = testIn(loop, from, to))
          if (const auto type = narrowType(*test)) {
            found.emplace_back(*test, *type);
            break;
          }
    for (const auto& [test, type] : found)
      narrow(test, type);
    return !found.empty();
  }

 private:
  /// The test at the end of a block of the loop, where lanes leave to `to`.
  std::optional<WideTest> testIn(LoopId id, BlockId from, BlockId to) {
    const ori::Loop& loop = loops_.loop(id);
    if (loop.latches.size() != 1 || loops_.innermost(from) != id || !dominators_.dominates(from, loop.latches[0]))
      return std::nullopt;
    WideTest test;
    test.loop = id;
    Instr* branch = ori::plainBranch(*function_.block(from));
    if (!branch || !branch->guard().isVirtual() || !branch->guard().isReg(isa::File::P)) return std::nullopt;
    BlockId taken = ori::kNoId;
    for (const ori::Operand& o : branch->ops())
      if (o.isLabel()) taken = o.reg;
    const BlockId fallthrough = function_.block(from)->fallthrough;
    if ((taken == to) == (fallthrough == to)) return std::nullopt;

    test.high = writerBefore(*branch, branch->guard().reg);
    if (!test.high || test.high->op != Op::ISETP_EX || !isPlainTest(*test.high)) return std::nullopt;
    const Operand &chained = test.high->op_(5), &counter = test.high->op_(2);
    if (!chained.isVirtual() || chained.inverted() || !isComponent(counter, 1)) return std::nullopt;
    test.low = writerBefore(*test.high, chained.reg);
    if (!test.low || test.low->op != Op::ISETP || !isPlainTest(*test.low)) return std::nullopt;
    test.counter = counter.reg;
    const auto written = isa::modAs<ICmp>(*test.high, Mod::Cmp);
    if (!isComponent(test.low->op_(2), 0) || test.low->op_(2).reg != test.counter ||
        function_.vreg(test.counter).width != 2 || isa::modAs<ICmp>(*test.low, Mod::Cmp) != written ||
        isa::modAs<IntType>(*test.low, Mod::Type) != IntType::U32)
      return std::nullopt;
    test.stay = (taken == to) == branch->guard().inverted() ? written : isa::opposite(written);
    return findStart(test) ? std::optional(test) : std::nullopt;
  }

  /// Whether the instruction compares two words without a guard or a further condition.
  static bool isPlainTest(const Instr& instr) {
    return !instr.isGuarded() && instr.op_(0).isVirtual() && isUnusedResult(instr.op_(1)) &&
           isa::modAs<isa::BoolOp>(instr, Mod::Bool) == isa::BoolOp::AND && instr.op_(4).isZeroReg() &&
           !instr.op_(4).inverted();
  }

  /// The last instruction before this one in the same block that writes a register.
  static Instr* writerBefore(const Instr& instr, VRegId reg) {
    for (Instr* at = instr.prev; at; at = at->prev)
      for (const ori::Operand& o : at->ops())
        if (o.isDef && o.isVirtual() && o.reg == reg) return at;
    return nullptr;
  }

  /// The constant that a pair of registers always holds.
  std::optional<std::int64_t> pairNumber(const Operand& o) const {
    if (!isWholeRegister(function_, o) || o.width != 2 || definitions_.of(o.reg).size() != 2) return std::nullopt;
    std::array<std::optional<std::uint32_t>, 2> words;
    for (const Definitions::Definition& def : definitions_.of(o.reg))
      if (def.width == 1) words[def.sub] = numberSetBy(*def.instr);
    if (!words[0] || !words[1]) return std::nullopt;
    return number64(*words[0], *words[1]);
  }

  /// Sets the step and the initial values. The counter must have one definition in the loop, a sum that runs at most
  /// once per iteration, and be set to constants outside.
  bool findStart(WideTest& test) {
    std::vector<std::uint32_t> lows, highs;
    for (const Definitions::Definition& def : definitions_.of(test.counter)) {
      if (loops_.contains(test.loop, def.instr->block->id)) {
        if (test.step) return false;
        test.step = def.instr;
        continue;
      }
      const auto number = def.width == 1 ? numberSetBy(*def.instr) : std::nullopt;
      if (!number) return false;
      (def.sub == 0 ? lows : highs).push_back(*number);
    }
    if (!test.step || test.step->op != Op::IADD64 || test.step->isGuarded() ||
        loops_.innermost(test.step->block->id) != test.loop || test.step == test.low || lows.empty() || highs.empty())
      return false;
    for (const Instr* at = test.low; at != test.high; at = at->next)
      if (at == test.step) return false;
    const Operand a = test.step->op_(1).value(), b = test.step->op_(2).value();
    const Operand own = function_.use(test.counter);
    if ((a == own) == (b == own)) return false;
    const auto by = pairNumber(a == own ? b : a);
    if (!by || *by < kLowest || *by > kHighest) return false;
    test.by = *by;
    for (const std::uint32_t low : lows)
      for (const std::uint32_t high : highs)
        test.first.push_back(number64(low, high));

    const ori::Loop& loop = loops_.loop(test.loop);
    for (const BlockId p : cfg_.predecessors(loop.header)) {
      if (!cfg_.isReachable(p) || loops_.contains(test.loop, p)) continue;
      if (test.entry) return false;
      test.entry = function_.block(p);
    }
    return test.entry != nullptr;
  }

  /// The type of a 32-bit comparison with the same result in every iteration; nothing if there is none.
  std::optional<IntType> narrowType(const WideTest& test) const {
    const Operand low = test.low->op_(3).value(), high = test.high->op_(3).value();
    const bool isSigned = isa::modAs<IntType>(*test.high, Mod::Type) == IntType::S32;
    const auto lowNumber = numberOf(low), highNumber = numberOf(high);
    const auto allFirst = [&](auto&& holds) { return std::ranges::all_of(test.first, holds); };
    if (lowNumber && highNumber) {
      const std::int64_t limit = number64(*lowNumber, *highNumber);
      const bool fits = allFirst([&](std::int64_t first) { return staysNarrow(test, first, limit, isSigned); });
      return fits ? std::optional(IntType::S32) : std::nullopt;
    }
    // With step 1, no value beyond the limit is compared, except the initial one.
    if (test.by != 1 || test.stay != ICmp::LT || !isComponent(low, low.sub)) return std::nullopt;
    for (const Definitions::Definition& def : definitions_.of(low.reg))
      if (loops_.contains(test.loop, def.instr->block->id)) return std::nullopt;
    if (highNumber && *highNumber == 0) {
      constexpr std::int64_t kHighestUnsigned = std::numeric_limits<std::uint32_t>::max();
      const bool fits = allFirst([&](std::int64_t first) { return first >= 0 && first < kHighestUnsigned; });
      return fits ? std::optional(IntType::U32) : std::nullopt;
    }
    if (!isSigned || !isSignOf(high, low)) return std::nullopt;
    const bool fits = allFirst([&](std::int64_t first) { return first >= kLowest && first < kHighest; });
    return fits ? std::optional(IntType::S32) : std::nullopt;
  }

  /// Whether all values that are compared with a constant, and that constant, fit in 32 bits with a sign.
  static bool staysNarrow(const WideTest& test, std::int64_t first, std::int64_t limit, bool isSigned) {
    if (first < kLowest || first > kHighest || limit < kLowest || limit > kHighest || test.by == 0) return false;
    std::int64_t last = 0; // the farthest value
    switch (test.stay) {
    case ICmp::NE:
      if ((limit - first) % test.by != 0 || (limit - first) / test.by < 1) return false;
      last = limit;
      break;
    case ICmp::LT:
    case ICmp::LE:
      if (test.by < 0) return false;
      last = std::max(first, limit) + test.by;
      break;
    case ICmp::GT:
    case ICmp::GE:
      if (test.by > 0) return false;
      last = std::min(first, limit) + test.by;
      break;
    default: return false;
    }
    if (last < kLowest || last > kHighest) return false;
    return isSigned || test.stay == ICmp::NE || std::min({first, last, limit}) >= 0;
  }

  /// Whether one word is the sign of another one. Both must have one definition.
  bool isSignOf(const Operand& high, const Operand& low) const {
    constexpr std::int32_t kSignBit = 31;
    if (!isComponent(high, high.sub) || function_.vreg(high.reg).width != 1 || function_.vreg(low.reg).width != 1)
      return false;
    const Instr* shift = definitions_.single(high.reg);
    return shift && definitions_.single(low.reg) && !shift->isGuarded() && shift->op == Op::SHF &&
           shift->op_(1).isZeroReg() && shift->op_(2).isImm() && shift->op_(2).imm == kSignBit &&
           shift->op_(3).value() == low && isa::modAs<isa::ShiftDir>(*shift, Mod::ShiftDir) == isa::ShiftDir::R &&
           isa::modAs<isa::ShiftType>(*shift, Mod::ShiftType) == isa::ShiftType::S32 &&
           isa::getMod(shift->op, shift->mods, Mod::Hi) != 0;
  }

  void narrow(const WideTest& test, IntType type) {
    remarks_.applied(test.high, "the induction variable is compared in 32 bits");
    const Operand counter = function_.use(function_.newVReg(isa::File::R, 1, {}));
    Instr* end = test.entry->last;
    ori::Builder front =
        end && ori::isTerminator(end->op) ? ori::Builder::before(function_, end) : ori::Builder(function_, test.entry);
    const bool isOneNumber = std::ranges::all_of(test.first, [&](auto first) { return first == test.first.front(); });
    front.copy(counter, isOneNumber ? Operand::immediate(static_cast<std::int32_t>(test.first.front()))
                                    : ori::component(function_.use(test.counter), 0));
    ori::Builder step = ori::Builder::before(function_, test.step);
    step.setSource(test.step->source);
    step.emit(Op::IADD3, {counter, Operand::pt(), Operand::pt(), counter,
                          Operand::immediate(static_cast<std::int32_t>(test.by)), Operand::rz()});
    ori::Builder compare = ori::Builder::before(function_, test.high);
    compare.setSource(test.high->source);
    compare.emit(
        Op::ISETP, {test.high->op_(0).value(), Operand::pt(), counter, test.low->op_(3).value(), Operand::pt()},
        {{Mod::Cmp, isa::modAs<ICmp>(*test.high, Mod::Cmp)}, {Mod::Type, type}, {Mod::Bool, isa::BoolOp::AND}});
    function_.erase(test.high);
  }

  ori::Function& function_;
  Remarks& remarks_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  const Definitions definitions_;
};

} // namespace

bool narrowInductionVariables(ori::Function& function, Remarks& remarks) {
  if (!function.everHad(Op::ISETP_EX)) return false;
  bool hasWideTests = false;
  for (const Block* block : function.layout())
    for (const Instr& instr : *block)
      hasWideTests |= instr.op == Op::ISETP_EX;
  return hasWideTests && Narrower(function, remarks).run();
}

} // namespace orias::phases
