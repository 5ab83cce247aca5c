// ld and st of all spaces, and prefetch.

#include "frontend/lower/addresses.h"
#include "frontend/lower/bulk_copy.h"
#include "frontend/lower/cluster.h"
#include "frontend/lower/families.h"
#include "frontend/lower/policy.h"
#include "frontend/lower/sync.h"
#include "frontend/lower/windows.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using isa::MemOrder;
using isa::MemSize;
using IsaOperand = isa::Operand;

namespace {

MemSize memSize(Type type, unsigned bytes) {
  const bool isSigned = typeClass(type) == TypeClass::Signed;
  switch (bytes) {
  case 1: return isSigned ? MemSize::S8 : MemSize::U8;
  case 2: return isSigned ? MemSize::S16 : MemSize::U16;
  case 4: return MemSize::B32;
  case 8: return MemSize::B64;
  default: return MemSize::B128;
  }
}

/// The registers of a destination or source vector; one for a scalar.
std::vector<const Operand*> elements(FunctionLowering& f, const Operand& operand) {
  std::vector<const Operand*> out;
  if (operand.is(OperandKind::Vector))
    for (const Operand& part : f.parts(operand))
      out.push_back(&part);
  else
    out.push_back(&operand);
  return out;
}

/// One hardware access: `count` elements from `first`.
struct Piece {
  unsigned first;
  unsigned count;
};

/// Splits a vector access into pieces of at most `widest` bytes. Elements below 32 bits are accessed together only by
/// loading the word and unpacking it (`packed`).
std::vector<Piece> pieces(unsigned elementBytes, unsigned count, unsigned widest) {
  std::vector<Piece> out;
  const unsigned perPiece = std::max(1u, widest / elementBytes);
  for (unsigned at = 0; at < count; at += perPiece)
    out.push_back({at, std::min(perPiece, count - at)});
  return out;
}

/// The offset operand of an address plus `extra` bytes.
IsaOperand offsetOperand(const Address& a, std::int64_t extra) {
  IsaOperand o = IsaOperand::immediate(static_cast<std::int32_t>(a.offset + extra));
  if (a.isFrame) {
    o.kind = IsaOperand::Kind::Frame;
    o.reg = a.frameObject;
  }
  return o;
}

bool isWeak(const Form& form) {
  return form.semantics() == Mod::None || form.semantics() == Mod::Weak;
}

/// The access with the cache operator from the options. It applies only to weak accesses of global and generic memory
/// without an eviction priority.
Form withCacheOperator(Form form, StateSpace space, const CacheOperators& operators) {
  if ((space != StateSpace::Global && space != StateSpace::None) || !isWeak(form)) return form;
  if (form.get(Slot::EvictL1) != Mod::None) return form;
  if (operators.forced != Mod::None)
    form.replace(operators.forced, Slot::Cache);
  else if (form.cache() == Mod::None && operators.usual != Mod::None)
    form.replace(operators.usual, Slot::Cache);
  return form;
}

/// The memory order and scope of the access.
MemOrder orderOf(const Form& form) {
  if (isWeak(form)) {
    // The cache operators determine the level that the access must reach.
    switch (form.cache()) {
    case Mod::Ca:
    case Mod::Wb: return MemOrder::StrongSm;
    case Mod::Cg: return MemOrder::StrongGpu;
    case Mod::Cv:
    case Mod::Wt: return MemOrder::StrongSys;
    default: return MemOrder::Weak;
    }
  }
  switch (form.scope()) {
  case Mod::Cta: return MemOrder::StrongSm;
  case Mod::Cluster:
  case Mod::Gpu:
  case Mod::Gl: return MemOrder::StrongGpu;
  default: return MemOrder::StrongSys;
  }
}

/// An access to shared memory may always be combined with its neighbors. PTX has no modifier for that.
void letShare(ori::Instr* access, const Form& form) {
  access->mayContract = form.semantics() == Mod::None || form.semantics() == Mod::Weak;
}

isa::Evict evictOf(const Form& form) {
  if (form.has(Mod::L1EvictFirst) || form.cache() == Mod::Cs) return isa::Evict::EF;
  if (form.has(Mod::L1EvictLast)) return isa::Evict::EL;
  if (form.has(Mod::L1EvictUnchanged)) return isa::Evict::EU;
  if (form.has(Mod::L1NoAllocate)) return isa::Evict::NA;
  if (form.cache() == Mod::Lu) return isa::Evict::LU;
  return isa::Evict::Normal;
}

/// Widens a loaded 8-, 16- or 32-bit value to the register, if that is wider.
void widen(FunctionLowering& f, IsaOperand d, Type type) {
  if (d.width < 2 || bitWidth(type) > 32) return;
  if (typeClass(type) == TypeClass::Signed)
    f.emit(IsaOp::SHF, {ori::component(d, 1), IsaOperand::rz(), f.imm(31), ori::component(d, 0)},
           {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::S32}, {IsaMod::Hi, 1}});
  else
    f.copy(ori::component(d, 1), Value::constant(0, 1));
}

