#include "tools/interpreter/access.h"
#include "tools/interpreter/combine.h"
#include "tools/interpreter/float.h"

#include <cstring>

// multimem: accesses to addresses that refer to the memory of several devices. The values are combined in the order in
// which the launch lists the buffers; sums with .acc::f32 are rounded at the end.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::Type;

/// Inst::detail. Inst::a and imm are the address.
struct Access {
  std::span<const std::uint32_t> values;
  Type type = Type::B32; ///< of one of them
  Mod action = Mod::None;
  bool sumsInF32 = false;
  bool sumsInF16 = false; ///< of 8-bit floating-point numbers
};

const Access& accessOf(const Inst& i) {
  return *static_cast<const Access*>(i.detail);
}

std::vector<std::uint64_t> targetsOf(const Thread& t, const Inst& i) {
  const std::uint64_t address = t.r[i.a] + static_cast<std::uint64_t>(i.imm);
  auto targets = t.machine->device.replicas(address);
  if (targets.empty()) throw Stop{"memcheck", "multimem with an address that is not a multicast address"};
  return targets;
}

/// The vectors at the targets, as values.
using Values = std::array<std::uint64_t, 8>;

Values loadAll(Thread& t, const Access& access, std::uint64_t address) {
  const std::size_t each = bitWidth(access.type) / 8;
  std::array<std::byte, 64> bytes{};
  load(t, Space::Global, address, std::span(bytes).first(each * access.values.size()));
  Values values{};
  for (std::size_t k = 0; k < access.values.size(); ++k)
    std::memcpy(&values[k], bytes.data() + k * each, each);
  return values;
}
void storeAll(Thread& t, const Access& access, std::uint64_t address, const Values& values) {
  const std::size_t each = bitWidth(access.type) / 8;
  std::array<std::byte, 64> bytes{};
  for (std::size_t k = 0; k < access.values.size(); ++k)
    std::memcpy(bytes.data() + k * each, &values[k], each);
  store(t, Space::Global, address, std::span<const std::byte>(bytes).first(each * access.values.size()));
}
Values registersOf(const Thread& t, const Access& access) {
  Values values{};
  for (std::size_t k = 0; k < access.values.size(); ++k)
    values[k] = t.r[access.values[k]];
  return values;
}

/// The sum of halves in single precision.
std::uint64_t sumInF32(ieee::Format format, std::span<const std::uint64_t> values, unsigned shift) {
  constexpr std::uint64_t kHalf = 0xffff;
  ieee::Bits sum = ieee::convert(ieee::Format::F32, format, values[0] >> shift & kHalf);
  for (std::size_t i = 1; i < values.size(); ++i)
    sum = ieee::add(ieee::Format::F32, sum, ieee::convert(ieee::Format::F32, format, values[i] >> shift & kHalf));
  return ieee::convert(format, ieee::Format::F32, sum) << shift;
}

/// Combines one, two or four 8-bit numbers. Sums are rounded at each step, those in f16 at the end.
std::uint64_t combinedBytes(const Access& access, std::span<const std::uint64_t> values) {
  constexpr std::uint64_t kByte = 0xff;
  constexpr auto kInner = ieee::Format::F16; // exact for both formats
  const ieee::Format format = *formatOf(access.type);
  std::uint64_t result = 0;
  for (unsigned shift = 0; shift < bitWidth(access.type); shift += 8) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ieee::Bits value = ieee::convert(kInner, format, values[i] >> shift & kByte);
      all = i == 0                      ? value
            : access.action == Mod::Min ? ieee::minimum(kInner, all, value)
            : access.action == Mod::Max ? ieee::maximum(kInner, all, value)
                                        : ieee::add(kInner, all, value);
      if (!access.sumsInF16) all = ieee::convert(kInner, format, ieee::convert(format, kInner, all));
    }
    result |= ieee::convert(format, kInner, all) << shift;
  }
  return result;
}

bool isOfBytes(Type type) {
  return formatOf(type) == ieee::Format::E4M3 || formatOf(type) == ieee::Format::E5M2;
}

void loadReduced(Thread& t, const Inst& i) {
  const Access& access = accessOf(i);
  std::vector<Values> all;
  for (const std::uint64_t target : targetsOf(t, i))
    all.push_back(loadAll(t, access, target));
  for (std::size_t k = 0; k < access.values.size(); ++k) {
    std::vector<std::uint64_t> values;
    for (const Values& one : all)
      values.push_back(one[k]);
    std::uint64_t result = values[0];
    if (isOfBytes(access.type)) {
      result = combinedBytes(access, values);
    } else if (access.sumsInF32) {
      result = sumInF32(*formatOf(access.type), values, 0);
      if (bitWidth(access.type) == 32) result |= sumInF32(*formatOf(access.type), values, 16);
    } else {
      for (std::size_t r = 1; r < values.size(); ++r)
        result = combined(access.action, access.type, result, values[r]);
    }
    t.r[access.values[k]] = result;
  }
}

void storeEverywhere(Thread& t, const Inst& i) {
  for (const std::uint64_t target : targetsOf(t, i))
    storeAll(t, accessOf(i), target, registersOf(t, accessOf(i)));
}

void reduceEverywhere(Thread& t, const Inst& i) {
  const Access& access = accessOf(i);
  const Values values = registersOf(t, access);
  for (const std::uint64_t target : targetsOf(t, i)) {
    Values old = loadAll(t, access, target);
    for (std::size_t k = 0; k < access.values.size(); ++k)
      old[k] = combined(access.action, access.type, old[k], values[k]);
    storeAll(t, access, target, old);
  }
}

} // namespace

bool translateMultimem(FunctionTranslator& t) {
  const Form& f = t.form();
  const bool loads = f.op == Op::MultimemLdReduce;
  if (!loads && f.op != Op::MultimemSt && f.op != Op::MultimemRed) return false;
  Access access;
  access.type = f.type();
  access.action = f.action();
  access.sumsInF32 = f.get(Slot::Accumulator) == Mod::AccF32;
  access.sumsInF16 = f.get(Slot::Accumulator) == Mod::AccF16;
  const Address at = t.address(loads ? 1 : 0, ptx::StateSpace::Global);
  access.values = loads ? t.defs(0, f.type()) : t.uses(1, f.type());
  Inst& inst = t.emit(loads ? &loadReduced : f.op == Op::MultimemSt ? &storeEverywhere : &reduceEverywhere);
  inst.a = at.slot;
  inst.imm = at.offset;
  inst.detail = t.keep(access);
  return true;
}

} // namespace orias::interp
