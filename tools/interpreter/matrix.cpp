#include "tools/interpreter/product.h"

#include <algorithm>
#include <bit>
#include <limits>

// Matrix products: mma and wmma.mma. The manual leaves the order and the inner precision of sums open. Here the
// products are added in double precision in ascending k, then the element of C, with a single rounding (f64: one fma
// per step; integers: exact).

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::Type;

const Product& productOf(const Thread& t) {
  return *static_cast<const Product*>(t.inst->detail);
}

double valueOf(Type type, std::uint64_t bits) {
  return ieee::doubleOf(ieee::convert(ieee::Format::F64, *formatOf(type), bits));
}

std::uint64_t rounded(Type type, double value) {
  const ieee::Format format = *formatOf(type);
  const ieee::Bits bits = ieee::bitsOf(value);
  return ieee::isNan(ieee::Format::F64, bits) ? ieee::canonicalNan(format)
                                              : ieee::convert(format, ieee::Format::F64, bits);
}

std::int64_t integerOf(Type type, std::uint64_t bits) {
  const unsigned unused = 64 - bitWidth(type);
  const bool isSigned = typeClass(type) == ptx::TypeClass::Signed || type == Type::S4;
  return isSigned ? static_cast<std::int64_t>(bits << unused) >> unused : static_cast<std::int64_t>(bits);
}

void multiply(Lanes lanes) {
  const Matrix a = gather(lanes, [](const Thread& t) -> const Fragment& { return productOf(t).a; });
  const Matrix b = gather(lanes, [](const Thread& t) -> const Fragment& { return productOf(t).b; });
  const Matrix c = gather(lanes, [](const Thread& t) -> const Fragment& { return productOf(t).c; });
  const Product& p = productOf(*lanes[0]);
  const unsigned columns = p.b.columns(), depth = p.b.rows();
  Matrix byColumns(b.size());
  for (unsigned k = 0; k < depth; ++k)
    for (unsigned j = 0; j < columns; ++j)
      byColumns[j * depth + k] = b[k * columns + j];
  scatter(lanes, multiplied(lanes, p, a, byColumns, c),
          [](const Thread& t) -> const Fragment& { return productOf(t).d; });
}

void meetAll(Thread& t, const Inst& i) {
  meetLanes(t, i, ~0u);
}

/// The value of an element that has a byte of its own, or four bits. Four-bit numbers are shifted left by two in a
/// byte.
double narrowValue(Type type, bool isInByte, std::uint64_t bits) {
  return valueOf(type, type == Type::E2M1 && isInByte ? bits >> 2 & 0xf : bits);
}

/// The scale of a group of a row of A (of a column of B): PTX manual, "Scale-data" of mma.
double scaleAt(Lanes lanes, const Product& p, bool ofA, unsigned line, unsigned group) {
  const Product::Scales& s = ofA ? p.scalesA : p.scalesB;
  const auto byte = static_cast<unsigned>(lanes[0]->r[s.byte] & 3),
             thread = static_cast<unsigned>(lanes[0]->r[s.thread] & 3);
  const unsigned lane = ofA ? line % 8 * 4 + 2 * (thread & 1) + line / 8 : line * 4 + thread;
  const Product::Scales& own = ofA ? productOf(*lanes[lane]).scalesA : productOf(*lanes[lane]).scalesB;
  const std::uint64_t bits = lanes[lane]->r[own.data] >> 8 * (byte + group) & 0xff;
  return p.scaleType == Type::UE4M3 ? valueOf(Type::E4M3, bits & 0x7f) : valueOf(Type::UE8M0, bits);
}

void multiplyNarrow(Lanes lanes) {
  const Matrix a = gather(lanes, [](const Thread& t) -> const Fragment& { return productOf(t).a; });
  const Matrix b = gather(lanes, [](const Thread& t) -> const Fragment& { return productOf(t).b; });
  const Matrix c = gather(lanes, [](const Thread& t) -> const Fragment& { return productOf(t).c; });
  const Product& p = productOf(*lanes[0]);
  const unsigned columns = p.b.columns(), depth = p.b.rows(), groups = std::max(1u, p.scaleGroups);
  const unsigned held = p.sparsity ? depth / 2 : depth;
  const std::vector<unsigned> places = p.sparsity ? columnsOf(lanes, *p.sparsity) : std::vector<unsigned>{};
  const bool areBytes = p.a.bits() == 8;
  Matrix d(c.size());
  for (unsigned i = 0; i < c.size() / columns; ++i)
    for (unsigned j = 0; j < columns; ++j) {
      double sum = 0;
      for (unsigned group = 0; group < groups; ++group) {
        double part = 0;
        for (unsigned k = group * held / groups; k < (group + 1) * held / groups; ++k) {
          const unsigned met = p.sparsity ? places[i * held + k] : k;
          part += narrowValue(p.elementA, areBytes, a[i * held + k]) *
                  narrowValue(p.elementB, areBytes, b[met * columns + j]);
        }
        if (p.scaleGroups != 0) part = part * scaleAt(lanes, p, true, i, group) * scaleAt(lanes, p, false, j, group);
        sum += part;
      }
      d[i * columns + j] = rounded(p.d.type, sum + valueOf(p.c.type, c[i * columns + j]));
    }
  scatter(lanes, d, [](const Thread& t) -> const Fragment& { return productOf(t).d; });
}

