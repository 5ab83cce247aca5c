#include "tools/interpreter/product.h"

#include <array>

// mma.m8n8k4 of halves: four products. The matrices of each are in lanes i and 16 + i, where i is one of four neighbors
// (PTX manual, fragments of mma.m8n8k4).

namespace orias::interp {

namespace {

using ptx::Mod;
using ptx::Slot;
using ptx::Type;

constexpr unsigned kRows = 8, kDepth = 4, kProducts = 4;

struct QuadProduct {
  Product product;
  bool aByColumns = false, bByColumns = false;
};

const QuadProduct& quadOf(const Thread& t) {
  return *static_cast<const QuadProduct*>(t.inst->detail);
}

/// The position of value `value` of a lane: a line of A (row) or B (column) and a position along the depth, ...
struct FactorPlace {
  unsigned line, k;
};
FactorPlace factorPlace(unsigned lane, unsigned value, bool laneIsLine) {
  const unsigned first = lane < 16 ? 0 : 4, within = lane % 4;
  return laneIsLine ? FactorPlace{first + within, value} : FactorPlace{first + value, within};
}
/// ... or a row and a column of C and D.
struct SumPlace {
  unsigned row, column;
};
SumPlace sumPlace(unsigned lane, unsigned value, Type type) {
  const unsigned first = lane < 16 ? 0 : 4;
  if (type == Type::F16) return {first + lane % 4, value};
  return {first + (lane & 1) + (value & 2), (value & 4) + (lane & 2) + (value & 1)};
}

void multiplyQuads(Lanes lanes) {
  for (const Thread* t : lanes)
    if (!t) throw Stop{"unsupported", "a matrix instruction with inactive lanes"};
  for (unsigned number = 0; number < kProducts; ++number) {
    std::array<std::array<std::uint64_t, kDepth>, kRows> a{}, b{};
    std::array<std::array<std::uint64_t, kRows>, kRows> c{};
    const auto forLanes = [&](auto visit) {
      for (unsigned lane = 0; lane < lanes.size(); ++lane)
        if (lane / 4 % kProducts == number) visit(lane, *lanes[lane]);
    };
    forLanes([&](unsigned lane, const Thread& t) {
      const QuadProduct& q = quadOf(t);
      for (unsigned v = 0; v < kDepth; ++v) {
        const FactorPlace inA = factorPlace(lane, v, !q.aByColumns), inB = factorPlace(lane, v, q.bByColumns);
        a[inA.line][inA.k] = q.product.a.get(t, v);
        b[inB.line][inB.k] = q.product.b.get(t, v);
      }
      for (unsigned v = 0; v < kRows; ++v) {
        const SumPlace at = sumPlace(lane, v, q.product.c.type);
        c[at.row][at.column] = q.product.c.get(t, v);
      }
    });
    forLanes([&](unsigned lane, Thread& t) {
      const Product& p = quadOf(t).product;
      for (unsigned v = 0; v < kRows; ++v) {
        const SumPlace at = sumPlace(lane, v, p.d.type);
        p.d.put(t, v, elementOf(p, a[at.row], b[at.column], c[at.row][at.column]));
      }
    });
  }
}

} // namespace

bool translateQuadProduct(FunctionTranslator& t) {
  const ptx::Form& f = t.form();
  QuadProduct quad;
  quad.product.a = fragmentOperand(t, 1, Part::A, f.type(1), false);
  quad.product.b = fragmentOperand(t, 2, Part::B, f.type(2), false);
  quad.product.c = fragmentOperand(t, 3, Part::C, f.type(3), false);
  quad.product.d = fragmentOperand(t, 0, Part::C, f.type(0), true);
  quad.aByColumns = f.get(Slot::Layout) == Mod::Col;
  quad.bByColumns = f.get(Slot::LayoutB) == Mod::Col;
  Inst& inst = t.emit([](Thread& thread, const Inst& i) { meetLanes(thread, i, ~0u); });
  inst.group = &multiplyQuads;
  inst.detail = t.keep(std::move(quad));
  return true;
}

} // namespace orias::interp
