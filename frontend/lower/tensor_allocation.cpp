// Allocation of tensor memory (tcgen05.alloc, dealloc, relinquish_alloc_permit). The unit allocates groups of 32
// columns. A CTA keeps records in shared memory, below its own: a word for the allocated groups, a word for the groups
// that begin an allocation, and whether it has given up its permit. If a program breaks the rules, the kernel traps (in
// ptxas' code, in a function). Everything as observed for sm_100a.

#include "frontend/lower/addresses.h"
#include "frontend/lower/families.h"
#include "frontend/lower/special.h"
#include "frontend/lower/sync.h"
#include "frontend/lower/uniform_loop.h"

#include <array>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

/// Offsets in the records, __nv_reservedSMEM_tcgen05_partition, which follow the system's reserved memory.
constexpr std::int64_t kBarrier = 0x8, kPhase = 0x10, kAllocated = 0x14, kFirsts = 0x18, kGivenUp = 0x1c;
constexpr std::int64_t kGroupShift = 5; ///< columns of a group
constexpr std::int64_t kRetry = 100;    ///< ns

const IsaOperand kTrue = IsaOperand::pt();

IsaOperand shifted(FunctionLowering& f, IsaOperand word, IsaOperand by, isa::ShiftDir direction) {
  const IsaOperand r = f.newR();
  const bool isRight = direction == isa::ShiftDir::R;
  f.emit(IsaOp::SHF, {r, isRight ? IsaOperand::rz() : f.inReg(word), by, isRight ? f.inReg(word) : IsaOperand::rz()},
         {{IsaMod::ShiftDir, direction}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, isRight ? 1 : 0}});
  return r;
}

IsaOperand logic(FunctionLowering& f, IsaOperand a, IsaOperand b, std::int64_t table) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::LOP3, {kTrue, r, f.inReg(a), b, IsaOperand::rz(), f.imm(table), kTrue.notted()});
  return r;
}
constexpr std::int64_t kAnd = 0xc0, kNotB = 0x33; ///< tables of (a, b)

IsaOperand inverted(FunctionLowering& f, IsaOperand word) {
  return logic(f, IsaOperand::rz(), word, kNotB);
}

/// A word of the CTA's records.
struct Record {
  IsaOperand base, offset;
};
Record recordAt(FunctionLowering& f, std::int64_t place) {
  const auto own = static_cast<std::int64_t>(f.target().sharedBase()),
             records = static_cast<std::int64_t>(f.target().chip().cubin.reservedShared);
  return {f.sharedBase(), IsaOperand::immediate(static_cast<std::int32_t>(records + place - own))};
}

/// The number of groups, and one bit for each of them, the lowest first.
struct Groups {
  Value count, bits;
};
Groups groupsOf(FunctionLowering& f, const Operand& columns) {
  const Value n = f.source(columns, Type::U32);
  if (n.isConstant()) {
    const std::uint64_t count = n.bits() >> kGroupShift;
    return {Value::constant(count, 1), Value::constant((std::uint64_t{1} << count) - 1, 1)};
  }
  const IsaOperand count = shifted(f, n.word(0), f.imm(kGroupShift), isa::ShiftDir::R),
                   above = shifted(f, f.imm(-1), count, isa::ShiftDir::L);
  return {Value::of(count), Value::of(inverted(f, above))};
}

void trapIf(FunctionLowering& f, IsaOperand wrong) {
  f.b().setGuard(wrong);
  f.emit(IsaOp::BPT, {f.imm(1)});
  f.b().setGuard(kTrue);
}