/// The index and the offset of a load from a constant bank, `at` bytes after `index`. An offset is a signed 16-bit
/// number. The rest of a larger one is added to the index, as in ptxas' code.
std::pair<IsaOperand, IsaOperand> constantPlace(FunctionLowering& f, const IsaOperand& index, std::int64_t at) {
  const auto low = static_cast<std::int16_t>(at);
  if (low == at) return {index, IsaOperand::immediate(low)};
  const IsaOperand far = f.newR();
  f.emit(IsaOp::IADD3, {far, IsaOperand::pt(), IsaOperand::pt(), index, f.imm(at - low), IsaOperand::rz()});
  return {far, IsaOperand::immediate(low)};
}

/// ld.param of a kernel and ld.const: c[bank][base + offset].
void loadConstant(FunctionLowering& f, const Instruction& i, const Form& form, StateSpace space) {
  auto ops = f.operands(i);
  const Type type = form.type();
  const unsigned bytes = std::max(1u, bitWidth(type) / 8);
  const int bank = space == StateSpace::Param ? 0 : 3;
  const Address a = addressOf(f, ops[1], space);
  auto to = elements(f, ops[0]);
  IsaOperand index = a.base.isZeroReg() ? IsaOperand::rz() : ori::component(a.base, 0);
  if (!index.isZeroReg() && (to.size() > 1 || bytes > 8)) {
    // The first part must not overwrite the address of the second.
    const IsaOperand kept = f.newR();
    f.copy(kept, Value::of(index));
    index = kept;
  }
  for (unsigned e = 0; e < to.size(); ++e) {
    if (to[e]->is(OperandKind::Sink)) continue;
    const IsaOperand d = f.dest(*to[e]);
    const unsigned each = std::min(bytes, 8u);
    for (unsigned w = 0; w * 8 < bytes; ++w) {
      const auto [from, at] = constantPlace(f, index, a.offset + static_cast<std::int64_t>(e * bytes + 8 * w));
      f.emit(IsaOp::LDC, {ori::component(d, 2 * w, each == 8 ? 2 : 1), IsaOperand::immediate(bank), from, at},
             {{IsaMod::Size, memSize(type, each)}});
    }
    widen(f, d, type);
  }
}

/// The descriptor that an access to generic or global memory takes in addition to its address; nothing for other
/// spaces.
IsaOperand descriptorFor(FunctionLowering& f, const Instruction& i, const Form& form, StateSpace space) {
  return space == StateSpace::Global || space == StateSpace::None ? accessDescriptor(f, i, form) : IsaOperand();
}

constexpr int kMmioSys = 12;

