#include "test/forms/protocols.h"
#include "test/forms/values.h"

#include <array>

// wmma: the layout of fragments in registers depends on the implementation. Matrices are therefore loaded from memory,
// multiplied and stored; the statement is one of these steps. Each warp is a separate block.

namespace orias::forms {

using ptx::MatrixShape;
using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::StateSpace;
using ptx::Type;

namespace {

/// Bytes of a matrix in memory, with its stride.
constexpr unsigned kArea = 4096;

enum Matrix { kA, kB, kC, kD };
constexpr std::array<std::string_view, 4> kNames{"a", "b", "c", "d"};

/// A product: the types of its matrices, and their layouts in memory.
struct Product {
  MatrixShape shape;
  std::array<Type, 4> types{};
  std::array<bool, 4> byRows{true, false, true, true};

  /// Registers of a fragment: equal shares of the lanes, except that each half of A and B is stored twice.
  unsigned registers(Matrix m) const {
    const unsigned bits = ptx::bitWidth(types[m]);
    if (m <= kB && types[m] == Type::F16) return 8;
    const unsigned elements = m == kA   ? unsigned{shape.m} * shape.k
                              : m == kB ? unsigned{shape.k} * shape.n
                                        : unsigned{shape.m} * shape.n;
    return elements * bits / 32 / (bits == 64 ? 64 : 32);
  }
  std::string shapeText() const { return fmt::format("m{}n{}k{}", shape.m, shape.n, shape.k); }
  static std::string_view layout(bool byRows) { return byRows ? "row" : "col"; }

  std::string opcode() const {
    const auto type = [&](Matrix m) { return ptx::typeName(types[m]); };
    const std::string middle =
        fmt::format("sync.aligned.{}.{}.{}", layout(byRows[kA]), layout(byRows[kB]), shapeText());
    if (types[kA] == Type::F16) return fmt::format("wmma.mma.{}.{}.{}", middle, type(kD), type(kC));
    return fmt::format("wmma.mma.{}{}.{}.{}.{}.{}", types[kA] == Type::B1 ? "xor.popc." : "", middle, type(kD),
                       type(kA), type(kB), type(kC));
  }
};

/// The element type of A and B for a load of C or a store of D.
Type factorOf(Type sum, MatrixShape shape) {
  switch (sum) {
  case Type::S32: return shape.k == 32 ? Type::S4 : shape.k == 128 ? Type::B1 : Type::S8;
  case Type::F32: return shape.k == 8 ? Type::TF32 : Type::F16;
  case Type::F64: return Type::F64;
  default: return Type::F16;
  }
}

Type sumOf(Type factor) {
  switch (factor) {
  case Type::F16:
  case Type::BF16:
  case Type::TF32: return Type::F32;
  case Type::F64: return Type::F64;
  default: return Type::S32;
  }
}

Matrix matrixOf(const ptx::Form& form) {
  if (form.op == Op::WmmaStore) return kD;
  const Mod part = form.get(Slot::Part);
  return part == Mod::A ? kA : part == Mod::B ? kB : kC;
}

Product productOf(const ptx::Form& form) {
  Product p;
  p.shape = form.shape;
  if (form.op == Op::WmmaMma) {
    const bool namesSums = form.typeCount() == 2;
    p.types = namesSums ? std::array{Type::F16, Type::F16, form.type(1), form.type(0)}
                        : std::array{form.type(1), form.type(2), form.type(3), form.type(0)};
    p.byRows[kA] = form.get(Slot::Layout) == Mod::Row;
    p.byRows[kB] = form.get(Slot::LayoutB) == Mod::Row;
    return p;
  }
  const Matrix own = matrixOf(form);
  const Type type = form.type(), factor = own <= kB ? type : factorOf(type, form.shape);
  const Type sum = own <= kB ? sumOf(factor) : type;
  p.types = {factor, factor, sum, sum};
  p.byRows[own] = form.get(Slot::Layout) == Mod::Row;
  return p;
}

class Fragments {
 public:
  explicit Fragments(KernelWriter& w) : w_(w), product_(productOf(w.form())) {}

  void write() {
    w_.block = 32;
    // The distance of rows, or columns, in elements: more than the longest row.
    const unsigned stride = std::max<unsigned>(32, product_.shape.k);
    w_.setSource("stride", stride);
    w_.sources();
    areas();
    for (Matrix m : {kA, kB, kC})
      load(m, stride);
    if (w_.form().op == Op::WmmaMma)
      w_.putStatement();
    else
      w_.put("  {} {}, {}, {}, {};\n", product_.opcode(), list(kD), list(kA), list(kB), list(kC));
    store(stride);
  }

