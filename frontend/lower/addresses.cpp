// Addresses of variables, parameters and windows; the operands of memory instructions.

#include "encoder/isa/texture_table.h"
#include "frontend/lower/function_lowering.h"
#include "frontend/lower/special.h"
#include "frontend/lower/windows.h"
#include "ori/call_abi.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

/// Offsets of loads and stores are signed 24-bit numbers.
constexpr std::int64_t kLowestOffset = -(1 << 23), kHighestOffset = (1 << 23) - 1;

bool fitsOffset(std::int64_t offset) {
  return offset >= kLowestOffset && offset <= kHighestOffset;
}

} // namespace

ori::Builder FunctionLowering::entryBuilder() {
  ori::Builder builder(out_, entry_);
  if (entry_->first) builder = ori::Builder::before(out_, entry_->first);
  builder.setSource({});
  return builder;
}

isa::Operand FunctionLowering::globalDescriptor() {
  auto offset = target().globalDescriptorOffset();
  if (!offset) return {};
  if (descriptor_.isNone()) {
    ori::Builder b = entryBuilder();
    descriptor_ = b.newUR(2);
    b.emit(IsaOp::ULDC, {descriptor_, IsaOperand::constant(0, static_cast<std::int32_t>(*offset), 2)},
           {{IsaMod::Size, isa::MemSize::B64}});
  }
  return descriptor_;
}

isa::Operand FunctionLowering::sharedBase() {
  if (target().sharedBase() == 0) return IsaOperand::zero(File::UR);
  if (sharedBase_.isNone()) {
    // Each CTA of a cluster has its window of 16 MB: (CgaCtaId << 24) + base. Observed in ptxas' code.
    ori::Builder b = entryBuilder();
    IsaOperand rank = b.newUR(), base = b.newUR();
    sharedBase_ = b.newUR();
    b.emit(IsaOp::S2UR, {rank, IsaOperand::immediate(kSrCgaCtaId)});
    b.emit(IsaOp::UMOV, {base, IsaOperand::immediate(static_cast<std::int32_t>(target().sharedBase()))});
    b.emit(IsaOp::ULEA, {sharedBase_, IsaOperand::zero(File::UP), rank, base, IsaOperand::immediate(24)});
  }
  return sharedBase_;
}

isa::Operand FunctionLowering::symbolAddress(std::uint32_t symbol, std::int64_t offset, unsigned words) {
  IsaOperand where;
  where.kind = IsaOperand::Kind::Symbol;
  where.reg = symbol;
  where.imm = static_cast<std::int32_t>(offset);
  if (where.imm != offset) unsupported("an address more than 2 GiB from its symbol");
  const IsaOperand r = newR(words);
  builder_.emit(IsaOp::ADDRESS, {r, where});
  return r;
}

isa::Operand FunctionLowering::addressFromTable(std::uint32_t symbol) {
  const IsaOperand r = newR(2);
  const std::uint32_t slot = out_.module().addressSlot(symbol);
  emit(IsaOp::LDC, {r, imm(4), IsaOperand::rz(), imm(slot)}, {{IsaMod::Size, isa::MemSize::B64}});
  return r;
}

std::uint32_t FunctionLowering::symbolNamed(ori::Symbol::Kind kind, std::string_view name) {
  std::vector<ori::Symbol>& symbols = out_.module().symbols;
  const auto known = std::find_if(symbols.begin(), symbols.end(),
                                  [&](const ori::Symbol& s) { return s.kind == kind && s.name == name; });
  const auto id = static_cast<std::uint32_t>(known - symbols.begin());
  if (known == symbols.end()) symbols.push_back({kind, std::string(name), 0});
  return id;
}

isa::Operand FunctionLowering::driverWord(std::string_view symbol) {
  return symbolAddress(symbolNamed(ori::Symbol::Kind::DriverWord, symbol), 0, 1);
}

std::uint32_t FunctionLowering::handleSymbol(VariableId id) {
  const Variable& v = module().variable(id);
  if (v.space == StateSpace::Global) return layout_.symbolOf[index(id)];
  using Kind = ori::Symbol::Kind;
  return symbolNamed(v.type == Type::TexRef       ? Kind::Texture
                     : v.type == Type::SamplerRef ? Kind::Sampler
                                                  : Kind::Surface,
                     ori::parameterSymbol(out_.name(), module().text(v.name)));
}

