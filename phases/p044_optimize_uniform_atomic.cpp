#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/analysis/divergence.h"
#include "ori/builder.h"
#include "phases/phases.h"

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
        if (isa::desc(instr.op).has(isa::Flag::Atomic)) changed |= combine(instr);
      });
    }
    return changed;
  }

 private:
  struct Leader {
    Operand isLeader; ///< true in the lane that acts for all
    Operand lane;     ///< UR: its number
    Operand mask;     ///< UR: the lanes that are here
  };

  bool combine(ori::Instr& atomic) {
    const isa::InstrDesc& row = isa::desc(atomic.op);
    const int data = row.slotIndex("Rb"), result = row.slotIndex("Rd"), address = row.slotIndex("Ra");
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
    if (isRead)
      addOnce(atomic, static_cast<unsigned>(data), static_cast<unsigned>(result));
    else
      reduce(atomic, static_cast<unsigned>(data), *reduction, type);
    return true;
  }

  bool refuse(const ori::Instr& atomic, const char* why) {
    context_.remarks.refused(&atomic, std::string("an atomic operation stays: ") + why);
    return false;
  }

  Leader elect(ori::Builder& b) {
    Leader leader{function_.use(function_.newVReg(File::P)), b.newUR(), b.newUR()};
    const Operand lane = b.newR();
    b.emit(Op::VOTEU, {leader.mask, Operand::zero(File::UP), Operand::pt()},
           {{isa::Mod::VoteMode, isa::VoteMode::ANY}});
    b.emit(Op::UFLO, {leader.lane, Operand::zero(File::UP), leader.mask}, {{isa::Mod::Type, isa::IntType::U32}});
    b.emit(Op::S2R, {lane, Operand::immediate(kLaneId)});
    b.emit(Op::ISETP, {leader.isLeader, Operand::pt(), lane, leader.lane, Operand::pt()},
           {{isa::Mod::Cmp, isa::ICmp::EQ}, {isa::Mod::Type, isa::IntType::U32}, {isa::Mod::Bool, isa::BoolOp::AND}});
    return leader;
  }

  /// All lanes' values become one, which one lane brings to memory.
  void reduce(ori::Instr& atomic, unsigned data, Redux reduction, unsigned isSigned) {
    ori::Builder b = ori::Builder::before(function_, &atomic);
    const Leader leader = elect(b);
    const Operand all = b.newUR(), held = b.newR();
    Operand value = atomic.op_(data).value();
    if (!value.isReg() || value.isZeroReg()) {
      const Operand copy = b.newR();
      b.emit(Op::MOV, {copy, value});
      value = copy;
    }
    const bool hasSign = isSigned != 0 && (reduction == Redux::Min || reduction == Redux::Max);
    b.emit(Op::REDUX, {all, value}, {{isa::Mod::Func, reduction}, {isa::Mod::Type, hasSign ? 1 : 0}});
    b.emit(Op::MOV, {held, all});
    function_.setOperand(&atomic, data, held);
    function_.setGuard(&atomic, leader.isLeader);
    context_.remarks.did(&atomic, "one lane performs the atomic operation for its warp", 6);
  }

  /// Each lane adds the same: one adds for all, and each works out what it would have found.
  void addOnce(ori::Instr& atomic, unsigned data, unsigned result) {
    ori::Builder b = ori::Builder::before(function_, &atomic);
    const Leader leader = elect(b);
    const Operand mask = b.newR(), count = b.newR(), sum = b.newR();
    b.emit(Op::MOV, {mask, leader.mask});
    b.emit(Op::POPC, {count, mask});
    Operand value = atomic.op_(data).value();
    b.emit(Op::IMAD, {sum, count, value, Operand::rz()}, {{isa::Mod::Type, isa::IntType::U32}});
    const Operand found = atomic.op_(result).value(), old = b.newR();
    function_.setOperand(&atomic, data, sum);
    function_.setOperand(&atomic, result, old);
    function_.setGuard(&atomic, leader.isLeader);

    ori::Builder behind = ori::Builder::after(function_, &atomic);
    const Operand lane = b.newR(), first = b.newR(), below = b.newR(), before = b.newR(), rank = b.newR();
    behind.emit(Op::MOV, {lane, leader.lane});
    behind.emit(Op::SHFL, {Operand::pt(), first, old, lane, Operand::immediate(0x1f)},
                {{isa::Mod::ShflMode, isa::ShflMode::IDX}});
    behind.emit(Op::S2R, {below, Operand::immediate(kLanesBelow)});
    behind.emit(Op::LOP3,
                {Operand::pt(), before, below, mask, Operand::rz(), Operand::immediate(0xc0), Operand::pt().notted()});
    behind.emit(Op::POPC, {rank, before});
    behind.emit(Op::IMAD, {found, rank, value, first}, {{isa::Mod::Type, isa::IntType::U32}});
    context_.remarks.did(&atomic, "one lane performs the addition for its warp and tells the others what it found", 12);
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg cfg_;
  const ori::Divergence divergence_;
};

} // namespace

/// Phase 44. Atomic operations of all lanes of a warp on one address, in global, generic or shared memory, become one:
/// the lanes' values are reduced (REDUX), an elected lane brings the result to memory, and where the old value is read
/// and all lanes add the same, each lane works out its own from what that one found. Knobs OptimizeUniformAtomicMode
/// (510) and GeneralOptimizationGate (487): 0 leaves them.
bool optimizeUniformAtomic(ori::Function& function, PhaseContext& context) {
  // REDUX came with the chips whose memory instructions take descriptors.
  if (!context.target.hasMemoryDescriptors() || context.knobs.get(Knob::OptimizeUniformAtomicMode) == 0) return false;
  if (!context.knobs.enabled(Knob::GeneralOptimizationGate)) return false;
  return Combiner(function, context).run();
}

} // namespace orias::phases