ori::Instr* emitLoad(FunctionLowering& f, const Form& form, StateSpace space, IsaOperand d, IsaOperand descriptor,
                     const Address& a, std::int64_t extra, MemSize size) {
  const ModValue sizeMod{IsaMod::Size, size};
  const IsaOperand offset = offsetOperand(a, extra);
  switch (space) {
  case StateSpace::Shared: {
    ori::Instr* load = f.emit(IsaOp::LDS, {d, a.base, a.uniform, offset}, {sizeMod});
    letShare(load, form);
    return load;
  }
  case StateSpace::Local:
    return f.emit(IsaOp::LDL, {d, a.base, IsaOperand(), offset}, {sizeMod, {IsaMod::Evict, evictOf(form)}});
  case StateSpace::Global: {
    // Without a descriptor, as in ptxas' code.
    if (form.has(Mod::Mmio))
      return f.emit(IsaOp::LDG, {IsaOperand::pt(), d, IsaOperand(), a.base, IsaOperand(), offset},
                    {sizeMod, {IsaMod::Order, kMmioSys}});
    MemOrder order = orderOf(form);
    // .nc: the location is read-only while the kernel runs.
    if (form.has(Mod::Nc)) order = MemOrder::Constant;
    const unsigned prefetch = form.has(Mod::L2Prefetch64)    ? 1
                              : form.has(Mod::L2Prefetch128) ? 2
                              : form.has(Mod::L2Prefetch256) ? 3
                                                             : 0;
    return f.emit(IsaOp::LDG, {IsaOperand::pt(), d, descriptor, a.base, IsaOperand(), offset},
                  {sizeMod, {IsaMod::Order, order}, {IsaMod::Evict, evictOf(form)}, {IsaMod::Prefetch, prefetch}});
  }
  default:
    if (form.has(Mod::Mmio))
      return f.emit(IsaOp::LD, {d, IsaOperand(), a.base, IsaOperand(), offset}, {sizeMod, {IsaMod::Order, kMmioSys}});
    return f.emit(IsaOp::LD, {d, descriptor, a.base, IsaOperand(), offset},
                  {sizeMod, {IsaMod::Order, orderOf(form)}, {IsaMod::Evict, evictOf(form)}});
  }
}

void emitStore(FunctionLowering& f, const Form& form, StateSpace space, IsaOperand data, IsaOperand descriptor,
               const Address& a, std::int64_t extra, MemSize size) {
  const ModValue sizeMod{IsaMod::Size, size};
  const IsaOperand offset = offsetOperand(a, extra);
  if (form.has(Mod::Mmio)) {
    f.emit(IsaOp::ST, {IsaOperand(), a.base, IsaOperand(), offset, data}, {sizeMod, {IsaMod::Order, kMmioSys}});
    return;
  }
  switch (space) {
  case StateSpace::Shared: letShare(f.emit(IsaOp::STS, {a.base, a.uniform, offset, data}, {sizeMod}), form); break;
  case StateSpace::Local:
    f.emit(IsaOp::STL, {a.base, IsaOperand(), offset, data}, {sizeMod, {IsaMod::Evict, evictOf(form)}});
    break;
  case StateSpace::Global:
    f.emit(IsaOp::STG, {descriptor, a.base, IsaOperand(), offset, data},
           {sizeMod, {IsaMod::Order, orderOf(form)}, {IsaMod::Evict, evictOf(form)}});
    break;
  default:
    f.emit(IsaOp::ST, {descriptor, a.base, IsaOperand(), offset, data},
           {sizeMod, {IsaMod::Order, orderOf(form)}, {IsaMod::Evict, evictOf(form)}});
    break;
  }
}

/// Reports an access that is not supported yet; false if it is supported.
bool isUnsupported(FunctionLowering& f, const Form& form) {
  if (form.get(Slot::EvictL2) != Mod::None || form.has(Mod::Unified)) {
    f.unsupported(std::string(f.opcodeText()));
    return true;
  }
  return false;
}

/// The possible origins of the constant address in a register of the function being lowered.
ConstantAddresses::Origin constantAddress(FunctionLowering& f, RegisterId id) {
  const auto& known = f.layout().constantAddresses;
  return known ? known->of(f.body(), id) : ConstantAddresses::Variable;
}

