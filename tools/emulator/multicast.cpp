// Multicast addresses, which refer to the memory of several devices: LDGMC combines the values of all; stores and
// reductions go to all.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "tools/emulator/reduction.h"

#include <bit>

namespace orias::emu {

using ieee::Format;
using isa::AtomFloat;
using isa::AtomOp;

namespace {

struct Packed {
  Format format;
  unsigned bits;
};

Packed packedOf(AtomFloat type) {
  switch (type) {
  case AtomFloat::F16x2:
  case AtomFloat::F16x4:
  case AtomFloat::F16x8: return {Format::F16, 16};
  case AtomFloat::BF16x2:
  case AtomFloat::BF16x4:
  case AtomFloat::BF16x8: return {Format::BF16, 16};
  case AtomFloat::F64: return {Format::F64, 64};
  case AtomFloat::E5M2x4:
  case AtomFloat::E5M2x8:
  case AtomFloat::E5M2x16: return {Format::E5M2, 8};
  case AtomFloat::E4M3x4:
  case AtomFloat::E4M3x8:
  case AtomFloat::E4M3x16: return {Format::E4M3, 8};
  default: return {Format::F32, 32};
  }
}

/// The combined value of an 8-bit element of all devices. Sums in f16 are rounded at the end, others at each step.
std::uint64_t combinedBytes(unsigned operation, Format type, const std::vector<std::uint64_t>& values) {
  enum { Add, Min, Max, AddInF16 };
  const auto inner = [&](ieee::Bits value) { return ieee::convert(Format::F16, type, value); };
  ieee::Bits sum = inner(values[0]);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const ieee::Bits value = inner(values[i]);
    sum = operation == Min   ? ieee::minimum(Format::F16, sum, value)
          : operation == Max ? ieee::maximum(Format::F16, sum, value)
                             : ieee::add(Format::F16, sum, value);
    if (operation == Add) sum = inner(ieee::convert(type, Format::F16, sum));
  }
  return ieee::convert(type, Format::F16, sum);
}

/// The combined value of an element of all devices. Sums in f32 are rounded at the end.
std::uint64_t combinedFloats(unsigned operation, const Packed& type, const std::vector<std::uint64_t>& values) {
  enum { Add, Min, Max, AddInF32 };
  const bool isWide = operation == AddInF32;
  const Format inner = isWide ? Format::F32 : type.format;
  const AtomOp op = operation == Min ? AtomOp::MIN : operation == Max ? AtomOp::MAX : AtomOp::ADD;
  const FloatType of{inner, type.bits, type.bits / 8, false};
  ieee::Bits sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ieee::Bits value = isWide ? ieee::convert(inner, type.format, values[i]) : values[i];
    sum = i == 0 ? value : reduced(op, of, sum, value);
  }
  return isWide ? ieee::convert(type.format, inner, sum) : sum;
}

} // namespace

void Machine::loadReduced(const Operation& op, std::uint32_t lanes) {
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const bool isFloat = op.inst.op != isa::Op::LDGMC;
  const unsigned words = isa::operandWidth(op.inst, row.slot(isa::SlotId::Rd));
  const auto integers = isa::modAs<isa::AtomType>(op.inst, isa::Mod::AtomType);
  const Packed floats = packedOf(isa::modAs<AtomFloat>(op.inst, isa::Mod::AtomFloat));
  const unsigned operation = isa::getMod(op.inst, isa::Mod::AtomOp);
  const unsigned bits = isFloat ? floats.bits : words * 32;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::vector<std::uint64_t> targets = device_.replicas(addressOf(op, lane));
    if (targets.empty()) return stop("memcheck", "LDGMC of an address that is not a multicast address");
    std::vector<std::array<std::uint32_t, 4>> all(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (!readMemory(Space::Global, targets[i], lane, {reinterpret_cast<std::byte*>(all[i].data()), words * 4}))
        return;
    std::array<std::uint32_t, 4> result{};
    for (unsigned at = 0; at < words * 32; at += bits) {
      std::vector<std::uint64_t> values;
      for (const auto& one : all)
        values.push_back(bits == 64 ? one[0] | std::uint64_t{one[1]} << 32
                                    : one[at / 32] >> at % 32 & (~0u >> (32 - bits)));
      std::uint64_t value = values[0];
      if (isFloat && bits == 8)
        value = combinedBytes(operation, floats.format, values);
      else if (isFloat)
        value = combinedFloats(operation, floats, values);
      else
        for (std::size_t i = 1; i < values.size(); ++i)
          value = reduced(static_cast<AtomOp>(operation), integers, value, values[i]);
      result[at / 32] |= static_cast<std::uint32_t>(value) << at % 32;
      if (bits == 64) result[1] = static_cast<std::uint32_t>(value >> 32);
    }
    for (unsigned w = 0; w < words; ++w)
      setWord(op, op.result, w, lane, result[w]);
  }
}

} // namespace orias::emu
