// cp.async: copies from global to shared memory that bypass the registers, and waiting for them.

#include "frontend/lower/addresses.h"
#include "frontend/lower/families.h"
#include "frontend/lower/policy.h"

namespace orias::ptx {

using isa::MemSize;
using IsaOperand = isa::Operand;

namespace {

/// Offsets of LDGSTS: signed, 20 bits in shared and 12 bits in global memory.
constexpr unsigned kSharedOffsetBits = 20, kGlobalOffsetBits = 12;

bool fits(std::int64_t value, unsigned bits) {
  return value >= -(std::int64_t{1} << (bits - 1)) && value < std::int64_t{1} << (bits - 1);
}

/// The shared address as one register and an offset.
Address sharedAddress(FunctionLowering& f, const Operand& operand) {
  Address a = addressOf(f, operand, StateSpace::Shared);
  IsaOperand rest = IsaOperand::rz();
  if (!fits(a.offset, kSharedOffsetBits)) {
    rest = f.inReg(f.imm(a.offset));
    a.offset = 0;
  }
  if (a.uniform.isNone() && rest.isZeroReg()) return a;
  const IsaOperand sum = f.newR();
  const IsaOperand uniform = a.uniform.isNone() ? IsaOperand::rz() : a.uniform;
  f.emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), a.base, uniform, rest});
  a.base = sum;
  a.uniform = IsaOperand();
  return a;
}

Address globalAddress(FunctionLowering& f, const Operand& operand) {
  Address a = addressOf(f, operand, StateSpace::Global);
  if (a.base.isZeroReg() || fits(a.offset, kGlobalOffsetBits)) return a;
  a.base = wholeAddress(f, a);
  a.offset = 0;
  return a;
}

} // namespace

void lowerCpAsync(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const std::uint64_t bytes = f.source(ops[2], Type::U32).bits();
  const std::size_t given = ops.size() - (form.has(Mod::L2CacheHint) ? 1 : 0);
  if (form.get(Slot::Space) == Mod::SharedCluster) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  const Address to = sharedAddress(f, ops[0]);
  Address from = globalAddress(f, ops[1]);
  IsaOperand wanted = IsaOperand::pt();
  bool isPart = false;
  if (given > 3) {
    const bool ignores = ops[3].is(OperandKind::Register) && f.typeOf(ops[3]) == Type::Pred;
    if (ignores) {
      wanted = f.predicate(ops[3]).notted();
    } else {
      // For a partial copy, the address also encodes how many bytes are missing at the end: it is higher by that
      // number.
      const Value given = f.source(ops[3], Type::U32);
      if (given.isConstant() && given.bits() == 0) {
        wanted = IsaOperand::pt().notted();
      } else if (!given.isConstant() || given.bits() < bytes) {
        isPart = true;
        const IsaOperand missing = f.newR(2), at = f.newR(2);
        if (given.isConstant()) {
          f.copy(missing, Value::constant(bytes - given.bits(), 2));
        } else {
          const IsaOperand less = f.newR();
          wanted = f.newP();
          f.emit(IsaOp::IADD3, {less, IsaOperand::pt(), IsaOperand::pt(), given.word(0).negated(),
                                f.imm(static_cast<std::int64_t>(bytes)), IsaOperand::rz()});
          f.emit(IsaOp::LOP3,
                 {IsaOperand::pt(), ori::component(missing, 0), less, f.imm(static_cast<std::int64_t>(bytes) - 1),
                  IsaOperand::rz(), f.imm(0xc0), IsaOperand::pt().notted()});
          f.copy(ori::component(missing, 1), Value::constant(0, 1));
          f.emit(IsaOp::ISETP, {wanted, IsaOperand::pt(), given.word(0), IsaOperand::rz(), IsaOperand::pt()},
                 {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
        }
        f.emit(IsaOp::IADD64, {at, f.inReg(Value::of(from.base)), missing});
        from.base = at;
      }
    }
  }
  const Mod prefetch = form.get(Slot::Prefetch);
  enum { kNormal, k64, k128, k256 };
  const int ahead = prefetch == Mod::L2Prefetch64    ? k64
                    : prefetch == Mod::L2Prefetch128 ? k128
                    : prefetch == Mod::L2Prefetch256 ? k256
                                                     : kNormal;
  const MemSize size = bytes == 4 ? MemSize::B32 : bytes == 8 ? MemSize::B64 : MemSize::B128;
  f.emit(IsaOp::LDGSTS,
         {to.base, IsaOperand::immediate(static_cast<std::int32_t>(to.offset)), accessDescriptor(f, i, form), from.base,
          IsaOperand::immediate(static_cast<std::int32_t>(from.offset)), wanted},
         {{IsaMod::Sub, form.cache() == Mod::Cg ? 0 : 1},
          {IsaMod::Prefetch, ahead},
          {IsaMod::Size, size},
          {IsaMod::Sub2, isPart ? 1 : 0}});
}

/// commit_group, wait_group, wait_all. The copies since the last group form one group. DEPBAR waits until at most the
/// given number of groups are in flight.
void lowerCpAsyncWait(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (form.op != Op::CpAsyncWaitGroup) f.emit(IsaOp::LDGDEPBAR, {});
  if (form.op == Op::CpAsyncCommitGroup) return;
  const std::uint64_t left = form.op == Op::CpAsyncWaitAll ? 0 : f.source(f.operands(i)[0], Type::U32).bits();
  constexpr std::uint64_t kMaxGroups = 63;
  f.emit(IsaOp::DEPBAR_LE, {f.imm(0), f.imm(static_cast<std::int64_t>(std::min(left, kMaxGroups)))});
}

} // namespace orias::ptx