/// Whether the operand refers to a parameter of a function or of a call by name.
bool namesCallParam(FunctionLowering& f, const Operand& address) {
  return address.addressBase() == OperandKind::Variable && f.variables().isCallParam(address.variableId());
}

/// The space whose instructions are used. Shared memory of other CTAs of the cluster is accessed by generic
/// instructions, parameters of a function by an address in its frame.
StateSpace accessedSpace(FunctionLowering& f, const Form& form, const Operand& address) {
  if (isClusterShared(form)) return StateSpace::None;
  if (form.space() == StateSpace::Const && address.addressBase() == OperandKind::Register &&
      constantAddress(f, address.registerId()) == ConstantAddresses::Pointer)
    return StateSpace::Global;
  const bool isInFrame =
      form.space() == StateSpace::Param && !f.body().isEntry && address.addressBase() == OperandKind::Register;
  return isInFrame ? StateSpace::Local : form.space();
}

enum class CopyWords : std::uint8_t { ToRun, FromRun };

/// Copies the elements of a vector, `words` each, to the run of registers of an access, or back. The copies are not
/// under the guard of the instruction.
void copyWords(FunctionLowering& f, std::span<const Operand* const> elements, IsaOperand run, unsigned words,
               CopyWords direction) {
  f.b().setGuard(IsaOperand::pt());
  for (unsigned e = 0; e < elements.size(); ++e) {
    if (elements[e]->is(OperandKind::Sink)) continue;
    const IsaOperand mine = ori::component(f.dest(*elements[e]), 0, words);
    const IsaOperand its = ori::component(run, e * words, words);
    f.copy(direction == CopyWords::ToRun ? its : mine, Value::of(direction == CopyWords::ToRun ? mine : its));
  }
  f.b().setGuard(f.guard());
}

void loadFrom(FunctionLowering& f, const Instruction& i, const Form& written) {
  if (const Operand& from = f.operands(i)[1];
      written.space() == StateSpace::Const && from.addressBase() == OperandKind::Register) {
    const ConstantAddresses::Origin origin = constantAddress(f, from.registerId());
    if (origin != ConstantAddresses::Variable && origin != ConstantAddresses::Pointer) {
      f.unsupported(
          "ld.const through a register that may hold the address of a constant variable or a .ptr .const parameter");
      return;
    }
  }
  const StateSpace space = accessedSpace(f, written, f.operands(i)[1]);
  const Form form = withCacheOperator(written, space, f.options().loads);
  if (const Operand& from = f.operands(i)[1]; space == StateSpace::Param && namesCallParam(f, from)) {
    auto to = elements(f, f.operands(i)[0]);
    const unsigned each = bitWidth(form.type()) / 8;
    for (unsigned e = 0; e < to.size(); ++e) {
      if (to[e]->is(OperandKind::Sink)) continue;
      const IsaOperand d = f.dest(*to[e]);
      f.params().load(d, from.variableId(), from.offset() + e * each, form.type());
      widen(f, d, form.type());
    }
    return;
  }
  if (space == StateSpace::Param || space == StateSpace::Const) {
    loadConstant(f, i, form, space);
    return;
  }
  auto ops = f.operands(i);
  const Type type = form.type();
  const unsigned bytes = bitWidth(type) / 8;
  const IsaOperand descriptor = descriptorFor(f, i, form, space);
  Address a = isClusterShared(form) ? clusterAddress(f, ops[1]) : addressOf(f, ops[1], space);
  auto to = elements(f, ops[0]);
  if (to.size() == 1) {
    const IsaOperand d = f.dest(*to[0]);
    const unsigned words = std::max(1u, bytes / 4);
    // A temporary register would have two values, that of the guarded load and the old one. The destination has one.
    const bool keepsOld = i.guard != RegisterId::None && d.width == words && !to[0]->is(OperandKind::Sink);
    const IsaOperand loaded = keepsOld ? f.newR(words) : ori::component(d, 0, words);
    if (keepsOld) copyWords(f, std::span(to).first(1), loaded, words, CopyWords::ToRun);
    emitLoad(f, form, space, loaded, descriptor, a, 0, memSize(type, bytes));
    if (keepsOld) copyWords(f, std::span(to).first(1), loaded, words, CopyWords::FromRun);
    widen(f, d, type);
    return;
  }
  // A vector: one access to a run of registers, from which the elements are copied.
  for (const Piece& piece : pieces(bytes, static_cast<unsigned>(to.size()), 16)) {
    const unsigned pieceBytes = piece.count * bytes;
    const unsigned words = std::max(1u, pieceBytes / 4);
    IsaOperand run = f.newR(words);
    const auto elementsHere = std::span(to).subspan(piece.first, piece.count);
    // The temporaries are initialized with the old values, which they keep where the guard is false. So the copies need
    // no guard.
    const bool keepsOld = bytes >= 4 && i.guard != RegisterId::None;
    if (keepsOld) copyWords(f, elementsHere, run, bytes / 4, CopyWords::ToRun);
    emitLoad(f, form, space, run, descriptor, a, piece.first * bytes, memSize(Type::B8, pieceBytes));
    if (bytes >= 4) copyWords(f, elementsHere, run, bytes / 4, CopyWords::FromRun);
    for (unsigned e = 0; e < piece.count; ++e) {
      const Operand& element = *to[piece.first + e];
      if (element.is(OperandKind::Sink)) continue;
      IsaOperand d = f.dest(element);
      const unsigned bit = e * bytes * 8;
      if (bytes < 4) {
        // Extracts and extends the bytes of the element.
        const bool isSigned = typeClass(type) == TypeClass::Signed;
        const unsigned byte = bit / 8 % 4;
        const unsigned fill = isSigned ? 8 + byte + bytes - 1 : 4;
        unsigned selector = bytes == 1 ? byte | fill << 4 | fill << 8 | fill << 12
                                       : byte | (byte + 1) << 4 | fill << 8 | (isSigned ? fill : 5) << 12;
        f.emit(IsaOp::PRMT, {ori::component(d, 0), ori::component(run, bit / 32), f.imm(selector), IsaOperand::rz()});
      }
      widen(f, d, type);
    }
  }
}