/// Traps unless all bits are set in the word of the records.
void demand(FunctionLowering& f, std::int64_t place, IsaOperand bits) {
  const Record record = recordAt(f, place);
  const IsaOperand word = f.newR(), wrong = f.newP();
  f.emit(IsaOp::LDS, {word, IsaOperand::rz(), record.base, record.offset}, {{IsaMod::Size, isa::MemSize::B32}});
  f.emit(IsaOp::ISETP, {wrong, kTrue, logic(f, word, bits, kAnd), bits, kTrue},
         {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  trapIf(f, wrong);
}

void change(FunctionLowering& f, isa::AtomOp how, std::int64_t place, IsaOperand bits) {
  const Record record = recordAt(f, place);
  f.emit(IsaOp::ATOMS, {IsaOperand::rz(), IsaOperand::rz(), record.base, record.offset, bits},
         {{IsaMod::AtomOp, how}, {IsaMod::AtomType, isa::AtomType::U32}});
}

bool isOfPair(const Form& form) {
  return form.get(Slot::CtaGroup) == Mod::CtaGroup2;
}

/// Repeats the request until the unit allocates enough groups. Returns the first of them.
IsaOperand allotted(FunctionLowering& f, const Groups& groups, bool ofPair) {
  ori::Block *loop = f.newBlock(), *found = f.newBlock();
  f.enter(loop);
  const IsaOperand wanted = uniformRun(f, 1), first = uniformRun(f, 1),
                   isFound = f.out().use(f.out().newVReg(File::UP)), isHere = f.newP(), group = f.newR();
  if (groups.count.isConstant())
    f.emit(IsaOp::UMOV, {wanted, groups.count.word(0)});
  else
    f.emit(IsaOp::R2UR, {kTrue, wanted, groups.count.word(0)});
  constexpr std::int64_t kMost = 0x36, kThird = 0xaa; // truth table of PLOP3: its third source
  f.emit(IsaOp::DEPBAR_LE, {f.imm(0), f.imm(kMost)});
  f.emit(IsaOp::UTCATOMSWS_FIND, {isFound, first, wanted}, {{IsaMod::Sub, 1}, {IsaMod::Sub4, ofPair ? 1 : 0}});
  f.emit(IsaOp::MOV, {group, first});
  f.emit(IsaOp::PLOP3_U, {isHere, kTrue, kTrue, kTrue, isFound, f.imm(kThird), f.imm(0)});
  f.branchIf(isHere, found);
  f.emit(IsaOp::NANOSLEEP, {kTrue, f.imm(kRetry)});
  f.branch(loop);
  f.enter(found);
  return group;
}

void recordAllotment(FunctionLowering& f, const Groups& groups, IsaOperand group) {
  change(f, isa::AtomOp::OR, kAllocated, shifted(f, groups.bits.word(0), group, isa::ShiftDir::L));
  change(f, isa::AtomOp::OR, kFirsts, shifted(f, f.imm(1), group, isa::ShiftDir::L));
}

/// The location where the program wants the first column stored.
struct Place {
  const Address& to;
  IsaOperand uniform, offset;
  explicit Place(const Address& a)
      : to(a), uniform(a.uniform.isNone() ? IsaOperand::zero(File::UR) : a.uniform),
        offset(IsaOperand::immediate(static_cast<std::int32_t>(a.offset))) {}
};
void storeColumn(FunctionLowering& f, const Place& at, IsaOperand group) {
  f.emit(IsaOp::STS, {at.to.base, at.uniform, at.offset, shifted(f, group, f.imm(kGroupShift), isa::ShiftDir::L)},
         {{IsaMod::Size, isa::MemSize::B32}});
}

IsaOperand sum(FunctionLowering& f, IsaOperand a, IsaOperand uniform, IsaOperand offset) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::IADD3, {r, kTrue, kTrue, f.inReg(offset), uniform, a});
  return r;
}
/// That location in the shared memory of a CTA of the cluster.
IsaOperand placeIn(FunctionLowering& f, IsaOperand block, IsaOperand place) {
  const IsaOperand r = f.newR();
  constexpr std::int64_t kWindow = 0x654; // the top byte is the CTA's rank
  f.emit(IsaOp::PRMT, {r, block, f.imm(kWindow), place});
  return r;
}