/// mma with a kind: numbers of four to eight bits, with scales for .block_scale.
bool translateNarrowProduct(FunctionTranslator& t) {
  const Form& f = t.form();
  const bool areNibbles = f.has(Mod::KindMxf4) || f.has(Mod::KindMxf4nvf4);
  const Type held = areNibbles ? Type::U4 : Type::U8;
  Product product;
  product.a = fragmentOperand(t, 1, Part::A, held, false);
  product.b = fragmentOperand(t, 2, Part::B, held, false);
  product.c = fragmentOperand(t, 3, Part::C, f.type(3), false);
  product.d = fragmentOperand(t, 0, Part::C, f.type(0), true);
  product.elementA = f.type(1);
  product.elementB = f.type(2);
  product.sparsity = sparsityOf(t, held, 4);
  if (product.sparsity) product.a.shape.k /= 2;
  if (f.typeCount() == 5) {
    product.scaleType = f.type(4);
    product.scaleGroups = !areNibbles ? 1 : f.has(Mod::ScaleVec4X) ? 4 : 2;
    const auto scales = [&](unsigned at) {
      const auto place = t.uses(at + 1, Type::U16);
      return Product::Scales{t.uses(at, Type::B32)[0], place[0], place[1]};
    };
    const unsigned first = product.sparsity ? 6 : 4;
    product.scalesA = scales(first);
    product.scalesB = scales(first + 2);
  }
  Inst& inst = t.emit(&meetAll);
  inst.group = &multiplyNarrow;
  inst.detail = t.keep(std::move(product));
  return true;
}

bool translateProduct(FunctionTranslator& t) {
  const Form& f = t.form();
  // wmma of halves has only the types of D and C.
  const bool namesSums = f.typeCount() == 2;
  const Type d = f.type(0), a = namesSums ? Type::F16 : f.type(1), b = namesSums ? Type::F16 : f.type(2);
  const Type c = f.type(namesSums ? 1 : 3);
  if (f.op == Op::Mma && f.shape == ptx::MatrixShape{8, 8, 4} && a == Type::F16) return translateQuadProduct(t);
  if (f.get(Slot::Kind) != Mod::None) return translateNarrowProduct(t);
  if (!isMultiplied(d) || !isMultiplied(a) || !isMultiplied(b) || !isMultiplied(c)) return false;
  Product product;
  product.a = fragmentOperand(t, 1, Part::A, a, false);
  product.b = fragmentOperand(t, 2, Part::B, b, false);
  product.c = fragmentOperand(t, 3, Part::C, c, false);
  product.d = fragmentOperand(t, 0, Part::C, d, true);
  product.rounding = roundingOf(f.rounding());
  product.saturates = f.has(Mod::Satfinite);
  product.isXor = f.has(Mod::Xor);
  product.sparsity = sparsityOf(t, a, 4);
  if (product.sparsity) product.a.shape.k /= 2;
  Inst& inst = t.emit(&meetAll);
  inst.group = &multiply;
  inst.detail = t.keep(std::move(product));
  return true;
}

} // namespace

std::uint64_t elementOf(const Product& p, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                        std::uint64_t c) {
  if (p.d.type == Type::F64) {
    for (std::size_t k = 0; k < a.size(); ++k)
      c = ieee::fma(ieee::Format::F64, a[k], b[k], c, p.rounding);
    return c;
  }
  if (p.d.type == Type::S32) {
    std::int64_t sum = integerOf(Type::S32, c);
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (p.a.type == Type::B1)
        sum += static_cast<std::int64_t>(p.isXor ? a[k] ^ b[k] : a[k] & b[k]);
      else
        sum += integerOf(p.a.type, a[k]) * integerOf(p.b.type, b[k]);
    }
    using Limits = std::numeric_limits<std::int32_t>;
    if (p.saturates) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
    return static_cast<std::uint32_t>(sum);
  }
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    sum += valueOf(p.a.type, a[k]) * valueOf(p.b.type, b[k]);
  return rounded(p.d.type, (p.isNegated ? -sum : sum) + valueOf(p.c.type, c));
}

Matrix multiplied(Lanes lanes, const Product& p, const Matrix& a, const Matrix& b, const Matrix& c) {
  const std::size_t columns = p.b.columns(), depth = p.b.rows(), held = p.sparsity ? depth / 2 : depth;
  const std::vector<unsigned> places = p.sparsity ? columnsOf(lanes, *p.sparsity) : std::vector<unsigned>{};
  Matrix d(c.size()), met(held);
  for (std::size_t i = 0; i < c.size() / columns; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      std::span<const std::uint64_t> column = std::span(b).subspan(j * depth, depth);
      if (p.sparsity) { // elements of B without an element of A are ignored, even NaNs
        for (std::size_t k = 0; k < held; ++k)
          met[k] = column[places[i * held + k]];
        column = met;
      }
      d[i * columns + j] = elementOf(p, std::span(a).subspan(i * held, held), column, c[i * columns + j]);
    }
  return d;
}

std::optional<Sparsity> sparsityOf(FunctionTranslator& t, Type a, unsigned metadata) {
  const Form& f = t.form();
  if (f.get(Slot::Sparsity) == Mod::None) return std::nullopt;
  return Sparsity{t.uses(metadata, Type::B32)[0], static_cast<unsigned>(t.operand(metadata + 1).intValue()),
                  f.has(Mod::SpOrdered), a, f.shape.k};
}

bool isMultiplied(Type type) {
  switch (type) {
  case Type::F16:
  case Type::BF16:
  case Type::TF32:
  case Type::F32:
  case Type::F64:
  case Type::E4M3:
  case Type::E5M2:
  case Type::S32:
  case Type::S8:
  case Type::U8:
  case Type::S4:
  case Type::U4:
  case Type::B1: return true;
  default: return false;
  }
}

bool translateMatrix(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::Mma:
  case Op::WmmaMma: return translateProduct(t);
  default: return translateMatrixMemory(t);
  }
}

} // namespace orias::interp