void storeTo(FunctionLowering& f, const Instruction& i, const Form& written) {
  const StateSpace space = accessedSpace(f, written, f.operands(i)[0]);
  const Form form = withCacheOperator(written, space, f.options().stores);
  if (space == StateSpace::Param) {
    const Operand& to = f.operands(i)[0];
    if (!namesCallParam(f, to)) {
      f.unsupported(std::string(f.opcodeText()));
      return;
    }
    auto from = elements(f, f.operands(i)[1]);
    for (unsigned e = 0; e < from.size(); ++e)
      f.params().store(to.variableId(), to.offset() + e * (bitWidth(form.type()) / 8), form.type(),
                       f.source(*from[e], form.type()));
    return;
  }
  auto ops = f.operands(i);
  const Type type = form.type();
  const unsigned bytes = bitWidth(type) / 8;
  const IsaOperand descriptor = descriptorFor(f, i, form, space);
  Address a = isClusterShared(form) ? clusterAddress(f, ops[0]) : addressOf(f, ops[0], space);
  auto from = elements(f, ops[1]);
  if (from.size() == 1) {
    Value v = f.source(*from[0], type);
    IsaOperand data = bytes <= 4 ? f.inReg(v.word(0)) : f.inReg(v);
    emitStore(f, form, space, data, descriptor, a, 0, memSize(Type::B8, bytes));
    return;
  }
  for (const Piece& piece : pieces(bytes, static_cast<unsigned>(from.size()), 16)) {
    const unsigned pieceBytes = piece.count * bytes;
    IsaOperand run = f.newR(std::max(1u, pieceBytes / 4));
    if (bytes >= 4) {
      for (unsigned e = 0; e < piece.count; ++e) {
        Value v = f.source(*from[piece.first + e], type);
        f.copy(ori::component(run, e * bytes / 4, bytes / 4),
               v.isConstant() ? v : Value::of(ori::component(v.reg(), 0, bytes / 4)));
      }
    } else {
      // Packs the elements of each word, two at a time.
      const unsigned perWord = 4 / bytes;
      for (unsigned w = 0; w < run.width; ++w) {
        IsaOperand word = ori::component(run, w);
        const unsigned here = std::min(perWord, piece.count - w * perWord);
        auto element = [&](unsigned e) { return f.source(*from[piece.first + w * perWord + e], type).word(0); };
        if (bytes == 2) {
          f.emit(IsaOp::PRMT, {word, f.inReg(element(0)), f.imm(0x5410), element(1)});
        } else if (here == 2) {
          f.emit(IsaOp::PRMT, {word, f.inReg(element(0)), f.imm(0x0040), element(1)});
        } else {
          IsaOperand low = f.newR(), high = f.newR();
          f.emit(IsaOp::PRMT, {low, f.inReg(element(0)), f.imm(0x0040), element(1)});
          f.emit(IsaOp::PRMT, {high, f.inReg(element(2)), f.imm(0x0040), element(3)});
          f.emit(IsaOp::PRMT, {word, low, f.imm(0x5410), high});
        }
      }
    }
    emitStore(f, form, space, run, descriptor, a, piece.first * bytes, memSize(Type::B8, pieceBytes));
  }
}

} // namespace