/// Waits until the barrier of the records completes its current phase.
void waitForOther(FunctionLowering& f) {
  const Record phase = recordAt(f, kPhase), barrier = recordAt(f, kBarrier);
  const IsaOperand word = f.newR(), isOver = f.newP();
  constexpr std::int64_t kTopBit = 31;
  f.emit(IsaOp::LDS, {word, IsaOperand::rz(), phase.base, phase.offset}, {{IsaMod::Size, isa::MemSize::B32}});
  const IsaOperand parity = shifted(f, word, f.imm(kTopBit), isa::ShiftDir::L);
  ori::Block *loop = f.newBlock(), *over = f.newBlock();
  f.enter(loop);
  f.emit(IsaOp::SYNCS_PHASECHK, {isOver, IsaOperand::rz(), barrier.base, barrier.offset, parity}, {{IsaMod::Sub, 1}});
  f.branchIf(isOver, over);
  f.branch(loop);
  f.enter(over);
}
void arriveAtOther(FunctionLowering& f, IsaOperand barrier, bool expects) {
  enum { Expect, Arrive };
  constexpr std::int64_t kBytes = 4;
  f.emit(IsaOp::SYNCS_ARRIVE,
         {IsaOperand::rz(), barrier, IsaOperand::zero(File::UR), f.imm(0),
          expects ? f.inReg(f.imm(kBytes)) : IsaOperand::rz()},
         {{IsaMod::Func, expects ? Expect : Arrive}, {IsaMod::Sub2, 1}});
}

/// The even CTA of a pair requests the groups and sends the result to the other CTA when that is ready. The CTAs
/// synchronize by the barriers of the records, which the driver initializes.
void allocateForPair(FunctionLowering& f, const Place& at, const Groups& groups) {
  const Record barrier = recordAt(f, kBarrier);
  const IsaOperand block = f.newR(), toBase = f.newR(), kOne = f.imm(1);
  f.emit(IsaOp::S2R, {block, IsaOperand::immediate(kSrCgaCtaId)});
  constexpr std::int64_t kXor = 0x3c;
  const IsaOperand other = logic(f, block, kOne, kXor);
  f.emit(IsaOp::MOV, {toBase, at.to.base});
  const IsaOperand otherBarrier = placeIn(f, other, sum(f, IsaOperand::rz(), barrier.base, barrier.offset));
  ori::Block *odd = f.newBlock(), *even = f.newBlock(), *end = f.newBlock();
  f.branchIf(f.compared(logic(f, block, kOne, kAnd), isa::ICmp::NE, 0), odd);
  f.enter(even);
  const IsaOperand group = allotted(f, groups, true);
  waitForOther(f);
  arriveAtOther(f, otherBarrier, true);
  storeColumn(f, at, group);
  const IsaOperand both = f.newR(2);
  f.emit(IsaOp::MOV, {ori::component(both, 0), placeIn(f, other, sum(f, toBase, at.uniform, at.offset))});
  f.emit(IsaOp::MOV, {ori::component(both, 1), otherBarrier});
  f.emit(IsaOp::STAS, {both, IsaOperand(), f.imm(0), group}, {{IsaMod::Size, isa::MemSize::B32}});
  recordAllotment(f, groups, group);
  change(f, isa::AtomOp::XOR, kPhase, f.inReg(kOne));
  f.branch(end);
  f.enter(odd);
  waitForOther(f);
  const IsaOperand sent = f.newR();
  f.emit(IsaOp::LDS, {sent, at.to.base, at.uniform, at.offset}, {{IsaMod::Size, isa::MemSize::B32}});
  storeColumn(f, at, sent);
  recordAllotment(f, groups, sent);
  arriveAtOther(f, otherBarrier, false);
  change(f, isa::AtomOp::XOR, kPhase, f.inReg(kOne));
  f.enter(end);
}

} // namespace

