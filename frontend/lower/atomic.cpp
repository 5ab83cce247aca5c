// atom and red. Operations without a hardware instruction become a loop around a compare-and-swap.

#include "frontend/lower/addresses.h"
#include "frontend/lower/cluster.h"
#include "frontend/lower/families.h"
#include "frontend/lower/integer_helpers.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/policy.h"
#include "frontend/lower/sync.h"

#include <fmt/format.h>

namespace orias::ptx {

using isa::AtomFloat;
using isa::AtomOp;
using isa::AtomType;
using isa::MemOrder;
using isa::MemSize;
using IsaOperand = isa::Operand;

namespace {

/// The parts of an atomic operation.
struct Atomic {
  StateSpace space;
  Mod action;
  Type type;
  Address address;
  IsaOperand descriptor;  ///< of global and generic memory
  IsaOperand result;      ///< RZ if the old value is unused
  IsaOperand value;       ///< cas: the value to compare with
  IsaOperand replacement; ///< cas only
  MemOrder order;
  unsigned words;
  unsigned vector; ///< elements; if above 1, each one is atomic on its own
  bool isFloat;
  bool wanted() const { return !result.isZeroReg(); }
};

AtomType atomType(const Atomic& a) {
  if (a.words == 4) return AtomType::U128;
  const bool isSigned = typeClass(a.type) == TypeClass::Signed;
  if (a.words == 2) return isSigned ? AtomType::S64 : AtomType::U64;
  return isSigned ? AtomType::S32 : AtomType::U32;
}

/// Types of one, two and four registers have consecutive numbers.
AtomFloat atomFloat(const Atomic& a) {
  const auto wider = [&](AtomFloat one) {
    return static_cast<AtomFloat>(static_cast<unsigned>(one) + (a.words == 4 ? 2 : a.words - 1));
  };
  switch (a.type) {
  case Type::F16:
  case Type::F16x2: return wider(AtomFloat::F16x2);
  case Type::BF16:
  case Type::BF16x2: return wider(AtomFloat::BF16x2);
  case Type::F64: return AtomFloat::F64;
  // Atomics on global memory flush subnormals, as PTX specifies.
  default: return wider(AtomFloat::F32Ftz);
  }
}

/// Atomics without a scope have the scope of the GPU.
MemOrder orderOf(Mod scope) {
  switch (scope) {
  case Mod::Cta: return MemOrder::StrongSm;
  case Mod::Sys: return MemOrder::StrongSys;
  default: return MemOrder::StrongGpu;
  }
}

IsaOperand offsetOf(const Address& a) {
  return IsaOperand::immediate(static_cast<std::int32_t>(a.offset));
}

/// The new value that the operation computes from the old one, for the loops.
IsaOperand combine(FunctionLowering& f, const Atomic& a, IsaOperand old) {
  const IsaOperand fresh = f.newR(a.words);
  if (a.type == Type::F16x2 || a.type == Type::BF16x2) {
    f.emit(IsaOp::HADD2, {fresh, old, a.value}, {{IsaMod::Bf16, a.type == Type::BF16x2 ? 1 : 0}});
  } else if (a.type == Type::F32) {
    f.emit(IsaOp::FADD, {fresh, old, a.value});
  } else if (a.type == Type::F64) {
    f.emit(IsaOp::DADD, {fresh, old, a.value});
  } else if (a.action == Mod::Add) {
    f.emit(IsaOp::IADD64, {fresh, old, a.value});
  } else if (a.action == Mod::Min || a.action == Mod::Max) {
    const IsaOperand p = f.newP();
    const isa::IntType type = typeClass(a.type) == TypeClass::Signed ? isa::IntType::S32 : isa::IntType::U32;
    compare64(f, p, old, a.value, a.action == Mod::Min ? isa::ICmp::LT : isa::ICmp::GT, type);
    for (unsigned w = 0; w < a.words; ++w)
      f.emit(IsaOp::SEL, {ori::component(fresh, w), ori::component(old, w), ori::component(a.value, w), p});
  } else {
    const int lut = a.action == Mod::And ? 0xc0 : a.action == Mod::Or ? 0xfc : 0x3c;
    for (unsigned w = 0; w < a.words; ++w)
      f.emit(IsaOp::LOP3, {IsaOperand::pt(), ori::component(fresh, w), ori::component(old, w),
                           ori::component(a.value, w), IsaOperand::rz(), f.imm(lut), IsaOperand::pt().notted()});
  }
  return fresh;
}

/// The swap of a loop compares bits only.
AtomType swapType(const Atomic& a) {
  return a.words == 2 ? AtomType::U64 : AtomType::U32;
}

MemSize sizeOf(const Atomic& a) {
  return a.words == 2 ? MemSize::B64 : MemSize::B32;
}

/// Reads, combines and tries to swap until no other thread interferes. Ends in a new block. `emitLoad` and `emitSwap`
/// are specific to the state space.
template <typename Load, typename Swap>
void swapLoop(FunctionLowering& f, const Atomic& a, Load emitLoad, Swap emitSwap) {
  ori::Block* loop = f.newBlock();
  f.enter(loop);
  const IsaOperand old = f.newR(a.words), done = f.newR(a.words), p = f.newP();
  emitLoad(old);
  emitSwap(done, old, combine(f, a, old));
  // The swap returns 1 on success.
  f.emit(IsaOp::ISETP, {p, IsaOperand::pt(), ori::component(done, 0), f.imm(1), IsaOperand::pt()},
         {{IsaMod::Cmp, isa::ICmp::EQ}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  f.branchIf(p.notted(), loop);
  if (a.wanted()) f.copy(a.result, Value::of(old));
}

constexpr int kCastSpin = 3;

/// `base` is the 32-bit shared address.
void sharedLoop(FunctionLowering& f, const Atomic& a, IsaOperand base, IsaOperand uniform) {
  // The swap takes no uniform register.
  if (!uniform.isNone()) {
    const IsaOperand sum = f.newR();
    f.emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), base, uniform, IsaOperand::rz()});
    base = sum;
  }
  swapLoop(
      f, a,
      [&](IsaOperand old) {
        f.emit(IsaOp::LDS, {old, base, IsaOperand(), offsetOf(a.address)}, {{IsaMod::Size, sizeOf(a)}});
      },
      [&](IsaOperand done, IsaOperand old, IsaOperand fresh) {
        f.emit(IsaOp::ATOMS_CAS, {done, base, offsetOf(a.address), old, fresh},
               {{IsaMod::Sub, kCastSpin}, {IsaMod::AtomType, swapType(a)}});
      });
}

void lowerShared(FunctionLowering& f, const Atomic& a) {
  const Address& at = a.address;
  if (a.action == Mod::Cas) {
    IsaOperand base = at.base;
    if (!at.uniform.isNone()) {
      base = f.newR();
      f.emit(IsaOp::IADD3, {base, IsaOperand::pt(), IsaOperand::pt(), at.base, at.uniform, IsaOperand::rz()});
    }
    f.emit(IsaOp::ATOMS_CAS, {a.result, base, offsetOf(at), a.value, a.replacement}, {{IsaMod::AtomType, atomType(a)}});
  } else if (!a.isFloat && (a.words == 1 || a.action == Mod::Exch)) {
    f.emit(IsaOp::ATOMS, {a.result, at.base, at.uniform, offsetOf(at), a.value},
           {{IsaMod::AtomOp, atomOp(a.action)}, {IsaMod::AtomType, atomType(a)}});
  } else {
    ori::Block* join = f.beginUnguarded();
    sharedLoop(f, a, at.base, at.uniform);
    f.endUnguarded(join);
  }
}

void lowerGlobal(FunctionLowering& f, const Atomic& a) {
  const Address& at = a.address;
  const ModValue order{IsaMod::Order, a.order};
  if (a.action == Mod::Cas) {
    f.emit(IsaOp::ATOMG_CAS, {IsaOperand::pt(), a.result, at.base, offsetOf(at), a.value, a.replacement},
           {{IsaMod::AtomType, atomType(a)}, order});
    return;
  }
  const ModValue op{IsaMod::AtomOp, atomOp(a.action)};
  const ModValue type = a.isFloat ? ModValue{IsaMod::AtomFloat, atomFloat(a)} : ModValue{IsaMod::AtomType, atomType(a)};
  const IsaOperand descriptor = a.descriptor, noUniform = IsaOperand();
  if (!a.wanted() && a.action != Mod::Exch)
    f.emit(a.isFloat ? IsaOp::REDG_FLOAT : IsaOp::REDG, {descriptor, at.base, noUniform, offsetOf(at), a.value},
           {op, type, order});
  else
    f.emit(a.isFloat ? IsaOp::ATOMG_FLOAT : IsaOp::ATOMG,
           {IsaOperand::pt(), a.result, descriptor, at.base, noUniform, offsetOf(at), a.value}, {op, type, order});
}

/// Where a generic address lies, as QSPC encodes it.
enum class Where { Shared = 2, Distributed = 3 };

/// Jumps to `elsewhere` unless the address lies in `where`.
void branchUnless(FunctionLowering& f, const Atomic& a, Where where, const ori::Block* elsewhere) {
  const IsaOperand p = f.newP();
  f.emit(IsaOp::QSPC, {p, IsaOperand::rz(), a.address.base, IsaOperand(), offsetOf(a.address)}, {{IsaMod::Sub, where}});
  f.branchIf(p.notted(), elsewhere);
}

IsaOperand loadGeneric(FunctionLowering& f, const Atomic& a) {
  const IsaOperand old = f.newR(a.words);
  f.emit(IsaOp::LD, {old, f.globalDescriptor(), a.address.base, IsaOperand(), offsetOf(a.address)},
         {{IsaMod::Size, sizeOf(a)}});
  return old;
}

void storeGeneric(FunctionLowering& f, const Atomic& a, IsaOperand data) {
  f.emit(IsaOp::ST, {f.globalDescriptor(), a.address.base, IsaOperand(), offsetOf(a.address), data},
         {{IsaMod::Size, sizeOf(a)}});
}

/// Generic addresses: the instruction handles global memory, and returns a predicate that is false where the address is
/// in another space. Shared memory then needs the loop. Local memory is private to the thread, so a load and a store
/// suffice.
void lowerGeneric(FunctionLowering& f, const Atomic& a) {
  const Address& at = a.address;
  const ModValue order{IsaMod::Order, a.order};
  const bool isCas = a.action == Mod::Cas;
  const bool everywhere = (!a.isFloat && (a.words == 1 || a.words == 4)) || a.vector > 1;
  auto emitAtom = [&](IsaOperand did, IsaOperand result) {
    if (isCas) {
      f.emit(IsaOp::ATOM_CAS, {did, result, at.base, offsetOf(at), a.value, a.replacement},
             {{IsaMod::AtomType, atomType(a)}, order});
      return;
    }
    const ModValue type =
        a.isFloat ? ModValue{IsaMod::AtomFloat, atomFloat(a)} : ModValue{IsaMod::AtomType, atomType(a)};
    f.emit(a.isFloat ? IsaOp::ATOM_FLOAT : IsaOp::ATOM,
           {did, result, a.descriptor, at.base, IsaOperand(), offsetOf(at), a.value},
           {{IsaMod::AtomOp, atomOp(a.action)}, type, order});
  };
  if (everywhere) {
    emitAtom(IsaOperand::pt(), a.result);
    return;
  }
  ori::Block* join = f.beginUnguarded();
  ori::Block* done = f.newBlock();
  const IsaOperand did = f.newP();
  // The destination may be the address or a source, so it is written at the end.
  Atomic inner = a;
  if (a.wanted()) inner.result = f.newR(a.words);
  emitAtom(did, inner.result);
  f.branchIf(did, done);
  if (!isCas && a.action != Mod::Exch) {
    const bool hasOtherWindows = f.target().has(isa::Capability::Clusters);
    ori::Block* local = f.newBlock();
    ori::Block* notShared = hasOtherWindows ? f.newBlock() : local;
    branchUnless(f, a, Where::Shared, notShared);
    sharedLoop(f, inner, ori::component(at.base, 0), IsaOperand());
    f.branch(done);
    if (hasOtherWindows) {
      f.enter(notShared);
      branchUnless(f, a, Where::Distributed, local);
      swapLoop(
          f, inner, [&](IsaOperand old) { f.copy(old, Value::of(loadGeneric(f, a))); },
          [&](IsaOperand swapped, IsaOperand old, IsaOperand fresh) {
            f.emit(IsaOp::ATOM_CAS, {IsaOperand::pt(), swapped, at.base, offsetOf(at), old, fresh},
                   {{IsaMod::Sub, kCastSpin}, {IsaMod::AtomType, swapType(a)}});
          });
      f.branch(done);
    }
    f.enter(local);
  }
  const IsaOperand old = loadGeneric(f, a);
  if (isCas) {
    const IsaOperand same = f.newP(), fresh = f.newR(a.words);
    compare64(f, same, old, a.value, isa::ICmp::EQ, isa::IntType::U32);
    for (unsigned w = 0; w < a.words; ++w)
      f.emit(IsaOp::SEL, {ori::component(fresh, w), ori::component(a.replacement, w), ori::component(old, w), same});
    storeGeneric(f, a, fresh);
  } else {
    storeGeneric(f, a, a.action == Mod::Exch ? a.value : combine(f, a, old));
  }
  if (a.wanted()) f.copy(inner.result, Value::of(old));
  f.enter(done);
  if (a.wanted()) f.copy(a.result, Value::of(inner.result));
  f.endUnguarded(join);
}

IsaOperand broadcast(FunctionLowering& f, IsaOperand half) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::PRMT, {r, half, f.imm(0x1010), IsaOperand::rz()});
  return r;
}

