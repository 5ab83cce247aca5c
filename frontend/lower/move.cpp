// mov, cvta, isspacep.

#include "encoder/isa/texture_table.h"
#include "frontend/lower/families.h"
#include "frontend/lower/integer_helpers.h"
#include "frontend/lower/special.h"
#include "frontend/lower/windows.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

/// mov.b64 {a, b}, d and similar: converts between the parts of a vector, low first, and the bits of one register.
void lowerPackedMov(FunctionLowering& f, const Operand& to, const Operand& from, Type type) {
  if (to.is(OperandKind::Vector)) {
    auto parts = f.parts(to);
    const unsigned bits = bitWidth(type) / static_cast<unsigned>(parts.size());
    Value whole = f.source(from, type);
    for (unsigned i = 0; i < parts.size(); ++i) {
      if (parts[i].is(OperandKind::Sink)) continue;
      IsaOperand d = f.dest(parts[i]);
      if (bits >= 32) {
        f.copy(d, whole.isConstant() ? Value::constant(whole.bits() >> (bits * i), d.width)
                                     : Value::of(ori::component(whole.reg(), i * bits / 32, bits / 32)));
      } else {
        const unsigned shift = bits * i;
        IsaOperand word = whole.word(shift / 32);
        if (shift % 32 == 0)
          f.emit(IsaOp::MOV, {d, word});
        else
          f.emit(IsaOp::SHF, {d, IsaOperand::rz(), f.imm(shift % 32), f.inReg(word)},
                 {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
      }
    }
    return;
  }
  auto parts = f.parts(from);
  const unsigned bits = bitWidth(type) / static_cast<unsigned>(parts.size());
  const Type partType = bits == 64 ? Type::B64 : bits == 32 ? Type::B32 : bits == 16 ? Type::B16 : Type::B8;
  IsaOperand d = f.dest(to);
  // The parts are read before the destination is written, because one of them may be the destination.
  std::vector<Value> values;
  for (const Operand& part : parts)
    values.push_back(f.source(part, partType));
  IsaOperand whole = f.newR(d.width);
  if (bits >= 32) {
    for (unsigned i = 0; i < parts.size(); ++i)
      f.copy(ori::component(whole, i * bits / 32, bits / 32), values[i]);
  } else {
    // Bytes and halves: each PRMT combines two parts.
    for (unsigned w = 0; w < d.width; ++w) {
      const unsigned perWord = 32 / bits;
      IsaOperand word = ori::component(whole, w);
      if (perWord == 2 || parts.size() < 4) {
        IsaOperand high = parts.size() > 1 ? values[w * 2 + 1].word(0) : IsaOperand::rz();
        const int selector = bits == 16 ? 0x5410 : 0x7640;
        f.emit(IsaOp::PRMT,
               {word, f.inReg(values[w * 2].word(0)), f.imm(selector == 0x7640 ? 0x0040 : selector), high});
      } else {
        IsaOperand low = f.newR(), high = f.newR();
        f.emit(IsaOp::PRMT, {low, f.inReg(values[w * 4].word(0)), f.imm(0x0040), values[w * 4 + 1].word(0)});
        f.emit(IsaOp::PRMT, {high, f.inReg(values[w * 4 + 2].word(0)), f.imm(0x0040), values[w * 4 + 3].word(0)});
        f.emit(IsaOp::PRMT, {word, low, f.imm(0x5410), high});
      }
    }
  }
  f.copy(d, Value::of(whole));
}

} // namespace

void lowerMov(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  if (type == Type::Pred) {
    IsaOperand d = f.destPredicate(ops[0]);
    f.emit(IsaOp::COPY, {d, f.predicate(ops[1])});
    return;
  }
  if (form.vectorSize() > 1 && ops[0].is(OperandKind::Vector) && ops[1].is(OperandKind::Vector)) {
    // All sources are read before any destination is written, because the same registers may be on both sides.
    std::vector<Value> values;
    for (const Operand& part : f.parts(ops[1])) {
      values.push_back(f.source(part, type));
      if (values.back().isConstant()) continue;
      const IsaOperand read = f.newR(values.back().words());
      f.copy(read, values.back());
      values.back() = Value::of(read);
    }
    auto to = f.parts(ops[0]);
    for (unsigned k = 0; k < to.size(); ++k)
      if (!to[k].is(OperandKind::Sink)) f.copy(f.dest(to[k]), values[k]);
    return;
  }
  if (ops[0].is(OperandKind::Vector) || ops[1].is(OperandKind::Vector)) {
    lowerPackedMov(f, ops[0], ops[1], type);
    return;
  }
  Value value = f.source(ops[1], type);
  IsaOperand d = f.dest(ops[0]);
  if (d.isZeroReg()) return;
  // A special register or a shared address is 32 bits wide; the upper half of a wider destination is zero.
  for (unsigned w = value.words(); w < d.width; ++w)
    f.copy(ori::component(d, w), Value::constant(0, 1));
  f.copy(ori::component(d, 0, std::min<unsigned>(value.words(), d.width)), value);
}

namespace {

IsaOperand windowBase(FunctionLowering& f, std::uint32_t offset) {
  const IsaOperand base = f.newR(2);
  f.emit(IsaOp::LDC, {base, IsaOperand::immediate(0), IsaOperand::rz(), f.imm(offset)},
         {{IsaMod::Size, isa::MemSize::B64}});
  return base;
}

/// The offset that makes an address of a parameter generic. Addresses of parameters are relative to the start of their
/// bank. On some chips the window begins there, too; on others it begins at the first parameter.
IsaOperand paramWindow(FunctionLowering& f) {
  const std::uint32_t at = f.target().bank0().paramWindow;
  if (!f.target().has(isa::Capability::ParamWindowStart)) return windowBase(f, at);
  const IsaOperand sum = f.newR(2);
  const auto skipped = -static_cast<std::int64_t>(f.target().paramBase());
  f.emit(IsaOp::IADD64, {sum, windowBase(f, at), f.inReg(Value::constant(static_cast<std::uint64_t>(skipped), 2))});
  return sum;
}

/// The offset that makes an address in the space generic.
IsaOperand window(FunctionLowering& f, StateSpace space) {
  switch (space) {
  case StateSpace::Shared: return windowBase(f, f.target().sharedWindowOffset());
  case StateSpace::Local: return windowBase(f, f.target().localWindowOffset());
  case StateSpace::Const: return windowBase(f, f.target().constWindowOffset());
  default: return paramWindow(f);
  }
}

} // namespace

IsaOperand genericAddress(FunctionLowering& f, StateSpace space, IsaOperand address) {
  const IsaOperand sum = f.newR(2);
  if (space == StateSpace::Shared && f.target().has(isa::Capability::AlignedWindows)) {
    // The window is aligned to 4 GB, so the low word is the address.
    const IsaOperand high = f.newR();
    f.emit(IsaOp::S2R, {high, f.imm(kSrSWinHi)});
    f.copy(ori::component(sum, 0), Value::of(ori::component(address, 0)));
    f.copy(ori::component(sum, 1), Value::of(high));
    return sum;
  }
  IsaOperand wide = address;
  if (address.width == 1) {
    wide = f.newR(2);
    f.copy(ori::component(wide, 0), Value::of(address));
    f.copy(ori::component(wide, 1), Value::constant(0, 1));
  }
  f.emit(IsaOp::IADD64, {sum, wide, window(f, space)});
  return sum;
}

void lowerCvta(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  const bool toSpace = form.has(Mod::To);
  // The parameters of a function are in its frame.
  const StateSpace space = form.space() == StateSpace::Param && !f.body().isEntry ? StateSpace::Local : form.space();
  IsaOperand d = f.dest(ops[0]);
  if (d.isZeroReg()) return;
  if (FunctionLowering::wordsOf(type) != 2) {
    f.unsupported("32-bit generic addresses");
    return;
  }
  Value value = f.source(ops[1], type);
  if (space == StateSpace::Global) {
    f.copy(d, value);
  } else if (!toSpace) {
    f.copy(d, Value::of(genericAddress(f, space, f.inReg(value))));
  } else if (space == StateSpace::Shared && f.target().has(isa::Capability::AlignedWindows)) {
    const IsaOperand low = f.inReg(value.word(0));
    f.copy(ori::component(d, 1), Value::constant(0, 1));
    f.copy(ori::component(d, 0), Value::of(low));
  } else {
    f.emit(IsaOp::IADD64, {d, f.inReg(value), window(f, space).negated()});
  }
}

/// istypep: bits in the high word of a handle tell its type (observed).
void lowerIstypep(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const IsaOperand bit = f.newR(), handle = f.sourceReg(ops[1], Type::B64);
  const std::int64_t mask = form.has(Mod::Texref)       ? isa::kTextureHandle
                            : form.has(Mod::Samplerref) ? isa::kSamplerHandle
                                                        : isa::kSurfaceHandle;
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), bit, ori::component(handle, 1), f.imm(mask), IsaOperand::rz(), f.imm(0xc0),
                       IsaOperand::pt().notted()});
  f.emit(IsaOp::ISETP, {f.destPredicate(ops[0]), IsaOperand::pt(), bit, IsaOperand::rz(), IsaOperand::pt()},
         {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
}

namespace {

/// Returns whether the address, a register pair, lies within `bytes` from the base that constant bank 0 holds at
/// `offset`.
IsaOperand isInWindow(FunctionLowering& f, IsaOperand address, std::uint32_t offset, std::uint64_t bytes) {
  const IsaOperand distance = f.newR(2), isInside = f.newP();
  f.emit(IsaOp::IADD64, {distance, address, windowBase(f, offset).negated()});
  compare64(f, isInside, distance, f.inReg(Value::constant(bytes, 2)), isa::ICmp::LT, isa::IntType::U32);
  return isInside;
}

/// The size in bytes of the module's own constants, which the window covers.
std::uint64_t constantBytes(FunctionLowering& f) {
  if (f.namesData()) return f.target().maxConstantBank();
  std::uint64_t end = 0;
  for (const ori::Variable& s : f.out().module().variables)
    if (s.constOffset >= 0) end = std::max(end, static_cast<std::uint64_t>(s.constOffset) + s.size);
  return end;
}

} // namespace

void lowerIsspacep(FunctionLowering& f, const Instruction& i, const Form& form) {
  enum { InGlobal, InLocal, InShared, InCluster };
  const Mod space = form.get(Slot::Space);
  auto ops = f.operands(i);
  const bool isNarrow = ops[1].is(OperandKind::Register) && bitWidth(f.typeOf(ops[1])) == 32;
  IsaOperand address = isNarrow ? f.newR(2) : f.sourceReg(ops[1], Type::U64);
  if (isNarrow) {
    f.copy(ori::component(address, 0), f.source(ops[1], Type::U32));
    f.copy(ori::component(address, 1), Value::constant(0, 1));
  }
  const IsaOperand d = f.destPredicate(ops[0]);
  const auto ask = [&](IsaOperand result, int which) {
    f.emit(IsaOp::QSPC, {result, IsaOperand::rz(), address, IsaOperand(), IsaOperand::immediate(0)},
           {{IsaMod::Sub, which}});
  };
  const auto combine = [&](IsaOperand a, IsaOperand b, int lut) {
    f.emit(IsaOp::PLOP3, {d, IsaOperand::pt(), a, b, IsaOperand::pt(), f.imm(lut), f.imm(0)});
  };
  constexpr int kFirst = 0xf0, kFirstNotSecond = 0x30, kBoth = 0xc0; // tables over three predicates
  switch (space) {
  case Mod::Local: ask(d, InLocal); return;
  case Mod::Shared:
  case Mod::SharedCta: ask(d, InShared); return;
  case Mod::SharedCluster: ask(d, InCluster); return;
  case Mod::Const:
  case Mod::Global: {
    const IsaOperand isConstant = isInWindow(f, address, f.target().constWindowOffset(), constantBytes(f));
    if (space == Mod::Const) {
      combine(isConstant, IsaOperand::pt(), kFirst);
      return;
    }
    const IsaOperand isOutside = f.newP();
    ask(isOutside, InGlobal);
    combine(isOutside, isConstant, kFirstNotSecond);
    return;
  }
  case Mod::Param:
  case Mod::ParamEntry: {
    const IsaOperand fromFirst = f.newP(), toLast = f.newP();
    IsaOperand first, last;
    const isa::ConstantBank& bank = f.target().bank0();
    if (f.target().has(isa::Capability::ParamWindowStart)) {
      first = windowBase(f, bank.paramWindow);
      last = windowBase(f, bank.paramEnd);
    } else {
      first = f.newR(2);
      last = f.newR(2);
      const IsaOperand base = windowBase(f, bank.paramWindow), bytes = f.newR(2);
      f.emit(IsaOp::LDC, {ori::component(bytes, 0), IsaOperand::immediate(0), IsaOperand::rz(), f.imm(bank.paramEnd)});
      f.copy(ori::component(bytes, 1), Value::constant(0, 1));
      f.emit(IsaOp::IADD64, {first, base, f.inReg(Value::constant(f.target().paramBase(), 2))});
      f.emit(IsaOp::IADD64, {last, base, bytes});
    }
    compare64(f, fromFirst, address, first, isa::ICmp::GE, isa::IntType::U32);
    compare64(f, toLast, address, last, isa::ICmp::LE, isa::IntType::U32);
    combine(fromFirst, toLast, kBoth);
    return;
  }
  default: break;
  }
  f.unsupported(std::string(f.opcodeText()));
}

} // namespace orias::ptx