void lowerTensorAllocate(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  f.out().usesReservedShared = true;
  ori::Block* join = f.beginUnguarded();
  synchronizeWarp(f, Value::constant(0xffffffffu, 1), false);
  const Address to = sharedAddress(f, ops[0], form.space());
  const Place at(to);
  const Groups groups = groupsOf(f, ops[1]);
  const Record permit = recordAt(f, kGivenUp);
  const IsaOperand givenUp = f.newR(), mine = f.newP();
  f.emit(IsaOp::LDS, {givenUp, IsaOperand::rz(), permit.base, permit.offset}, {{IsaMod::Size, isa::MemSize::U8}});
  trapIf(f, f.compared(givenUp, isa::ICmp::NE, 0));
  f.emit(IsaOp::ELECT, {mine, IsaOperand::zero(File::UR), kTrue});
  ori::Block *done = f.newBlock(), *chosen = f.newBlock();
  f.branchIf(mine.notted(), done);
  f.enter(chosen);
  if (isOfPair(form)) {
    allocateForPair(f, at, groups);
  } else {
    const IsaOperand group = allotted(f, groups, false);
    recordAllotment(f, groups, group);
    storeColumn(f, at, group);
  }
  f.enter(done);
  f.emit(IsaOp::WARPSYNC_ALL, {});
  f.endUnguarded(join);
}

/// Each CTA of a pair frees its own groups.
void lowerTensorDeallocate(FunctionLowering& f, const Instruction& i, const Form&) {
  auto ops = f.operands(i);
  f.out().usesReservedShared = true;
  ori::Block* join = f.beginUnguarded();
  const Groups groups = groupsOf(f, ops[1]);
  constexpr std::int64_t kColumn = 0xffff;
  const IsaOperand column = logic(f, f.sourceReg(ops[0], Type::B32), f.imm(kColumn), kAnd),
                   group = shifted(f, column, f.imm(kGroupShift), isa::ShiftDir::R),
                   bits = shifted(f, groups.bits.word(0), group, isa::ShiftDir::L),
                   bit = shifted(f, f.imm(1), group, isa::ShiftDir::L);
  demand(f, kAllocated, bits);
  demand(f, kFirsts, bit);
  const IsaOperand others = inverted(f, bits), left = uniformRun(f, 1), mine = f.newP();
  f.emit(IsaOp::R2UR, {kTrue, left, others});
  enum { And };
  f.emit(IsaOp::UTCATOMSWS, {IsaOperand::zero(File::UR), left}, {{IsaMod::Sub, And}});
  const IsaOperand otherFirsts = inverted(f, bit);
  f.emit(IsaOp::ELECT, {mine, IsaOperand::zero(File::UR), kTrue});
  f.b().setGuard(mine);
  change(f, isa::AtomOp::AND, kAllocated, others);
  change(f, isa::AtomOp::AND, kFirsts, otherFirsts);
  f.b().setGuard(kTrue);
  f.endUnguarded(join);
}

void lowerTensorRelinquish(FunctionLowering& f, const Instruction&, const Form&) {
  f.out().usesReservedShared = true;
  ori::Block* join = f.beginUnguarded();
  synchronizeWarp(f, Value::constant(0xffffffffu, 1), false);
  const Record permit = recordAt(f, kGivenUp);
  const IsaOperand one = f.newR(), mine = f.newP();
  constexpr std::int64_t kCount = 0x80;
  f.copy(one, Value::constant(1, 1));
  f.emit(IsaOp::ELECT, {mine, IsaOperand::zero(File::UR), kTrue});
  f.emit(IsaOp::UVIRTCOUNT, {f.imm(kCount)});
  f.b().setGuard(mine);
  f.emit(IsaOp::STS, {IsaOperand::rz(), permit.base, permit.offset, one}, {{IsaMod::Size, isa::MemSize::U8}});
  f.b().setGuard(kTrue);
  f.endUnguarded(join);
}

} // namespace orias::ptx
