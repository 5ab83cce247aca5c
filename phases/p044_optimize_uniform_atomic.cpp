#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/calls.h"
#include "phases/phases.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace orias::phases {

using isa::AtomOp;
using isa::File;
using isa::Op;
using isa::Operand;

namespace {

constexpr std::int32_t kLaneId = 0, kLanesBelow = 57; // SR_LANEID, SR_LTMASK
constexpr std::int64_t kWithFloats = 2;               // of knob OptimizeUniformAtomicMode
enum class Redux : std::uint8_t { And, Or, Xor, Sum, Min, Max };

std::optional<Redux> reductionOf(AtomOp op) {
  switch (op) {
  case AtomOp::ADD: return Redux::Sum;
  case AtomOp::MIN: return Redux::Min;
  case AtomOp::MAX: return Redux::Max;
  case AtomOp::AND: return Redux::And;
  case AtomOp::OR: return Redux::Or;
  case AtomOp::XOR: return Redux::Xor;
  default: return std::nullopt;
  }
}

class Combiner {
 public:
  Combiner(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        divergence_(function.analyses().divergence()) {}

  bool run() {
    bool changed = false;
    for (ori::Block* block : function_.layout()) {
      if (!cfg_.isReachable(block->id)) continue;
      function_.forEachSafe(*block, [&](ori::Instr& instr) {
        if (isa::desc(instr.op).has(isa::Flag::Atomic)) {
          ori::Instr* forgetful = withoutResult(instr);
          changed |= combine(forgetful ? *forgetful : instr) || forgetful;
        } else if (mayMeetOthers(instr))
          leader_ = {};
      });
    }
    return changed;
  }

 private:
  /// The lane that acts for all lanes that run an atomic operation, and facts about these lanes that several operations
  /// may use.
  struct Leader {
    ori::BlockId block = ori::kNoId;
    Operand runs;     ///< the guard of the operation
    Operand isLeader; ///< true in the elected lane
    Operand lane;     ///< UR: its number
    Operand mask;     ///< UR: the lanes that run the operation
    Operand count;    ///< UR: how many they are; None until needed
    Operand rank;     ///< how many of them have a lower number; None until needed
  };

  /// Replaces an atomic whose results are unused by the instruction that returns nothing; null where a result is used.
  /// Lanes need not wait for that one. An acquire must wait: the L1 invalidation must not overtake it.
  ori::Instr* withoutResult(ori::Instr& atomic) {
    const Op op = atomic.op == Op::ATOMG ? Op::REDG : atomic.op == Op::ATOMG_FLOAT ? Op::REDG_FLOAT : Op::NOP;
    if (op == Op::NOP) return nullptr;
    for (const ori::Operand& o : atomic.ops())
      if (o.isDef && o.isReg() && !o.isZeroReg() && (!o.isVirtual() || function_.hasUses(o.reg))) return nullptr;
    for (const ori::Instr* next = atomic.next; next; next = next->next)
      if (next->op == Op::CCTL_IVALL) return nullptr;
    const isa::InstrDesc &from = isa::desc(atomic.op), &to = isa::desc(op);
    for (const isa::ModDesc& mod : from.modList())
      if (const int i = to.modIndex(mod.kind);
          i < 0 || !to.mods[static_cast<std::size_t>(i)].isLegal(isa::getMod(atomic.op, atomic.mods, mod.kind)))
        return nullptr;
    std::array<Operand, isa::kMaxOperands> operands;
    for (unsigned slot = 0; slot < to.slotCount; ++slot)
      operands[slot] = atomic.op_(from.slot(to.slotIds[slot])).value();
    ori::Builder b = ori::Builder::before(function_, &atomic);
    ori::Instr* made = b.emit(op, std::span<const Operand>(operands.data(), to.slotCount));
    for (const isa::ModDesc& mod : from.modList())
      isa::setMod(op, made->mods, {mod.kind, isa::getMod(atomic.op, atomic.mods, mod.kind)});
    if (atomic.isGuarded()) function_.setGuard(made, atomic.guard().value());
    context_.remarks.applied(made, "replaced an atomic operation whose result is unused with a reduction");
    function_.erase(&atomic);
    return made;
  }

  bool combine(ori::Instr& atomic) {
    const isa::InstrDesc& row = isa::desc(atomic.op);
    const int data = row.slotIndex(isa::SlotId::Rb), result = row.slotIndex(isa::SlotId::Rd),
              address = row.slotIndex(isa::SlotId::Ra);
    if (atomic.op == Op::REDAS) return reportMissed(atomic, "an mbarrier counts the bytes of each lane");
    if (atomic.op == Op::REDG_FLOAT || atomic.op == Op::ATOMG_FLOAT) return combineFloats(atomic);
    if (row.modIndex(isa::Mod::AtomOp) < 0 || row.modIndex(isa::Mod::AtomType) < 0 || data < 0)
      return reportMissed(atomic, "not an integer operation");
    const auto reduction = reductionOf(isa::modAs<AtomOp>(atomic, isa::Mod::AtomOp));
    if (!reduction) return reportMissed(atomic, "no warp reduction has this operation");
    const auto type = isa::modAs<isa::AtomType>(atomic, isa::Mod::AtomType);
    if (type > isa::AtomType::S64) return reportMissed(atomic, "wider than 64 bits");
    const bool isWide = type == isa::AtomType::U64 || type == isa::AtomType::S64;
    if (answersByPredicate(atomic)) return reportMissed(atomic, "each lane uses the predicate of its own operation");
    if (const char* why = whyNotTogether(atomic, static_cast<unsigned>(address))) return reportMissed(atomic, why);
    const bool isRead = result >= 0 && atomic.op_(static_cast<unsigned>(result)).isVirtual() &&
                        function_.hasUses(atomic.op_(static_cast<unsigned>(result)).reg);
    const ori::Operand& value = atomic.op_(static_cast<unsigned>(data));
    const bool isSame = divergence_.isUniform(value);
    if (isRead && (*reduction != Redux::Sum || !isSame))
      return reportMissed(atomic, "its result is used, and this operation has no prefix form");
    if (isWide && (!isSame || *reduction == Redux::Xor)) return reportMissed(atomic, "no 64-bit warp reduction");
    emitted_ = 0;
    if (isRead)
      addOnce(atomic, static_cast<unsigned>(data), static_cast<unsigned>(result));
    else
      reduce(atomic, static_cast<unsigned>(data), *reduction, type == isa::AtomType::S32);
    context_.remarks.applied(&atomic,
                             isRead ? "aggregated: one lane adds for the warp and broadcasts the old value"
                                    : "aggregated: one lane performs the atomic operation of the warp",
                             emitted_);
    return true;
  }

  /// Why the lanes of a warp cannot be combined; null if they can.
  const char* whyNotTogether(const ori::Instr& atomic, unsigned address) const {
    const Operand guard = atomic.guard().value();
    if (atomic.isGuarded() && (!guard.isReg(File::P) || guard.isZeroReg())) return "its guard is uniform";
    if (!divergence_.isUniformBlock(atomic.block->id) && mayMeetOthers(*atomic.block))
      return "it is in divergent control flow";
    return divergence_.isUniform(atomic.op_(address)) ? nullptr : "its address is divergent";
  }

  /// Combines additions of f32. The sum is rounded in another order than the hardware's, which the program must allow.
  bool combineFloats(ori::Instr& atomic) {
    const isa::InstrDesc& row = isa::desc(atomic.op);
    const auto data = row.slot(isa::SlotId::Rb), address = row.slot(isa::SlotId::Ra);
    if (context_.knobs.get(Knob::OptimizeUniformAtomicMode) < kWithFloats)
      return reportMissed(atomic, "not an integer operation; --optimize-float-atomics allows f32 additions");
    if (isa::modAs<isa::AtomFloat>(atomic, isa::Mod::AtomFloat) != isa::AtomFloat::F32Ftz ||
        isa::modAs<AtomOp>(atomic, isa::Mod::AtomOp) != AtomOp::ADD)
      return reportMissed(atomic, "not an f32 addition");
    if (atomic.op != Op::REDG_FLOAT)
      return reportMissed(atomic, "its result is used, and this operation has no prefix form");
    if (const char* why = whyNotTogether(atomic, address)) return reportMissed(atomic, why);
    emitted_ = 0;
    ori::Builder b = ori::Builder::before(function_, &atomic);
    const Operand value = atomic.op_(data).value();
    if (divergence_.isUniform(value)) {
      Leader& leader = elect(b, atomic);
      const Operand count = b.newR(), lanes = b.newR(), sum = b.newR();
      emit(b, Op::MOV, {lanes, countOf(b, leader)});
      if (context_.target.has(isa::Capability::AluIntegerToFloat))
        emit(b, Op::I2FP, {count, lanes}, {{isa::Mod::Type, isa::IntType::U32}, {isa::Mod::Rnd, isa::Rnd::RN}});
      else
        emit(b, Op::I2F, {count, lanes},
             {{isa::Mod::DstFmt, isa::Fmt::F32}, {isa::Mod::SrcFmt, isa::IntFmt::U32}, {isa::Mod::Rnd, isa::Rnd::RN}});
      emit(b, Op::FMUL, {sum, value, count}, {{isa::Mod::Ftz, isa::Ftz::FTZ}});
      function_.setOperand(&atomic, data, sum);
      function_.setGuard(&atomic, leader.isLeader);
    } else {
      addFloats(b, atomic, data, value);
    }
    context_.remarks.applied(&atomic, "aggregated: one lane performs the atomic operation of the warp", emitted_);
    return true;
  }

  /// Sums over all lanes by a butterfly of shuffles, which requires a whole warp. In a partial warp, lanes add their
  /// own values.
  void addFloats(ori::Builder& b, ori::Instr& atomic, unsigned data, const Operand& value) {
    constexpr std::int32_t kNoAddend = std::numeric_limits<std::int32_t>::min(); // -0.0
    constexpr std::int32_t kAllLanes = -1, kClamp = 0x1f;
    constexpr std::int32_t kAndOrNot = 0xf0 & (0xcc | ~0xaa); // a & (b | !c)
    Leader& leader = elect(b, atomic);
    const Operand active = b.newUR(), lanes = b.newR(), isWhole = function_.use(function_.newVReg(File::P));
    emit(b, Op::VOTEU, {active, Operand::zero(File::UP), Operand::pt()}, {{isa::Mod::VoteMode, isa::VoteMode::ANY}});
    emit(b, Op::MOV, {lanes, active});
    emit(b, Op::ISETP, {isWhole, Operand::pt(), lanes, Operand::immediate(kAllLanes), Operand::pt()},
         {{isa::Mod::Cmp, isa::ICmp::EQ}, {isa::Mod::Type, isa::IntType::U32}, {isa::Mod::Bool, isa::BoolOp::AND}});
    Operand sum = value;
    if (atomic.isGuarded()) {
      sum = b.newR();
      emit(b, Op::SEL, {sum, value, Operand::immediate(kNoAddend), atomic.guard().value()});
    }
    for (const std::int32_t distance : {1, 2, 4, 8, 16}) {
      const Operand other = b.newR(), both = b.newR();
      emit(b, Op::SHFL, {Operand::pt(), other, sum, Operand::immediate(distance), Operand::immediate(kClamp)},
           {{isa::Mod::ShflMode, isa::ShflMode::BFLY}});
      emit(b, Op::FADD, {both, sum, other}, {{isa::Mod::Ftz, isa::Ftz::FTZ}});
      sum = both;
    }
    const Operand given = b.newR(), acts = function_.use(function_.newVReg(File::P));
    emit(b, Op::SEL, {given, sum, value, isWhole});
    emit(b, Op::PLOP3,
         {acts, Operand::pt(), leader.runs, leader.isLeader, isWhole, Operand::immediate(kAndOrNot & 0xff),
          Operand::immediate(0)});
    function_.setOperand(&atomic, data, given);
    function_.setGuard(&atomic, acts);
  }

  /// Whether a generic atomic has a used predicate result, which tells if the operation was possible at the address.
  bool answersByPredicate(const ori::Instr& atomic) const {
    return std::any_of(atomic.ops().begin(), atomic.ops().end(), [&](const ori::Operand& o) {
      return o.isDef && o.isReg(File::P) && o.isVirtual() && function_.hasUses(o.reg);
    });
  }

  /// Whether lanes wait here for lanes of other paths, or exit: the set of active lanes may differ before and after the
  /// instruction.
  static bool mayMeetOthers(const ori::Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    return ori::isCall(instr) || (row.has(isa::Flag::Convergent) && row.has(isa::Flag::Fence));
  }

  static bool mayMeetOthers(const ori::Block& block) {
    for (const ori::Instr& instr : block)
      if (mayMeetOthers(instr)) return true;
    return false;
  }

  bool reportMissed(const ori::Instr& atomic, const char* why) {
    context_.remarks.missed(&atomic, std::string("atomic operation not aggregated: ") + why);
    return false;
  }

  void emit(ori::Builder& b, Op op, std::initializer_list<Operand> operands,
            std::initializer_list<isa::ModValue> mods = {}) {
    b.emit(op, operands, mods);
    ++emitted_;
  }

  /// Lanes that enter a block together stay together up to the next barrier, so one election serves all atomics there
  /// under one guard. At a barrier the warp reconverges after lanes have left a spin loop one by one.
  Leader& elect(ori::Builder& b, const ori::Instr& atomic) {
    const Operand runs = atomic.guard().value();
    if (leader_.block == atomic.block->id && leader_.runs == runs) return leader_;
    leader_ = {atomic.block->id, runs, function_.use(function_.newVReg(File::P)), b.newUR(), b.newUR(), {}, {}};
    const Operand lane = b.newR();
    emit(b, Op::VOTEU, {leader_.mask, Operand::zero(File::UP), runs}, {{isa::Mod::VoteMode, isa::VoteMode::ANY}});
    emit(b, Op::UFLO, {leader_.lane, Operand::zero(File::UP), leader_.mask}, {{isa::Mod::Type, isa::IntType::U32}});
    emit(b, Op::S2R, {lane, Operand::immediate(kLaneId)});
    // Where no lane runs it, no lane has that number.
    emit(b, Op::ISETP, {leader_.isLeader, Operand::pt(), lane, leader_.lane, Operand::pt()},
         {{isa::Mod::Cmp, isa::ICmp::EQ}, {isa::Mod::Type, isa::IntType::U32}, {isa::Mod::Bool, isa::BoolOp::AND}});
    return leader_;
  }

  /// Reduces the lanes' values to one, for which one lane runs the atomic.
  void reduce(ori::Instr& atomic, unsigned data, Redux reduction, bool isSigned) {
    ori::Builder b = ori::Builder::before(function_, &atomic);
    Leader& leader = elect(b, atomic);
    const Operand value = atomic.op_(data).value();
    const bool isSame = divergence_.isUniform(value);
    if (isSame && reduction == Redux::Sum) {
      function_.setOperand(&atomic, data, timesLanes(b, leader, value));
    } else if (!isSame || reduction == Redux::Xor) { // else the value itself is the minimum, the maximum, ...
      const Operand all = b.newUR(), held = b.newR();
      const bool hasSign = isSigned && (reduction == Redux::Min || reduction == Redux::Max);
      emit(b, Op::REDUX, {all, contribution(b, atomic, value, reduction, hasSign)},
           {{isa::Mod::Func, reduction}, {isa::Mod::Type, hasSign ? 1 : 0}});
      emit(b, Op::MOV, {held, all});
      function_.setOperand(&atomic, data, held);
    }
    function_.setGuard(&atomic, leader.isLeader);
  }

  /// A lane's input to the reduction: its value, or the identity element where its guard is false.
  Operand contribution(ori::Builder& b, const ori::Instr& atomic, const Operand& value, Redux reduction,
                       bool isSigned) {
    if (!atomic.isGuarded()) return value;
    const Operand given = b.newR();
    emit(b, Op::SEL, {given, value, Operand::immediate(neutral(reduction, isSigned)), atomic.guard().value()});
    return given;
  }

  static std::int32_t neutral(Redux reduction, bool isSigned) {
    switch (reduction) {
    case Redux::And: return -1;
    case Redux::Min: return isSigned ? std::numeric_limits<std::int32_t>::max() : -1;
    case Redux::Max: return isSigned ? std::numeric_limits<std::int32_t>::min() : 0;
    case Redux::Or:
    case Redux::Xor:
    case Redux::Sum: return 0;
    }
    return 0;
  }

  /// Returns how many lanes run the operation, in a uniform register.
  Operand countOf(ori::Builder& b, Leader& leader) {
    if (leader.count.isNone()) {
      leader.count = b.newUR();
      emit(b, Op::UPOPC, {leader.count, leader.mask});
    }
    return leader.count;
  }

  /// The total that all lanes add when each adds `value`.
  Operand timesLanes(ori::Builder& b, Leader& leader, const Operand& value) {
    const Operand sum = b.newR(value.width);
    multiplyAdd(b, sum, value, countOf(b, leader), Operand::rz(value.width));
    return sum;
  }

  /// to = value * factor + addend, of words or of pairs (with a factor of one word).
  void multiplyAdd(ori::Builder& b, const Operand& to, const Operand& value, const Operand& factor,
                   const Operand& addend) {
    const isa::ModValue u32{isa::Mod::Type, isa::IntType::U32};
    if (value.width == 1) return emit(b, Op::IMAD, {to, value, factor, addend}, {u32});
    const Operand product = b.newR(2);
    emit(b, Op::IMAD_WIDE, {product, Operand::pt(), ori::component(value, 0), factor, addend}, {u32});
    emit(b, Op::COPY, {ori::component(to, 0), ori::component(product, 0)});
    emit(b, Op::IMAD, {ori::component(to, 1), ori::component(value, 1), factor, ori::component(product, 1)}, {u32});
  }

  /// Each lane adds the same value: one lane adds for all, and each computes the old value that it would have read.
  void addOnce(ori::Instr& atomic, unsigned data, unsigned result) {
    ori::Builder b = ori::Builder::before(function_, &atomic);
    Leader& leader = elect(b, atomic);
    const Operand value = atomic.op_(data).value();
    const Operand found = atomic.op_(result).value(), old = b.newR(found.width);
    function_.setOperand(&atomic, data, timesLanes(b, leader, value));
    function_.setOperand(&atomic, result, old);
    function_.setGuard(&atomic, leader.isLeader);

    ori::Builder behind = ori::Builder::after(function_, &atomic);
    const Operand lane = b.newR(), first = b.newR(found.width);
    emit(behind, Op::MOV, {lane, leader.lane});
    for (unsigned word = 0; word < found.width; ++word)
      emit(behind, Op::SHFL,
           {Operand::pt(), ori::component(first, word), ori::component(old, word), lane, Operand::immediate(0x1f)},
           {{isa::Mod::ShflMode, isa::ShflMode::IDX}});
    if (leader.rank.isNone()) {
      const Operand below = b.newR(), before = b.newR();
      leader.rank = b.newR();
      emit(behind, Op::S2R, {below, Operand::immediate(kLanesBelow)});
      emit(
          behind, Op::LOP3,
          {Operand::pt(), before, below, leader.mask, Operand::rz(), Operand::immediate(0xc0), Operand::pt().notted()});
      emit(behind, Op::POPC, {leader.rank, before});
    }
    if (leader.runs.isZeroReg()) return multiplyAdd(behind, found, value, leader.rank, first);
    const Operand own = b.newR(found.width);
    multiplyAdd(behind, own, value, leader.rank, first);
    behind.setGuard(leader.runs);
    emit(behind, Op::COPY, {found, own});
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::Divergence& divergence_;
  Leader leader_; ///< of the block of the last combined atomic
  int emitted_ = 0;
};

} // namespace

/// Phase 44. Combines atomic operations of all lanes of a warp on one address, in global, generic or shared memory. The
/// lanes' values are reduced (by REDUX; a shared value is multiplied by the number of lanes, or is its own minimum),
/// and an elected lane performs the atomic. Where the old value is read and all lanes add the same, each lane computes
/// its own old value from the elected lane's. One election serves a block up to the next barrier. Unused results are
/// dropped (ATOMG becomes REDG), combined or not. Additions of f32, whose rounding depends on their order, are combined
/// only on request (--optimize-float-atomics). Knobs OptimizeUniformAtomicMode (510) and GeneralOptimizationGate (487):
/// 0 disables the phase.
bool optimizeUniformAtomic(ori::Function& function, PhaseContext& context) {
  // The chips that introduced descriptors for memory instructions also introduced REDUX.
  if (!context.target.has(isa::Capability::MemoryDescriptors) ||
      context.knobs.get(Knob::OptimizeUniformAtomicMode) == 0)
    return false;
  if (!context.knobs.enabled(Knob::GeneralOptimizationGate)) return false;
  if (!function.everHad(isa::Flag::Atomic)) return false;
  return Combiner(function, context).run();
}

} // namespace orias::phases
