#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/analysis/divergence.h"
#include "ori/builder.h"
#include "phases/phases.h"
#include "regalloc/calls.h"

#include <optional>

namespace orias::phases {

using isa::AtomOp;
using isa::File;
using isa::Op;
using isa::Operand;

namespace {

constexpr std::int32_t kLaneId = 0, kLanesBelow = 57; // SR_LANEID, SR_LTMASK
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
      : function_(function), context_(context), cfg_(function), divergence_(cfg_) {}

  bool run() {
    bool changed = false;
    for (ori::Block* block : function_.layout()) {
      if (!cfg_.isReachable(block->id)) continue;
      function_.forEachSafe(*block, [&](ori::Instr& instr) {
        if (isa::desc(instr.op).has(isa::Flag::Atomic)) {
          ori::Instr* forgetful = withoutResult(instr);
          changed |= combine(forgetful ? *forgetful : instr) || forgetful;
        } else if (regalloc::isCall(instr))
          leader_ = {}; // lanes may not come back
      });
    }
    return changed;
  }

 private:
  /// The lane that acts for all of a block, and what more than one atomic operation may want to know about the lanes.
  struct Leader {
    ori::BlockId block = ori::kNoId;
    Operand isLeader; ///< true in the lane that acts for all
    Operand lane;     ///< UR: its number
    Operand mask;     ///< UR: the lanes that are here
    Operand count;    ///< UR: how many they are; None while nobody has asked
    Operand rank;     ///< how many of them have a lower number; None while nobody has asked
  };

  /// The instruction that brings back nothing, put in the place of one whose results nobody reads; null where that is
  /// not so. Lanes need not wait for it. An acquire does: what drops old lines of L1 must not overtake it.
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
      operands[slot] = atomic.op_(static_cast<unsigned>(from.slotIndex(to.slots[slot].name))).value();
    ori::Builder b = ori::Builder::before(function_, &atomic);
    ori::Instr* made = b.emit(op, std::span<const Operand>(operands.data(), to.slotCount));
    for (const isa::ModDesc& mod : from.modList())
      isa::setMod(op, made->mods, {mod.kind, isa::getMod(atomic.op, atomic.mods, mod.kind)});
    if (atomic.isGuarded()) function_.setGuard(made, atomic.guard().value());
    context_.remarks.did(made, "nobody reads what the atomic operation finds, so it brings nothing back");
    function_.erase(&atomic);
    return made;
  }

  bool combine(ori::Instr& atomic) {
    const isa::InstrDesc& row = isa::desc(atomic.op);
    const int data = row.slotIndex("Rb"), result = row.slotIndex("Rd"), address = row.slotIndex("Ra");
    if (atomic.op == Op::REDAS) return refuse(atomic, "a barrier counts the bytes of every lane");
    if (row.modIndex(isa::Mod::AtomOp) < 0 || row.modIndex(isa::Mod::AtomType) < 0 || data < 0)
      return refuse(atomic, "not an integer operation");
    const auto reduction = reductionOf(isa::modAs<AtomOp>(atomic, isa::Mod::AtomOp));
    if (!reduction) return refuse(atomic, "no reduction does that");
    const unsigned type = isa::getMod(atomic.op, atomic.mods, isa::Mod::AtomType);
    if (type > 1) return refuse(atomic, "not 32 bits wide");
    if (atomic.isGuarded()) return refuse(atomic, "it has a guard");
    if (!divergence_.isUniformBlock(atomic.block->id)) return refuse(atomic, "it runs under divergent control");
    const ori::Operand& at = atomic.op_(static_cast<unsigned>(address));
    if (!divergence_.isUniform(at)) return refuse(atomic, "the address differs between lanes");
    const bool isRead = result >= 0 && atomic.op_(static_cast<unsigned>(result)).isVirtual() &&
                        function_.hasUses(atomic.op_(static_cast<unsigned>(result)).reg);
    const ori::Operand& value = atomic.op_(static_cast<unsigned>(data));
    if (isRead && (*reduction != Redux::Sum || !divergence_.isUniform(value)))
      return refuse(atomic, "its result is read, and no lane knows what those before it contributed");
    emitted_ = 0;
    if (isRead)
      addOnce(atomic, static_cast<unsigned>(data), static_cast<unsigned>(result));
    else
      reduce(atomic, static_cast<unsigned>(data), *reduction, type);
    context_.remarks.did(&atomic,
                         isRead ? "one lane performs the addition for its warp and tells the others what it found"
                                : "one lane performs the atomic operation for its warp",
                         emitted_);
    return true;
  }

  bool refuse(const ori::Instr& atomic, const char* why) {
    context_.remarks.refused(&atomic, std::string("an atomic operation stays: ") + why);
    return false;
  }

  void emit(ori::Builder& b, Op op, std::initializer_list<Operand> operands,
            std::initializer_list<isa::ModValue> mods = {}) {
    b.emit(op, operands, mods);
    ++emitted_;
  }