IsaOperand masked(FunctionLowering& f, IsaOperand word, std::int64_t mask) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::LOP3,
         {IsaOperand::pt(), r, word, f.imm(mask), IsaOperand::rz(), f.imm(0xc0), IsaOperand::pt().notted()});
  return r;
}

IsaOperand differs(FunctionLowering& f, IsaOperand x, IsaOperand y) {
  const IsaOperand p = f.newP();
  f.emit(IsaOp::ISETP, {p, IsaOperand::pt(), x, y, IsaOperand::pt()},
         {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  return p;
}

/// The whole address of the operand in one register or pair.
IsaOperand wholeAddress(FunctionLowering& f, const Atomic& a) {
  const Address& at = a.address;
  if (a.space == StateSpace::Shared) {
    const IsaOperand sum = f.newR();
    f.emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), f.inReg(f.imm(at.offset)),
                          at.uniform.isNone() ? IsaOperand::rz() : at.uniform, at.base});
    return sum;
  }
  return wholeAddress(f, at);
}

/// 16 bits: a loop that swaps the containing word. It continues with the value that the swap found, because a load
/// might return a stale value repeatedly.
void lowerHalf(FunctionLowering& f, const Atomic& a) {
  ori::Block* join = f.beginUnguarded();
  const IsaOperand whole = wholeAddress(f, a), low = ori::component(whole, 0), half = masked(f, low, 2);
  IsaOperand at = f.newR(whole.width);
  f.copy(ori::component(at, 0), Value::of(masked(f, low, ~std::int64_t{3})));
  if (at.width > 1) f.copy(ori::component(at, 1), Value::of(ori::component(whole, 1)));
  // Selects the bytes of {new, old} that form the word.
  const IsaOperand selector = f.newR();
  f.emit(IsaOp::SEL, {selector, f.inReg(f.imm(0x7610)), f.imm(0x3254), differs(f, half, IsaOperand::rz())});
  const IsaOperand value = broadcast(f, a.value),
                   replacement = a.action == Mod::Cas ? broadcast(f, a.replacement) : value;

  const IsaOperand old = f.newR(), zero = IsaOperand::immediate(0), none = IsaOperand();
  const ModValue word{IsaMod::Size, MemSize::B32};
  if (a.space == StateSpace::Shared)
    f.emit(IsaOp::LDS, {old, at, none, zero}, {word});
  else if (a.space == StateSpace::Global)
    f.emit(IsaOp::LDG, {IsaOperand::pt(), old, a.descriptor, at, none, zero}, {word});
  else
    f.emit(IsaOp::LD, {old, a.descriptor, at, none, zero}, {word});
  ori::Block* loop = f.newBlock();
  ori::Block* done = f.newBlock();
  f.enter(loop);
  const IsaOperand fresh = f.newR(), found = f.newR();
  const auto placed = [&](IsaOperand d, IsaOperand halves) { f.emit(IsaOp::PRMT, {d, old, selector, halves}); };
  if (a.action == Mod::Cas) {
    const IsaOperand expected = f.newR();
    placed(expected, value);
    f.branchIf(differs(f, expected, old), done);
    placed(fresh, replacement);
  } else {
    const IsaOperand sum = f.newR();
    f.emit(IsaOp::HADD2, {sum, old, value}, {{IsaMod::Bf16, a.type == Type::BF16 ? 1 : 0}});
    placed(fresh, sum);
  }
  const ModValue order{IsaMod::Order, a.order};
  if (a.space == StateSpace::Shared)
    f.emit(IsaOp::ATOMS_CAS, {found, at, zero, old, fresh});
  else
    f.emit(a.space == StateSpace::Global ? IsaOp::ATOMG_CAS : IsaOp::ATOM_CAS,
           {IsaOperand::pt(), found, at, zero, old, fresh}, {order});
  const IsaOperand again = differs(f, found, old);
  f.copy(old, Value::of(found));
  f.branchIf(again, loop);
  f.enter(done);
  if (a.wanted()) {
    const IsaOperand by = f.newR();
    f.emit(IsaOp::SHF, {by, half, f.imm(3), IsaOperand::rz()},
           {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
    f.emit(IsaOp::SHF, {a.result, IsaOperand::rz(), by, old},
           {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
  }
  f.endUnguarded(join);
}

/// The elements of a vector in consecutive registers, halves two in a register.
IsaOperand packedVector(FunctionLowering& f, const Operand& vector, Type type, unsigned words) {
  auto parts = f.parts(vector);
  const IsaOperand run = f.newR(words);
  for (unsigned w = 0; w < words; ++w) {
    if (bitWidth(type) == 32)
      f.copy(ori::component(run, w), f.source(parts[w], type));
    else
      f.emit(IsaOp::PRMT, {ori::component(run, w), f.sourceReg(parts[2 * w], type), f.imm(0x5410),
                           f.sourceReg(parts[2 * w + 1], type)});
  }
  return run;
}

void unpackVector(FunctionLowering& f, const Operand& vector, Type type, IsaOperand run) {
  auto parts = f.parts(vector);
  for (unsigned e = 0; e < parts.size(); ++e) {
    if (parts[e].is(OperandKind::Sink)) continue;
    const IsaOperand d = f.dest(parts[e]);
    if (bitWidth(type) == 32)
      f.copy(d, Value::of(ori::component(run, e)));
    else
      f.emit(IsaOp::PRMT, {d, ori::component(run, e / 2), f.imm(e % 2 == 0 ? 0x4410 : 0x4432), IsaOperand::rz()});
  }
}

/// `at`: index of the address operand; the values follow it.
void lowerAtomic(FunctionLowering& f, const Instruction& i, const Form& form, unsigned at) {
  auto ops = f.operands(i);
  Atomic a;
  // Multimem addresses are addresses of global memory. Without a scope, the operation reaches all of the GPUs.
  const bool isMultimem = form.op == Op::MultimemRed;
  a.space = isMultimem ? StateSpace::Global : isClusterShared(form) ? StateSpace::None : form.space();
  a.action = form.action();
  a.type = form.type();
  a.vector = form.vectorSize();
  a.isFloat = typeClass(a.type) == TypeClass::Float;
  const unsigned bits = bitWidth(a.type) * a.vector;
  if (bits > 128 || (a.isFloat && a.vector == 1 && a.action != Mod::Add)) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  a.words = std::max(1u, bits / 32);
  a.order = isMultimem && form.scope() == Mod::None ? MemOrder::StrongSys : orderOf(form.scope());
  a.address = isClusterShared(form) ? clusterAddress(f, ops[at]) : addressOf(f, ops[at], a.space);
  if (a.address.isFrame) {
    f.unsupported("an atomic operation on local memory");
    return;
  }
  if (a.space != StateSpace::Shared) a.descriptor = accessDescriptor(f, i, form);
  const bool isWanted = at != 0 && !ops[0].is(OperandKind::Sink);
  if (a.vector > 1) {
    a.value = packedVector(f, ops[at + 1], a.type, a.words);
    a.result = isWanted ? f.newR(a.words) : IsaOperand::rz(a.words);
  } else {
    a.value = f.sourceReg(ops[at + 1], a.type);
    a.result = isWanted ? f.dest(ops[0]) : IsaOperand::rz(a.words);
  }
  if (a.action == Mod::Cas) a.replacement = f.sourceReg(ops[at + 2], a.type);
  if (a.action == Mod::Cas && !f.target().has(isa::Capability::SwapsZero))
    for (IsaOperand* value : {&a.value, &a.replacement})
      if (value->isZeroReg()) {
        const IsaOperand zero = f.newR(a.words);
        for (unsigned w = 0; w < a.words; ++w)
          f.copy(ori::component(zero, w), Value::constant(0, 1));
        *value = zero;
      }

  const Mod semantics = form.semantics();
  const Mod scope = form.scope() == Mod::None ? Mod::Gpu : form.scope();
  if (semantics == Mod::Release || semantics == Mod::AcqRel) emitReleaseFence(f, scope);
  if (bits == 16)
    lowerHalf(f, a);
  else if (a.space == StateSpace::Shared)
    lowerShared(f, a);
  else if (a.space == StateSpace::Global)
    lowerGlobal(f, a);
  else
    lowerGeneric(f, a);
  if (semantics == Mod::Acquire || semantics == Mod::AcqRel) emitAcquireFence(f, scope);
  if (a.vector > 1 && isWanted) unpackVector(f, ops[0], a.type, a.result);
}

} // namespace

void lowerAtom(FunctionLowering& f, const Instruction& i, const Form& form) {
  lowerAtomic(f, i, form, 1);
}
void lowerRed(FunctionLowering& f, const Instruction& i, const Form& form) {
  lowerAtomic(f, i, form, 0);
}

} // namespace orias::ptx