std::optional<isa::Operand> FunctionLowering::handleWord(std::span<const VariableId> ids) {
  std::vector<std::uint32_t> symbols;
  for (const VariableId id : ids) {
    const Variable& v = module().variable(id);
    if (!v.dims.empty()) {
      unsupported(fmt::format("'{}', which is no single texture, sampler or surface", module().text(v.name)));
      return std::nullopt;
    }
    symbols.push_back(handleSymbol(id));
  }
  if (isLinked()) { // the linker assigns the offset
    ORIAS_CHECK(symbols.size() == 1);
    IsaOperand place;
    place.kind = IsaOperand::Kind::Symbol;
    place.reg = symbols[0];
    const IsaOperand word = newR();
    emit(IsaOp::LDC, {word, imm(0), IsaOperand::rz(), place}, {{IsaMod::Size, isa::MemSize::B32}});
    return word;
  }
  constexpr std::uint32_t kWord = 4;
  const auto holds = [&](std::uint32_t symbol, std::uint32_t offset) {
    return std::any_of(out_.handles.begin(), out_.handles.end(),
                       [&](const ori::TextureHandleSlot& h) { return h.symbol == symbol && h.offset == offset; });
  };
  std::uint32_t next = (out_.paramBytes + kWord - 1) / kWord * kWord;
  std::optional<std::uint32_t> offset;
  for (const ori::TextureHandleSlot& h : out_.handles) {
    next = std::max(next, h.offset + kWord);
    const bool hasAll = std::all_of(symbols.begin(), symbols.end(), [&](auto s) { return holds(s, h.offset); });
    if (hasAll && !offset) offset = h.offset;
  }
  if (!offset) {
    offset = next;
    for (const std::uint32_t symbol : symbols)
      out_.handles.push_back({symbol, next});
  }
  return IsaOperand::constant(0, static_cast<std::int32_t>(target().paramBase() + *offset));
}

Value FunctionLowering::handleNumber(VariableId id) {
  const Type type = module().variable(id).type;
  const std::uint32_t kind = type == Type::TexRef       ? isa::kTextureHandle
                             : type == Type::SamplerRef ? isa::kSamplerHandle
                                                        : isa::kSurfaceHandle;
  const IsaOperand r = newR(2);
  copy(ori::component(r, 1), Value::constant(kind, 1));
  const auto word = handleWord(id);
  if (!word) return Value::of(r);
  if (!target().has(isa::Capability::JoinedSamplers)) {
    copy(ori::component(r, 0), Value::of(*word));
    return Value::of(r);
  }
  // Before sm_90 the highest bit is set (observed).
  constexpr std::int64_t kMark = 0x80000000;
  constexpr int kOr = 0xfc;
  IsaOperand number = inReg(Value::of(*word));
  if (type == Type::SamplerRef) {
    const IsaOperand shifted = newR();
    emit(IsaOp::SHF, {shifted, IsaOperand::rz(), imm(isa::Target::kSamplerShift), number},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
    number = shifted;
  }
  emit(IsaOp::LOP3, {IsaOperand::pt(), ori::component(r, 0), number, imm(kMark), IsaOperand::rz(), imm(kOr),
                     IsaOperand::pt().notted()});
  return Value::of(r);
}

isa::Operand FunctionLowering::localAddress(VariableId id, std::int64_t offset) {
  const IsaOperand sum = newR();
  if (frameObject_[index(id)] == kNoId) {
    emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), localBase_[index(id)], imm(offset), IsaOperand::rz()});
    return sum;
  }
  IsaOperand where;
  where.kind = IsaOperand::Kind::Frame;
  where.reg = frameObject_[index(id)];
  where.imm = static_cast<std::int32_t>(offset);
  builder_.emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(),
                               IsaOperand::physical(File::R, ori::kStackPointer), where, IsaOperand::rz()});
  return sum;
}

