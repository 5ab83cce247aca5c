// Addresses of variables, parameters and windows; the operands of memory instructions.

#include "frontend/lower/addresses.h"

#include "frontend/lower/function_lowering.h"
#include "frontend/lower/special.h"
#include "frontend/lower/texture_handles.h"
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

isa::Operand symbolAddress(FunctionLowering& f, std::uint32_t symbol, std::int64_t offset, unsigned words) {
  IsaOperand where;
  where.kind = IsaOperand::Kind::Symbol;
  where.reg = symbol;
  where.imm = static_cast<std::int32_t>(offset);
  if (where.imm != offset) f.unsupported("an address more than 2 GiB from its symbol");
  const IsaOperand r = f.newR(words);
  f.b().emit(IsaOp::ADDRESS, {r, where});
  return r;
}

isa::Operand addressFromTable(FunctionLowering& f, std::uint32_t symbol) {
  const IsaOperand r = f.newR(2);
  const std::uint32_t slot = f.out().module().addressSlot(symbol);
  f.emit(IsaOp::LDC, {r, f.imm(4), IsaOperand::rz(), f.imm(slot)}, {{IsaMod::Size, isa::MemSize::B64}});
  return r;
}

std::uint32_t symbolNamed(ori::Module& module, ori::Symbol::Kind kind, std::string_view name) {
  std::vector<ori::Symbol>& symbols = module.symbols;
  const auto known = std::find_if(symbols.begin(), symbols.end(),
                                  [&](const ori::Symbol& s) { return s.kind == kind && s.name == name; });
  const auto id = static_cast<std::uint32_t>(known - symbols.begin());
  if (known == symbols.end()) symbols.push_back({kind, std::string(name), 0});
  return id;
}

namespace {

/// The address of a frame variable; 32 bits.
isa::Operand localAddress(FunctionLowering& f, VariableId id, std::int64_t offset) {
  const IsaOperand sum = f.newR();
  if (!f.variables().frameObject(id)) {
    f.emit(IsaOp::IADD3,
           {sum, IsaOperand::pt(), IsaOperand::pt(), f.variables().localBase(id), f.imm(offset), IsaOperand::rz()});
    return sum;
  }
  IsaOperand where;
  where.kind = IsaOperand::Kind::Frame;
  where.reg = *f.variables().frameObject(id);
  where.imm = static_cast<std::int32_t>(offset);
  f.b().emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), IsaOperand::physical(File::R, ori::kStackPointer),
                            where, IsaOperand::rz()});
  return sum;
}

} // namespace

Value variableAddress(FunctionLowering& f, VariableId id, std::int64_t offset) {
  const Variable& v = f.module().variable(id);
  if (typeClass(v.type) == TypeClass::Opaque) return handleNumber(f, id);
  switch (v.space) {
  case StateSpace::Shared: {
    IsaOperand r = f.newR();
    if (f.isLinked()) {
      const IsaOperand at = symbolAddress(f, f.layout().symbolOf[index(id)], offset, 1);
      if (f.sharedBase().isZeroReg()) return Value::of(at);
      f.emit(IsaOp::IADD3, {r, IsaOperand::pt(), IsaOperand::pt(), at, f.sharedBase(), IsaOperand::rz()});
      return Value::of(r);
    }
    const std::int64_t at = offset + f.variables().sharedOffset(id);
    IsaOperand base = f.sharedBase();
    if (base.isZeroReg())
      f.b().emit(IsaOp::MOV, {r, f.imm(at)});
    else if (at == 0)
      f.b().emit(IsaOp::MOV, {r, base});
    else
      f.emit(IsaOp::IADD3, {r, IsaOperand::pt(), IsaOperand::pt(), f.inReg(f.imm(at)), base, IsaOperand::rz()});
    return Value::of(r);
  }
  case StateSpace::Local: return Value::of(localAddress(f, id, offset));
  case StateSpace::Const:
    if (f.namesData()) {
      const IsaOperand r = f.newR(2);
      f.copy(ori::component(r, 0), Value::of(symbolAddress(f, f.layout().symbolOf[index(id)], offset, 1)));
      f.copy(ori::component(r, 1), Value::constant(0, 1));
      return Value::of(r);
    }
    return Value::constant(static_cast<std::uint64_t>(f.layout().constOffset[index(id)] + offset), 2);
  case StateSpace::Param: {
    if (f.variables().isCallParam(id)) {
      if (f.variables().frameObject(id)) return Value::of(localAddress(f, id, offset));
      f.unsupported(
          fmt::format("the address of the parameter '{}', which is passed in registers", f.module().text(v.name)));
      return Value::constant(0, 2);
    }
    // The address of a parameter is relative to the start of the parameters' bank.
    return Value::constant(f.target().paramBase() + f.variables().paramOffset(id) + static_cast<std::uint64_t>(offset),
                           2);
  }
  case StateSpace::Global: {
    if (f.namesData()) return Value::of(symbolAddress(f, f.layout().symbolOf[index(id)], offset, 2));
    const IsaOperand r = addressFromTable(f, f.layout().symbolOf[index(id)]);
    if (offset == 0) return Value::of(r);
    IsaOperand sum = f.newR(2);
    f.b().emit(IsaOp::IADD64, {sum, r, f.inReg(Value::constant(static_cast<std::uint64_t>(offset), 2))});
    return Value::of(sum);
  }
  default: f.unsupported(fmt::format("the address of {}", f.module().text(v.name))); return Value::constant(0, 2);
  }
}