 private:
  /// Sets %x0 to %x3 to the addresses of the warp's matrices.
  void areas() {
    for (Matrix m : {kA, kB, kC, kD}) {
      w_.buffer(fmt::format("matrix_{}", kNames[m]), launch::ElementType::U32,
                m == kD ? std::vector<std::byte>{}
                        : matrixValues(product_.types[m], std::size_t{kArea} * w_.grid, w_.seed() + 2000 + m),
                kArea / 32);
      // The address of the lane's part, minus the parts of the lanes before.
      w_.put("  mul.wide.u32 %half0, %lane, {};\n  sub.u64 %x{}, %at, %half0;\n", kArea / 32, static_cast<int>(m));
      const bool isWide = ptx::bitWidth(product_.types[m]) == 64;
      w_.declare(fmt::format("  .reg .b{} %f{}<{}>;\n", isWide ? 64 : 32, kNames[m], product_.registers(m)));
    }
  }

  /// The registers of a fragment: those of the statement if it has them.
  std::string list(Matrix m) const {
    std::string names;
    const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
    for (const Use& use : w_.statement().uses)
      if (use.role != Role::Address && isOf(use, m)) add(use.name);
    for (unsigned i = 0; names.empty() || i < (fromStatement(m) ? 0 : product_.registers(m)); ++i)
      add(fmt::format("%f{}{}", kNames[m], i));
    return "{" + names + "}";
  }
  bool fromStatement(Matrix m) const {
    for (const Use& use : w_.statement().uses)
      if (use.role != Role::Address && isOf(use, m)) return true;
    return false;
  }
  bool isOf(const Use& use, Matrix m) const {
    if (use.operand == "stride") return false;
    return w_.form().op == Op::WmmaMma ? use.operand == kNames[m] : m == matrixOf(w_.form());
  }

  bool isStatement(Matrix m) const { return w_.form().op != Op::WmmaMma && m == matrixOf(w_.form()); }

  /// Places the matrix according to the statement: in its area, or in shared memory.
  bool placesShared(Matrix m) {
    const std::string& address = w_.use(Role::Address, 0).name;
    const bool isShared = w_.form().space() == StateSpace::Shared;
    if (isShared) {
      w_.shared("matrix", kArea);
      w_.put("  mov.b32 {}, matrix;\n", address);
    } else {
      w_.put("  mov.b64 {}, %x{};\n", address, static_cast<int>(m));
    }
    return isShared;
  }
  void copy(Matrix m, bool toShared) {
    const int area = static_cast<int>(m);
    w_.put("  mov.b32 %w0, matrix;\n  mad.lo.u32 %w0, %lane, 4, %w0;\n  mul.wide.u32 %half0, %lane, 4;\n"
           "  add.u64 %at, %x{}, %half0;\n  bar.warp.sync 0xffffffff;\n",
           area);
    for (unsigned at = 0; at < kArea; at += 128)
      if (toShared)
        w_.put("  ld.global.b32 %w1, [%at+{0}];\n  st.shared.b32 [%w0+{0}], %w1;\n", at);
      else
        w_.put("  ld.shared.b32 %w1, [%w0+{0}];\n  st.global.b32 [%at+{0}], %w1;\n", at);
    w_.put("  bar.warp.sync 0xffffffff;\n");
  }

  void load(Matrix m, unsigned stride) {
    if (isStatement(m)) {
      if (placesShared(m)) copy(m, true);
      w_.putStatement();
      return;
    }
    w_.put("  wmma.load.{}.sync.aligned.{}.{}.global.{} {}, [%x{}], {};\n", kNames[m],
           Product::layout(product_.byRows[m]), product_.shapeText(), ptx::typeName(product_.types[m]), list(m),
           static_cast<int>(m), stride);
  }
  void store(unsigned stride) {
    if (isStatement(kD)) {
      const bool isShared = placesShared(kD);
      // The statement only writes a part of the area that is shown.
      if (isShared) copy(kD, true);
      w_.putStatement();
      if (isShared) copy(kD, false);
      return;
    }
    w_.put("  wmma.store.d.sync.aligned.row.{}.global.{} [%x3], {}, {};\n", product_.shapeText(),
           ptx::typeName(product_.types[kD]), list(kD), stride);
  }

  KernelWriter& w_;
  Product product_;
};

} // namespace

bool writeFragment(KernelWriter& w) {
  const Op op = w.form().op;
  if (op != Op::WmmaLoad && op != Op::WmmaMma && op != Op::WmmaStore) return false;
  Fragments(w).write();
  return true;
}

} // namespace orias::forms
