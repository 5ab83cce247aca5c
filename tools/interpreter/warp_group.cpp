#include "tools/interpreter/access.h"
#include "tools/interpreter/product.h"
#include "tools/launch/matrix_descriptor.h"

// wgmma: products of a warp group, whose warps have 16 rows each. A product completes immediately, so fences, groups
// and waits have nothing to do. Its sum is computed as for mma.

namespace orias::interp {

namespace {

using launch::MatrixDescriptor;
using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::OperandKind;
using ptx::Slot;
using ptx::Type;

constexpr unsigned kRows = 16; ///< per warp
constexpr unsigned kWarps = 4; ///< per group

/// Inst::detail; Inst::a and b hold the descriptors, Inst::c whether D is added.
struct GroupProduct {
  Product product;
  bool aIsInMemory = false, aIsTransposed = false, bIsTransposed = false;
};

const GroupProduct& groupOf(const Thread& t) {
  return *static_cast<const GroupProduct*>(t.inst->detail);
}

/// Elements of a matrix in memory, in rows of `depth`, from row `first` on.
Matrix loadMatrix(Thread& t, std::uint64_t descriptor, unsigned first, unsigned rows, unsigned depth, unsigned bits,
                  bool isTransposed) {
  const MatrixDescriptor d(descriptor);
  if (d.baseOffset != 0) throw Stop{"unsupported", "a matrix descriptor with a base offset"};
  if (!d.holds(depth, bits, isTransposed)) throw Stop{"unsupported", "matrix rows that are longer than the swizzle"};
  Matrix matrix(std::size_t{rows} * depth);
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned k = 0; k < depth; ++k) {
      std::uint64_t value = 0;
      load(t, Space::Shared, inRank(t.cta->rank, d.address(first + i, k, bits, isTransposed)),
           std::as_writable_bytes(std::span(&value, 1)).first((bits + 7) / 8));
      matrix[i * depth + k] = bits < 8 ? value >> k * bits % 8 & ((1u << bits) - 1) : value;
    }
  return matrix;
}

void multiply(Lanes lanes) {
  if (!lanes[0]) throw Stop{"unsupported", "a matrix instruction with inactive lanes"};
  Thread& t = *lanes[0];
  const GroupProduct& group = groupOf(t);
  const Product& p = group.product;
  const unsigned columns = p.d.columns(), depth = p.b.rows(), held = p.sparsity ? depth / 2 : depth, bits = p.a.bits();
  const unsigned firstRow = t.warp->index % kWarps * kRows;
  const Matrix a = group.aIsInMemory
                       ? loadMatrix(t, t.r[t.inst->a], firstRow, kRows, held, bits, group.aIsTransposed)
                       : gather(lanes, [](const Thread& u) -> const Fragment& { return groupOf(u).product.a; });
  const Matrix b = loadMatrix(t, t.r[t.inst->b], 0, columns, depth, bits, group.bIsTransposed);
  Matrix sums = gather(lanes, [](const Thread& u) -> const Fragment& { return groupOf(u).product.d; });
  if (!get<bool>(t, t.inst->c)) sums.assign(sums.size(), 0);
  sums = multiplied(lanes, p, a, b, sums);
  scatter(lanes, sums, [](const Thread& u) -> const Fragment& { return groupOf(u).product.d; });
}

void meetAll(Thread& t, const Inst& i) {
  meetLanes(t, i, ~0u);
}

bool translateProduct(FunctionTranslator& t) {
  const Form& f = t.form();
  const Type d = f.type(0), a = f.type(1), b = f.type(2);
  if (!isMultiplied(a) || !isMultiplied(b)) return false;
  const unsigned scaleD = f.get(Slot::Sparsity) == Mod::None ? 3 : 5; // index of the operand after the matrices
  const auto number = [&](unsigned k) { return scaleD + k < t.operandCount() ? t.operand(scaleD + k).intValue() : 0; };
  GroupProduct group;
  group.aIsInMemory = !t.operand(1).is(OperandKind::Vector);
  Product& p = group.product;
  const bool isFloat = d != Type::S32;
  p.isNegated = isFloat && (number(1) < 0) != (number(2) < 0);
  const unsigned transpositions = 3;
  group.aIsTransposed = group.aIsInMemory && number(transpositions) != 0;
  group.bIsTransposed = number(transpositions + (group.aIsInMemory ? 1 : 0)) != 0;
  p.saturates = f.has(Mod::Satfinite);
  const auto part = [&](unsigned i, Part which, Type type, bool isResult) {
    Fragment fragment = fragmentOperand(t, i, which, type, isResult);
    fragment.shape.m = kRows;
    fragment.isWmma = false; // has the layout of mma
    return fragment;
  };
  p.d = p.c = part(0, Part::C, d, true);
  p.b.part = Part::B;
  p.b.type = b;
  p.a.type = a;
  p.a.shape = p.b.shape = p.d.shape;
  if (!group.aIsInMemory) p.a = part(1, Part::A, a, false);
  p.sparsity = sparsityOf(t, a, 3);
  if (p.sparsity) p.a.shape.k /= 2;
  const std::uint32_t descriptorA = group.aIsInMemory ? t.use(1, Type::B64) : kSink;
  const std::uint32_t descriptorB = t.use(2, Type::B64), isAdded = t.use(scaleD, Type::Pred);
  Inst& inst = t.emit(&meetAll);
  inst.group = &multiply;
  inst.a = descriptorA;
  inst.b = descriptorB;
  inst.c = isAdded;
  inst.detail = t.keep(std::move(group));
  return true;
}

} // namespace

bool translateWarpGroup(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::WgmmaMmaAsync: return translateProduct(t);
  case Op::WgmmaFence:
  case Op::WgmmaCommitGroup:
  case Op::WgmmaWaitGroup: t.emit([](Thread&, const Inst&) {}); return true;
  default: return false;
  }
}

} // namespace orias::interp
