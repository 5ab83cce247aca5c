#include "tools/interpreter/fragment.h"

namespace orias::interp {

unsigned Fragment::element(unsigned lane, unsigned value) const {
  if (isWmma) {
    // The manual leaves this open. Our layout: equal shares by rows; with fewer values than registers for them, values
    // are repeated.
    const unsigned share = rows() * columns() / 32;
    return lane * share + value % share;
  }
  const unsigned group = lane / 4, inGroup = lane % 4;
  const unsigned p = packed(), word = value / p;
  const bool hasTwoHalves = shape.m == 16; // rows 0 to 7, rows 8 to 15
  switch (part) {
  case Part::A: {
    const unsigned row = group + (hasTwoHalves ? 8 * (word % 2) : 0);
    const unsigned step = hasTwoHalves ? word / 2 : word;
    return row * columns() + inGroup * p + value % p + step * 4 * p;
  }
  case Part::B: return (inGroup * p + value % p + word * 4 * p) * columns() + group;
  case Part::C: break;
  }
  return (group + 8 * (value / 2 % 2)) * columns() + value / 4 * 8 + inGroup * 2 + value % 2;
}

std::uint64_t Fragment::get(const Thread& thread, unsigned value) const {
  const std::uint64_t word = thread.r[slots[value / packed()]];
  if (bits() == 64) return word;
  return word >> (value % packed() * bits()) & (~std::uint64_t{0} >> (64 - bits()));
}

void Fragment::put(Thread& thread, unsigned value, std::uint64_t content) const {
  std::uint64_t& word = thread.r[slots[value / packed()]];
  if (bits() == 64) {
    word = content;
    return;
  }
  const unsigned shift = value % packed() * bits();
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits()) << shift;
  word = (word & ~mask) | (content << shift & mask);
}

Fragment fragmentOperand(FunctionTranslator& t, unsigned i, Part part, ptx::Type type, bool isResult) {
  const ptx::Form& f = t.form();
  const bool isWmma = f.op != ptx::Op::Mma;
  const ptx::Type word = bitWidth(type) == 64 ? ptx::Type::B64 : ptx::Type::B32;
  return {part, type, f.shape, isWmma, isResult ? t.defs(i, word) : t.uses(i, word)};
}

} // namespace orias::interp
