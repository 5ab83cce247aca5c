// st.async and red.async: stores and reductions in the shared memory of a CTA of the cluster, which signal a barrier
// there. The .release forms for global memory are synchronous, as ptxas implements them for sm_120.

#include "frontend/lower/addresses.h"
#include "frontend/lower/cluster.h"
#include "frontend/lower/families.h"
#include "frontend/lower/modifiers.h"

#include <optional>

namespace orias::ptx {

using isa::AtomOp;
using isa::AtomType;
using isa::MemSize;
using IsaOperand = isa::Operand;

namespace {

/// The address of the data, followed by that of the barrier. Addresses in the shared memory of the cluster have one
/// word, which is also the low word of the generic address.
IsaOperand placeAndBarrier(FunctionLowering& f, const Operand& place, const Operand& barrier, const Form& form) {
  const IsaOperand both = f.newR(2);
  const auto put = [&](unsigned k, const Address& a) {
    f.emit(IsaOp::IADD3, {ori::component(both, k), IsaOperand::pt(), IsaOperand::pt(), f.inReg(f.imm(a.offset)),
                          a.uniform.isNone() ? IsaOperand::rz() : a.uniform, a.base});
  };
  put(0, sharedAddress(f, place, form.space()));
  put(1, addressOf(f, barrier, StateSpace::Shared));
  return both;
}

/// The form for global memory, which has no barrier.
std::optional<Form> globalForm(const Form& form) {
  if (form.get(Slot::Completion) != Mod::None) return std::nullopt;
  Form global = form;
  global.replace(Mod::Global, Slot::Space);
  return global;
}

} // namespace

void lowerRemoteStore(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (const auto global = globalForm(form)) return lowerStore(f, i, *global);
  auto ops = f.operands(i);
  const Type type = form.type();
  const unsigned each = FunctionLowering::wordsOf(type);
  auto elements = ops[1].is(OperandKind::Vector) ? f.parts(ops[1]) : std::span(&ops[1], 1);
  const unsigned words = each * static_cast<unsigned>(elements.size());
  if (words > 4) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  const IsaOperand data = f.newR(words);
  for (unsigned e = 0; e < elements.size(); ++e)
    f.copy(ori::component(data, e * each, each), f.source(elements[e], type));
  const MemSize size = words == 1 ? MemSize::B32 : words == 2 ? MemSize::B64 : MemSize::B128;
  f.emit(IsaOp::STAS, {placeAndBarrier(f, ops[0], ops[2], form), IsaOperand(), f.imm(0), data}, {{IsaMod::Size, size}});
}

void lowerRemoteReduction(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (const auto global = globalForm(form)) return lowerRed(f, i, *global);
  auto ops = f.operands(i);
  const Type type = form.type();
  const bool isSigned = typeClass(type) == TypeClass::Signed, isWide = bitWidth(type) == 64;
  f.emit(IsaOp::REDAS, {placeAndBarrier(f, ops[0], ops[2], form), IsaOperand(), f.imm(0), f.sourceReg(ops[1], type)},
         {{IsaMod::AtomOp, atomOp(form.action())},
          {IsaMod::AtomType, isWide     ? AtomType::U64
                             : isSigned ? AtomType::S32
                                        : AtomType::U32}});
}

} // namespace orias::ptx