Value FunctionLowering::variableAddress(VariableId id, std::int64_t offset) {
  const Variable& v = module().variable(id);
  if (typeClass(v.type) == TypeClass::Opaque) return handleNumber(id);
  switch (v.space) {
  case StateSpace::Shared: {
    IsaOperand r = newR();
    if (isLinked()) {
      const IsaOperand at = symbolAddress(layout_.symbolOf[index(id)], offset, 1);
      if (sharedBase().isZeroReg()) return Value::of(at);
      emit(IsaOp::IADD3, {r, IsaOperand::pt(), IsaOperand::pt(), at, sharedBase(), IsaOperand::rz()});
      return Value::of(r);
    }
    const std::int64_t at = offset + sharedOffset(id);
    IsaOperand base = sharedBase();
    if (base.isZeroReg())
      builder_.emit(IsaOp::MOV, {r, imm(at)});
    else if (at == 0)
      builder_.emit(IsaOp::MOV, {r, base});
    else
      emit(IsaOp::IADD3, {r, IsaOperand::pt(), IsaOperand::pt(), inReg(imm(at)), base, IsaOperand::rz()});
    return Value::of(r);
  }
  case StateSpace::Local: return Value::of(localAddress(id, offset));
  case StateSpace::Const:
    if (namesData()) {
      const IsaOperand r = newR(2);
      copy(ori::component(r, 0), Value::of(symbolAddress(layout_.symbolOf[index(id)], offset, 1)));
      copy(ori::component(r, 1), Value::constant(0, 1));
      return Value::of(r);
    }
    return Value::constant(static_cast<std::uint64_t>(layout_.constOffset[index(id)] + offset), 2);
  case StateSpace::Param: {
    if (isCallParam(id)) {
      if (frameObject_[index(id)] != kNoId) return Value::of(localAddress(id, offset));
      unsupported(
          fmt::format("the address of the parameter '{}', which is passed in registers", module().text(v.name)));
      return Value::constant(0, 2);
    }
    // The address of a parameter is relative to the start of the parameters' bank.
    return Value::constant(target().paramBase() + paramOffset(id) + static_cast<std::uint64_t>(offset), 2);
  }
  case StateSpace::Global: {
    if (namesData()) return Value::of(symbolAddress(layout_.symbolOf[index(id)], offset, 2));
    const IsaOperand r = addressFromTable(layout_.symbolOf[index(id)]);
    if (offset == 0) return Value::of(r);
    IsaOperand sum = newR(2);
    builder_.emit(IsaOp::IADD64, {sum, r, inReg(Value::constant(static_cast<std::uint64_t>(offset), 2))});
    return Value::of(sum);
  }
  default: unsupported(fmt::format("the address of {}", module().text(v.name))); return Value::constant(0, 2);
  }
}

Address FunctionLowering::sharedAddress(const Operand& operand, StateSpace space) {
  Address a = address(operand, space);
  if (space != StateSpace::None) return a;
  if (!a.base.isZeroReg()) a.base = ori::component(a.base, 0);
  if (target().has(isa::Capability::AlignedWindows)) return a; // the window is aligned to 4 GB
  const IsaOperand inWindow = newR();
  emit(IsaOp::IADD3,
       {inWindow, IsaOperand::pt(), IsaOperand::pt(), a.base.isZeroReg() ? IsaOperand::rz() : a.base,
        IsaOperand::constant(0, static_cast<std::int32_t>(target().sharedWindowOffset())).negated(), IsaOperand::rz()});
  a.base = inWindow;
  return a;
}

isa::Operand FunctionLowering::wholeAddress(const Address& a) {
  const IsaOperand base = inReg(Value::of(a.base));
  if (a.offset == 0) return base;
  const IsaOperand sum = newR(2);
  emit(IsaOp::IADD64, {sum, base, inReg(Value::constant(static_cast<std::uint64_t>(a.offset), 2))});
  return sum;
}

