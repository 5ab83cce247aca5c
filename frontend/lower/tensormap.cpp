// tensormap.replace and tensormap.cp_fenceproxy: writes single fields of a tensor map, 128 bytes in memory. The
// positions of the fields were observed in ptxas' code for sm_90a.

#include "frontend/lower/addresses.h"
#include "frontend/lower/families.h"
#include "frontend/lower/special.h"
#include "frontend/lower/sync.h"

namespace orias::ptx {

using isa::MemSize;
using IsaOperand = isa::Operand;

namespace {

const IsaOperand kNone = IsaOperand::pt();
const IsaOperand kFalse = IsaOperand::pt().notted();

/// A map in memory, accessed by words.
class Map {
 public:
  Map(FunctionLowering& f, const Operand& operand, StateSpace space)
      : f_(f), space_(space), address_(addressOf(f, operand, space)) {
    if (space != StateSpace::Shared) descriptor_ = f.globalDescriptor();
  }

  IsaOperand load(unsigned at) {
    const IsaOperand r = f_.newR();
    switch (space_) {
    case StateSpace::Shared: f_.emit(IsaOp::LDS, {r, address_.base, address_.uniform, offset(at)}); break;
    case StateSpace::Global:
      f_.emit(IsaOp::LDG, {kNone, r, descriptor_, address_.base, IsaOperand(), offset(at)});
      break;
    default: f_.emit(IsaOp::LD, {r, descriptor_, address_.base, IsaOperand(), offset(at)}); break;
    }
    return r;
  }
  void store(unsigned at, IsaOperand data) {
    const ModValue size{IsaMod::Size, data.width == 2 ? MemSize::B64 : MemSize::B32};
    switch (space_) {
    case StateSpace::Shared: f_.emit(IsaOp::STS, {address_.base, address_.uniform, offset(at), data}, {size}); break;
    case StateSpace::Global:
      f_.emit(IsaOp::STG, {descriptor_, address_.base, IsaOperand(), offset(at), data}, {size});
      break;
    default: f_.emit(IsaOp::ST, {descriptor_, address_.base, IsaOperand(), offset(at), data}, {size}); break;
    }
  }
  /// The word with the bits `mask` taken from `value`, which is already in position.
  IsaOperand merged(IsaOperand word, std::uint32_t mask, IsaOperand value) {
    const IsaOperand r = f_.newR();
    constexpr int kChosenByMask = 0xb8; // mask ? value : word
    f_.emit(IsaOp::LOP3, {kNone, r, word, f_.imm(mask), value, f_.imm(kChosenByMask), kFalse});
    return r;
  }

 private:
  IsaOperand offset(unsigned at) const {
    return IsaOperand::immediate(static_cast<std::int32_t>(address_.offset + at));
  }

