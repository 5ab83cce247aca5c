#include "tools/interpreter/access.h"
#include "tools/interpreter/atomic.h"
#include "tools/interpreter/float.h"

#include <array>
#include <cstring>

// atom and red of more than 64 bits or of several elements: vectors of floating-point numbers in global memory, and
// exch and cas of 128 bits.

namespace orias::interp {

namespace {

using ieee::Bits;
using ieee::Format;
using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;

constexpr std::size_t kMaxBytes = 16;
using Words = std::array<std::byte, kMaxBytes>;

/// Inst::detail.
struct Wide {
  std::span<const std::uint32_t> results; ///< empty for red
  std::span<const std::uint32_t> values, replacements;
  unsigned slotBytes = 8; ///< bytes of memory per slot
  Mod action = Mod::None;
  Format format = Format::F32; ///< of the numbers; a slot may hold two
  unsigned numberBits = 32;
};

const Wide& wideOf(const Inst& i) {
  return *static_cast<const Wide*>(i.detail);
}

void putResults(Thread& t, const Wide& wide, const Words& old) {
  for (std::size_t k = 0; k < wide.results.size(); ++k) {
    std::uint64_t value = 0;
    std::memcpy(&value, old.data() + k * wide.slotBytes, wide.slotBytes);
    t.r[wide.results[k]] = value;
  }
}

Words wordsOf(const Thread& t, const Wide& wide, std::span<const std::uint32_t> slots) {
  Words words{};
  for (std::size_t k = 0; k < slots.size(); ++k)
    std::memcpy(words.data() + k * wide.slotBytes, &t.r[slots[k]], wide.slotBytes);
  return words;
}

/// As for single numbers (atomic.cpp): single precision is flushed, because the numbers are in global memory.
Bits combined(const Wide& wide, Bits old, Bits value) {
  switch (wide.action) {
  case Mod::Min: return ieee::minimum(wide.format, old, value);
  case Mod::Max: return ieee::maximum(wide.format, old, value);
  default: break;
  }
  if (wide.format != Format::F32) return ieee::add(wide.format, old, value);
  const Bits sum = ieee::add(Format::F32, ieee::flush(Format::F32, old), ieee::flush(Format::F32, value));
  return ieee::flush(Format::F32, sum);
}

void updateVector(Thread& t, const Inst& i) {
  const Wide& wide = wideOf(i);
  const Location at = atomicTarget(t, i);
  if (at.space != Space::Global) throw Stop{"memcheck", "an atomic operation on a vector that is not in global memory"};
  const std::size_t size = wide.values.size() * wide.slotBytes, numberBytes = wide.numberBits / 8;
  Words old{};
  load(t, at.space, at.address, std::span(old).first(size));
  const Words values = wordsOf(t, wide, wide.values);
  Words fresh{};
  for (std::size_t at = 0; at < size; at += numberBytes) {
    Bits before = 0, value = 0;
    std::memcpy(&before, old.data() + at, numberBytes);
    std::memcpy(&value, values.data() + at, numberBytes);
    const Bits after = combined(wide, before, value);
    std::memcpy(fresh.data() + at, &after, numberBytes);
  }
  store(t, at.space, at.address, std::span(fresh).first(size));
  putResults(t, wide, old);
}

/// exch and cas of 128 bits.
void replaceAll(Thread& t, const Inst& i) {
  const Wide& wide = wideOf(i);
  const Location at = atomicTarget(t, i);
  Words old{};
  load(t, at.space, at.address, old);
  const Words value = wordsOf(t, wide, wide.values);
  if (wide.action == Mod::Exch)
    store(t, at.space, at.address, value);
  else if (old == value)
    store(t, at.space, at.address, wordsOf(t, wide, wide.replacements));
  putResults(t, wide, old);
}

} // namespace

bool translateWideAtomic(FunctionTranslator& t) {
  const Form& f = t.form();
  const bool isVector = f.vectorSize() != 1;
  if (!isVector && bitWidth(f.type()) != 128) return false;
  const unsigned first = f.op == Op::Atom ? 1 : 0; // index of the address; values follow it
  Wide wide;
  wide.action = f.action();
  if (isVector) {
    const auto format = formatOf(f.type());
    if (!format) return false;
    wide.format = *format;
    wide.numberBits = *format == Format::F32 ? 32 : 16;
    wide.slotBytes = bitWidth(f.type()) / 8;
  }
  if (f.op == Op::Atom) wide.results = t.defs(0, f.type());
  wide.values = t.uses(first + 1, f.type());
  if (f.action() == Mod::Cas) wide.replacements = t.uses(first + 2, f.type());
  const Address at = t.address(first, f.space());
  Inst& inst = t.emit(isVector ? &updateVector : &replaceAll);
  inst.a = at.slot;
  inst.imm = at.offset;
  inst.option = static_cast<std::uint16_t>(at.space);
  inst.detail = t.keep(wide);
  return true;
}

} // namespace orias::interp