std::optional<std::uint32_t> FunctionLowering::kernelParameter(const Operand& registerOperand) {
  if (!registerOperand.is(OperandKind::Register) || registerOperand.component() != Component::None ||
      !inlining_.empty())
    return std::nullopt;
  if (kernelParameters_.empty()) {
    constexpr std::int64_t kUnknown = -1, kOther = -2;
    kernelParameters_.assign(in_->registers.size(), kUnknown);
    for (const Instruction& i : in_->instructions) {
      auto ops = in_->operandsOf(i);
      if (ops.empty()) continue;
      // The first operand may be a destination.
      std::int64_t value = kOther;
      if (ops.size() == 2 && i.guard == RegisterId::None && ops[0].is(OperandKind::Register) &&
          ops[1].is(OperandKind::Address) && ops[1].addressBase() == OperandKind::Variable &&
          module().variable(ops[1].variableId()).space == StateSpace::Param && !isCallParam(ops[1].variableId()) &&
          layout_.forms->form(i).op == Op::Ld)
        value = target().paramBase() + paramOffset(ops[1].variableId()) + ops[1].offset();
      const auto write = [&](const Operand& o) {
        for (const RegisterId reg :
             {o.is(OperandKind::Register) || o.is(OperandKind::Pair) ? o.registerId() : RegisterId::None,
              o.is(OperandKind::Pair) ? o.secondRegister() : RegisterId::None}) {
          if (reg == RegisterId::None) continue;
          std::int64_t& known = kernelParameters_[index(reg)];
          known = known == kUnknown ? value : kOther;
        }
      };
      if (ops[0].isGroup())
        for (const Operand& part : in_->parts(ops[0]))
          write(part);
      else
        write(ops[0]);
    }
  }
  const std::int64_t at = kernelParameters_[index(registerOperand.registerId())];
  if (at < 0) return std::nullopt;
  return static_cast<std::uint32_t>(at);
}

Address FunctionLowering::address(const Operand& operand, StateSpace space) {
  Address a;
  const bool narrow = space == StateSpace::Shared || space == StateSpace::Local;
  auto setBase = [&](const Value& value) {
    if (!narrow && !value.isConstant() && value.words() == 1) {
      // A 32-bit register as an address of a 64-bit space is zero-extended.
      IsaOperand wide = newR(2);
      copy(ori::component(wide, 0), value);
      copy(ori::component(wide, 1), Value::constant(0, 1));
      a.base = wide;
    } else if (value.isConstant()) {
      a.offset += static_cast<std::int64_t>(value.bits());
      a.base = IsaOperand::rz(narrow ? 1 : 2);
    } else {
      a.base = narrow ? ori::component(value.reg(), 0) : value.reg();
    }
  };
  a.offset = operand.offset();
  switch (operand.addressBase()) {
  case OperandKind::Register:
    setBase(source(Operand::reg(operand.registerId(), operand.component()), narrow ? Type::U32 : Type::U64));
    break;
  case OperandKind::Variable: {
    const VariableId id = operand.variableId();
    const Variable& v = module().variable(id);
    if (v.space == StateSpace::Shared && narrow) {
      if (IsaOperand base = sharedBase(); !base.isZeroReg()) a.uniform = base;
      if (isLinked())
        a.base = symbolAddress(layout_.symbolOf[index(id)], 0, 1);
      else
        a.offset += sharedOffset(id);
    } else if (v.space == StateSpace::Local && narrow && frameObject_[index(id)] == kNoId) {
      a.base = localBase_[index(id)];
    } else if (v.space == StateSpace::Local && narrow) {
      a.base = IsaOperand::physical(File::R, ori::kStackPointer);
      a.isFrame = true;
      a.frameObject = frameObject_[index(id)];
    } else if (v.space == StateSpace::Const || v.space == StateSpace::Param) {
      setBase(variableAddress(id, 0));
    } else if (space == StateSpace::None && (v.space == StateSpace::Shared || v.space == StateSpace::Local)) {
      setBase(Value::of(genericAddress(*this, v.space, inReg(variableAddress(id, 0)))));
    } else {
      setBase(variableAddress(id, 0));
    }
    break;
  }
  default: a.base = IsaOperand::rz(narrow ? 1 : 2); break;
  }
  if (!a.isFrame && !fitsOffset(a.offset)) {
    IsaOperand sum = newR(narrow ? 1 : 2);
    if (narrow)
      emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), a.base, imm(a.offset), IsaOperand::rz()});
    else
      builder_.emit(IsaOp::IADD64, {sum, a.base, inReg(Value::constant(static_cast<std::uint64_t>(a.offset), 2))});
    a.base = sum;
    a.offset = 0;
  }
  return a;
}

} // namespace orias::ptx