Address sharedAddress(FunctionLowering& f, const Operand& operand, StateSpace space) {
  Address a = addressOf(f, operand, space);
  if (space != StateSpace::None) return a;
  if (!a.base.isZeroReg()) a.base = ori::component(a.base, 0);
  if (f.target().has(isa::Capability::AlignedWindows)) return a; // the window is aligned to 4 GB
  const IsaOperand inWindow = f.newR();
  f.emit(IsaOp::IADD3, {inWindow, IsaOperand::pt(), IsaOperand::pt(), a.base.isZeroReg() ? IsaOperand::rz() : a.base,
                        IsaOperand::constant(0, static_cast<std::int32_t>(f.target().sharedWindowOffset())).negated(),
                        IsaOperand::rz()});
  a.base = inWindow;
  return a;
}

isa::Operand wholeAddress(FunctionLowering& f, const Address& a) {
  const IsaOperand base = f.inReg(Value::of(a.base));
  if (a.offset == 0) return base;
  const IsaOperand sum = f.newR(2);
  f.emit(IsaOp::IADD64, {sum, base, f.inReg(Value::constant(static_cast<std::uint64_t>(a.offset), 2))});
  return sum;
}

Address addressOf(FunctionLowering& f, const Operand& operand, StateSpace space) {
  Address a;
  const bool narrow = space == StateSpace::Shared || space == StateSpace::Local;
  auto setBase = [&](const Value& value) {
    if (!narrow && !value.isConstant() && value.words() == 1) {
      // A 32-bit register as an address of a 64-bit space is zero-extended.
      IsaOperand wide = f.newR(2);
      f.copy(ori::component(wide, 0), value);
      f.copy(ori::component(wide, 1), Value::constant(0, 1));
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
    setBase(f.source(Operand::reg(operand.registerId(), operand.component()), narrow ? Type::U32 : Type::U64));
    break;
  case OperandKind::Variable: {
    const VariableId id = operand.variableId();
    const Variable& v = f.module().variable(id);
    if (v.space == StateSpace::Shared && narrow) {
      if (IsaOperand base = f.sharedBase(); !base.isZeroReg()) a.uniform = base;
      if (f.isLinked())
        a.base = symbolAddress(f, f.layout().symbolOf[index(id)], 0, 1);
      else
        a.offset += f.variables().sharedOffset(id);
    } else if (v.space == StateSpace::Local && narrow && !f.variables().frameObject(id)) {
      a.base = f.variables().localBase(id);
    } else if (v.space == StateSpace::Local && narrow) {
      a.base = IsaOperand::physical(File::R, ori::kStackPointer);
      a.isFrame = true;
      a.frameObject = *f.variables().frameObject(id);
    } else if (v.space == StateSpace::Const || v.space == StateSpace::Param) {
      setBase(variableAddress(f, id, 0));
    } else if (space == StateSpace::None && (v.space == StateSpace::Shared || v.space == StateSpace::Local)) {
      setBase(Value::of(genericAddress(f, v.space, f.inReg(variableAddress(f, id, 0)))));
    } else {
      setBase(variableAddress(f, id, 0));
    }
    break;
  }
  default: a.base = IsaOperand::rz(narrow ? 1 : 2); break;
  }
  if (!a.isFrame && !fitsOffset(a.offset)) {
    IsaOperand sum = f.newR(narrow ? 1 : 2);
    if (narrow)
      f.emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), a.base, f.imm(a.offset), IsaOperand::rz()});
    else
      f.b().emit(IsaOp::IADD64, {sum, a.base, f.inReg(Value::constant(static_cast<std::uint64_t>(a.offset), 2))});
    a.base = sum;
    a.offset = 0;
  }
  return a;
}

} // namespace orias::ptx
