// multimem: accesses to addresses that refer to the memory of several GPUs. Stores and reductions are those of ordinary
// global memory; loads combine the values of all GPUs (observed in ptxas' code for sm_90).

#include "frontend/lower/addresses.h"
#include "frontend/lower/families.h"
#include "frontend/lower/sync.h"

namespace orias::ptx {

using isa::AtomFloat;
using isa::AtomType;
using IsaOperand = isa::Operand;

namespace {

constexpr int kAddWider = 3; ///< LDGMC operations on floating-point numbers that sum in f32, those on bytes in f16

std::optional<int> integerOperation(Mod action) {
  using isa::AtomOp;
  switch (action) {
  case Mod::Add: return static_cast<int>(AtomOp::ADD);
  case Mod::Min: return static_cast<int>(AtomOp::MIN);
  case Mod::Max: return static_cast<int>(AtomOp::MAX);
  case Mod::And: return static_cast<int>(AtomOp::AND);
  case Mod::Or: return static_cast<int>(AtomOp::OR);
  case Mod::Xor: return static_cast<int>(AtomOp::XOR);
  default: return std::nullopt;
  }
}

/// Types of one, two and four registers have consecutive numbers.
std::optional<AtomFloat> floatType(Type type, unsigned words) {
  const auto wider = [&](AtomFloat one) {
    return static_cast<AtomFloat>(static_cast<unsigned>(one) + (words == 4 ? 2 : words - 1));
  };
  switch (type) {
  case Type::E5M2:
  case Type::E5M2x2:
  case Type::E5M2x4: return wider(AtomFloat::E5M2x4);
  case Type::E4M3:
  case Type::E4M3x2:
  case Type::E4M3x4: return wider(AtomFloat::E4M3x4);
  case Type::F16:
  case Type::F16x2: return wider(AtomFloat::F16x2);
  case Type::BF16:
  case Type::BF16x2: return wider(AtomFloat::BF16x2);
  case Type::F32: return wider(AtomFloat::F32);
  case Type::F64: return AtomFloat::F64;
  default: return std::nullopt;
  }
}

bool isFloat(Type type) {
  return floatType(type, 1).has_value();
}

bool isOfBytes(AtomFloat type) {
  return type >= AtomFloat::E5M2x4;
}

} // namespace

void lowerMultimemLoad(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  const unsigned bits = bitWidth(type) * form.vectorSize(), words = std::max(1u, bits / 32);
  std::vector<ModValue> mods{{IsaMod::Order, isa::MemOrder::StrongSys}};
  if (isFloat(type)) {
    const bool isWide = form.get(Slot::Accumulator) != Mod::None;
    const int op = isWide ? kAddWider : form.action() == Mod::Min ? 1 : form.action() == Mod::Max ? 2 : 0;
    mods.push_back({IsaMod::AtomOp, op});
    mods.push_back({IsaMod::AtomFloat, *floatType(type, words)});
  } else {
    const auto op = integerOperation(form.action());
    const bool isSigned = typeClass(type) == TypeClass::Signed;
    if (!op || typeClass(type) == TypeClass::Float) {
      f.unsupported(std::string(f.opcodeText()));
      return;
    }
    mods.push_back({IsaMod::AtomOp, *op});
    mods.push_back({IsaMod::AtomType, words == 2 ? (isSigned ? AtomType::S64 : AtomType::U64)
                                                 : (isSigned ? AtomType::S32 : AtomType::U32)});
  }
  const Address a = addressOf(f, ops[1], StateSpace::Global);
  const IsaOperand run = f.newR(words);
  f.emit(!isFloat(type)                       ? IsaOp::LDGMC
         : isOfBytes(*floatType(type, words)) ? IsaOp::LDGMC_BYTE_FLOAT
                                              : IsaOp::LDGMC_FLOAT,
         {run, a.base, IsaOperand::zero(isa::File::UR), IsaOperand::immediate(static_cast<std::int32_t>(a.offset))},
         mods);
  if (form.semantics() == Mod::Acquire) emitAcquireFence(f, form.scope() == Mod::Cta ? Mod::Gpu : form.scope());

  auto elements = ops[0].is(OperandKind::Vector) ? f.parts(ops[0]) : std::span(&ops[0], 1);
  const unsigned each = bitWidth(type);
  for (unsigned e = 0; e < elements.size(); ++e) {
    if (elements[e].is(OperandKind::Sink)) continue;
    const IsaOperand d = f.dest(elements[e]);
    constexpr std::int64_t kFirstByte = 0x4440; // zeros above
    if (each == 8)
      f.emit(IsaOp::PRMT, {d, ori::component(run, e / 4), f.imm(kFirstByte + e % 4), IsaOperand::rz()});
    else if (each == 16)
      f.emit(IsaOp::PRMT, {d, ori::component(run, e / 2), f.imm(e % 2 == 0 ? 0x4410 : 0x4432), IsaOperand::rz()});
    else
      f.copy(d, Value::of(ori::component(run, e * each / 32, each / 32)));
  }
}

} // namespace orias::ptx