  /// The block is one that all lanes run together, so one election serves all that stands in it.
  Leader& elect(ori::Builder& b, const ori::Block& block) {
    if (leader_.block == block.id) return leader_;
    leader_ = {block.id, function_.use(function_.newVReg(File::P)), b.newUR(), b.newUR(), {}, {}};
    const Operand lane = b.newR();
    emit(b, Op::VOTEU, {leader_.mask, Operand::zero(File::UP), Operand::pt()},
         {{isa::Mod::VoteMode, isa::VoteMode::ANY}});
    emit(b, Op::UFLO, {leader_.lane, Operand::zero(File::UP), leader_.mask}, {{isa::Mod::Type, isa::IntType::U32}});
    emit(b, Op::S2R, {lane, Operand::immediate(kLaneId)});
    emit(b, Op::ISETP, {leader_.isLeader, Operand::pt(), lane, leader_.lane, Operand::pt()},
         {{isa::Mod::Cmp, isa::ICmp::EQ}, {isa::Mod::Type, isa::IntType::U32}, {isa::Mod::Bool, isa::BoolOp::AND}});
    return leader_;
  }

  /// The lanes' values become one, which one lane brings to memory.
  void reduce(ori::Instr& atomic, unsigned data, Redux reduction, unsigned isSigned) {
    ori::Builder b = ori::Builder::before(function_, &atomic);
    Leader& leader = elect(b, *atomic.block);
    const Operand value = atomic.op_(data).value();
    const bool isSame = divergence_.isUniform(value);
    if (isSame && reduction == Redux::Sum) {
      function_.setOperand(&atomic, data, timesLanes(b, leader, value));
    } else if (!isSame || reduction == Redux::Xor) { // else it is the minimum, the maximum, ... of itself
      const Operand all = b.newUR(), held = b.newR();
      const bool hasSign = isSigned != 0 && (reduction == Redux::Min || reduction == Redux::Max);
      emit(b, Op::REDUX, {all, value}, {{isa::Mod::Func, reduction}, {isa::Mod::Type, hasSign ? 1 : 0}});
      emit(b, Op::MOV, {held, all});
      function_.setOperand(&atomic, data, held);
    }
    function_.setGuard(&atomic, leader.isLeader);
  }

  /// What all lanes together add when each adds `value`.
  Operand timesLanes(ori::Builder& b, Leader& leader, const Operand& value) {
    if (leader.count.isNone()) {
      leader.count = b.newUR();
      emit(b, Op::UPOPC, {leader.count, leader.mask});
    }
    const Operand sum = b.newR();
    emit(b, Op::IMAD, {sum, value, leader.count, Operand::rz()}, {{isa::Mod::Type, isa::IntType::U32}});
    return sum;
  }

  /// Each lane adds the same: one adds for all, and each works out what it would have found.
  void addOnce(ori::Instr& atomic, unsigned data, unsigned result) {
    ori::Builder b = ori::Builder::before(function_, &atomic);
    Leader& leader = elect(b, *atomic.block);
    const Operand value = atomic.op_(data).value();
    const Operand found = atomic.op_(result).value(), old = b.newR();
    function_.setOperand(&atomic, data, timesLanes(b, leader, value));
    function_.setOperand(&atomic, result, old);
    function_.setGuard(&atomic, leader.isLeader);

    ori::Builder behind = ori::Builder::after(function_, &atomic);
    const Operand lane = b.newR(), first = b.newR();
    emit(behind, Op::MOV, {lane, leader.lane});
    emit(behind, Op::SHFL, {Operand::pt(), first, old, lane, Operand::immediate(0x1f)},
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
    emit(behind, Op::IMAD, {found, leader.rank, value, first}, {{isa::Mod::Type, isa::IntType::U32}});
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg cfg_;
  const ori::Divergence divergence_;
  Leader leader_; ///< of the block that the last one combined stands in
  int emitted_ = 0;
};

} // namespace

/// Phase 44. Atomic operations of all lanes of a warp on one address, in global, generic or shared memory, become one:
/// the lanes' values are reduced (REDUX; a value that they share is multiplied by their number, or is its own minimum),
/// an elected lane brings the result to memory, and where the old value is read and all lanes add the same, each lane
/// works out its own from what that one found. One election serves a block. What nobody reads is not brought back
/// (ATOMG becomes REDG), combined or not. Knobs OptimizeUniformAtomicMode
/// (510) and GeneralOptimizationGate (487): 0 leaves them.
bool optimizeUniformAtomic(ori::Function& function, PhaseContext& context) {
  // REDUX came with the chips whose memory instructions take descriptors.
  if (!context.target.hasMemoryDescriptors() || context.knobs.get(Knob::OptimizeUniformAtomicMode) == 0) return false;
  if (!context.knobs.enabled(Knob::GeneralOptimizationGate)) return false;
  return Combiner(function, context).run();
}

} // namespace orias::phases
