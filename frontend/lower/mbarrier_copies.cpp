// Barriers in shared memory that count copies (cp.async.mbarrier.arrive).

#include "frontend/lower/mbarrier_copies.h"

#include "frontend/lower/uniform_loop.h"

#include <array>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

/// The address without its offset, as one value.
Value baseOf(FunctionLowering& f, const Address& a) {
  const bool hasUniform = !a.uniform.isNone() && !a.uniform.isZeroReg(), hasBase = !a.base.isZeroReg();
  if (hasUniform && hasBase) {
    const IsaOperand sum = f.newR();
    f.emit(IsaOp::IADD3, {sum, IsaOperand::pt(), IsaOperand::pt(), a.base, a.uniform, IsaOperand::rz()});
    return Value::of(sum);
  }
  if (hasUniform) return Value::of(a.uniform);
  return hasBase ? Value::of(a.base) : Value::constant(0, 1);
}

} // namespace

void emitArrivalAfterCopies(FunctionLowering& f, const Address& a, std::initializer_list<ModValue> mods) {
  const IsaOperand at = f.out().use(f.out().newVReg(File::UR));
  const std::array<UniformWord, 1> uniform{UniformWord{at, baseOf(f, a)}};
  const std::vector<ModValue> given(mods);
  const IsaOperand offset = IsaOperand::immediate(static_cast<std::int32_t>(a.offset));
  forEachUniform(f, uniform, [&] { f.emit(IsaOp::ARRIVES_LDGSTSBAR, {at, offset}, given); });
}

} // namespace orias::ptx