  FunctionLowering& f_;
  StateSpace space_;
  Address address_;
  IsaOperand descriptor_;
};

/// word << by.
IsaOperand shifted(FunctionLowering& f, IsaOperand word, unsigned by) {
  if (by == 0) return f.inReg(word);
  const IsaOperand r = f.newR();
  f.emit(IsaOp::SHF, {r, f.inReg(word), f.imm(by), IsaOperand::rz()},
         {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
  return r;
}

constexpr unsigned kKind = 0x8; ///< the word with rank, element type, interleaving, swizzle and fill mode

struct Field {
  std::uint32_t mask;
  unsigned by;
  std::uint64_t most;
};

void replaceNumber(FunctionLowering& f, Map& map, Mod name, std::uint64_t number) {
  constexpr std::uint64_t kTf32 = 11, kAboveTf32 = 4;
  constexpr std::uint32_t kIsTf32 = 0x10000, kOtherSwizzle = 0x400000;
  const Field field = name == Mod::Elemtype           ? Field{0x780, 7, 12}
                      : name == Mod::InterleaveLayout ? Field{0x1800, 11, 2}
                      : name == Mod::SwizzleMode      ? Field{0x6000, 13, 3}
                      : name == Mod::SwizzleAtomicity ? Field{0x380000, 19, 3}
                                                      : Field{0x8000, 15, 1};
  if (number > field.most) {
    f.unsupported(std::string(f.opcodeText()) + " with " + std::to_string(number));
    return;
  }
  IsaOperand word = map.load(kKind);
  if (name == Mod::Elemtype && number >= kTf32) {
    word = map.merged(word, kIsTf32, f.inReg(f.imm(kIsTf32)));
    number -= kAboveTf32;
  }
  word = map.merged(word, field.mask, f.inReg(f.imm(static_cast<std::int64_t>(number << field.by))));
  if (name == Mod::SwizzleMode) word = map.merged(word, kOtherSwizzle, IsaOperand::rz());
  map.store(kKind, word);
}

/// A stride in bytes, stored in units of 16: its low 32 bits in a word of its own, four more bits in a word shared by
/// all strides.
void replaceStride(FunctionLowering& f, Map& map, unsigned ordinal, IsaOperand value) {
  constexpr unsigned kLow = 0xc, kHigh = 0x1c;
  const IsaOperand low = f.newR(), high = f.newR();
  f.emit(IsaOp::SHF, {low, ori::component(value, 0), f.imm(4), ori::component(value, 1)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U64}});
  f.emit(IsaOp::SHF, {high, IsaOperand::rz(), f.imm(4), ori::component(value, 1)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
  const IsaOperand old = map.load(kHigh);
  map.store(kLow + 4 * ordinal, low);
  map.store(kHigh, map.merged(old, 0xfu << (4 * ordinal), shifted(f, high, 4 * ordinal)));
}

} // namespace

void lowerTensormapReplace(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  Map map(f, ops[0], form.space());
  const Mod field = form.get(Slot::Field);
  const auto ordinal = [&] { return static_cast<unsigned>(ops[1].bits()); };
  const auto lessOne = [&](const Operand& operand) {
    const IsaOperand r = f.newR();
    f.emit(IsaOp::IADD3, {r, kNone, kNone, f.sourceReg(operand, Type::U32), f.imm(-1), IsaOperand::rz()});
    return r;
  };
  switch (field) {
  case Mod::GlobalAddress: map.store(0, f.sourceReg(ops[1], Type::B64)); return;
  case Mod::Rank:
    map.store(kKind, map.merged(map.load(kKind), 0x70, shifted(f, f.sourceReg(ops[1], Type::U32), 4)));
    return;
  case Mod::GlobalDim: map.store(0x20 + 4 * ordinal(), lessOne(ops[2])); return;
  case Mod::GlobalStride: replaceStride(f, map, ordinal(), f.sourceReg(ops[2], Type::B64)); return;
  case Mod::ElementStride: {
    constexpr unsigned kStrides = 0x34;
    const unsigned by = 3 * ordinal();
    map.store(kStrides, map.merged(map.load(kStrides), 7u << by, shifted(f, lessOne(ops[2]), by)));
    return;
  }
  case Mod::BoxDim: {
    // The fields are consecutive bytes that begin with the last byte of a word.
    const unsigned byte = 0x37 + ordinal(), at = byte & ~3u, by = 8 * (byte & 3);
    map.store(at, map.merged(map.load(at), 0xffu << by, shifted(f, lessOne(ops[2]), by)));
    return;
  }
  case Mod::Elemtype:
  case Mod::InterleaveLayout:
  case Mod::SwizzleMode:
  case Mod::SwizzleAtomicity:
  case Mod::FillMode: replaceNumber(f, map, field, ops[1].bits()); return;
  default: f.unsupported(std::string(f.opcodeText()));
  }
}

/// Each lane copies a word of the map to global memory, bypassing L1. Earlier stores are not ordered (observed: ptxas
/// has a fence for fence.proxy.tensormap::generic.release only).
void lowerTensormapCopy(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  synchronizeWarp(f, Value::constant(0xffffffffu, 1), false);
  const Address to = addressOf(f, ops[0], StateSpace::Global), from = addressOf(f, ops[1], StateSpace::Shared);
  const IsaOperand lane = f.newR(), offset = f.newR(2), place = f.newR(2), source = f.newR(), word = f.newR();
  f.emit(IsaOp::S2R, {lane, IsaOperand::immediate(kSrLaneId)});
  f.copy(ori::component(offset, 0), Value::of(shifted(f, lane, 2)));
  f.copy(ori::component(offset, 1), Value::constant(0, 1));
  f.emit(IsaOp::IADD64, {place, wholeAddress(f, to), offset});
  f.emit(IsaOp::IADD3, {source, kNone, kNone, from.base, ori::component(offset, 0), IsaOperand::rz()});
  f.emit(IsaOp::LDS, {word, source, from.uniform, IsaOperand::immediate(static_cast<std::int32_t>(from.offset))});
  const Mod scope = form.scope() == Mod::Sys ? Mod::Sys : Mod::Gpu;
  f.emit(IsaOp::ATOMG, {kNone, IsaOperand::rz(), f.globalDescriptor(), place, IsaOperand(), f.imm(0), word},
         {{IsaMod::AtomOp, isa::AtomOp::EXCH},
          {IsaMod::Order, scope == Mod::Sys ? isa::MemOrder::StrongSys : isa::MemOrder::StrongGpu}});
  f.endUnguarded(join);
}

} // namespace orias::ptx