void lowerLoad(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (isUnsupported(f, form)) return;
  loadFrom(f, i, form);
  if (form.semantics() == Mod::Acquire) emitAcquireFence(f, form.scope());
}

void lowerStore(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (isUnsupported(f, form)) return;
  if (form.semantics() == Mod::Release) emitReleaseFence(f, form.scope());
  storeTo(f, i, form);
}

namespace {

/// CCTL of one line.
void controlCache(FunctionLowering& f, const Operand& at, StateSpace space, int function) {
  const Address a = addressOf(f, at, space);
  f.emit(IsaOp::CCTL, {a.base, offsetOperand(a, 0)}, {{IsaMod::Func, function}});
}

enum CacheFunction { kToL1 = 0, kToL2 = 1, kToL2EvictLast = 9, kDemote = 10, kDiscard = 11 };

} // namespace

/// Prefetches of memory and of tensor maps.
void lowerPrefetch(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (form.has(Mod::Tensormap) && form.space() == StateSpace::None) {
    controlTensorMap(f, wholeAddress(f, addressOf(f, f.operands(i)[0], StateSpace::None)), TensorMapControl::Prefetch);
    return;
  }
  if (form.has(Mod::Tensormap)) {
    const IsaOperand at = wholeAddress(f, addressOf(f, f.operands(i)[0], form.space()));
    controlTensorMap(f, genericAddress(f, form.space(), at), TensorMapControl::Prefetch);
    return;
  }
  const bool evicts = form.get(Slot::EvictL2) != Mod::None;
  const Mod level = form.get(Slot::Level);
  if (!evicts && level != Mod::L1 && level != Mod::L2) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  if (form.space() == StateSpace::Local) {
    if (!f.target().has(isa::Capability::LocalCacheControl)) return; // as ptxas does
    const Address a = addressOf(f, f.operands(i)[0], StateSpace::Local);
    f.emit(IsaOp::CCTLL, {a.base, a.uniform, offsetOperand(a, 0)}, {{IsaMod::Func, level == Mod::L2 ? kToL2 : kToL1}});
    return;
  }
  controlCache(f, f.operands(i)[0], form.space(),
               form.has(Mod::L2EvictLast)   ? kToL2EvictLast
               : evicts || level == Mod::L2 ? kToL2
                                            : kToL1);
}

/// applypriority.L2::evict_normal and discard, of a line of 128 bytes.
void lowerLineControl(FunctionLowering& f, const Instruction& i, const Form& form) {
  controlCache(f, f.operands(i)[0], form.space(), form.op == Op::Discard ? kDiscard : kDemote);
}

} // namespace orias::ptx
