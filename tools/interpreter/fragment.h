#pragma once

#include "tools/interpreter/handlers.h"

#include <span>
#include <vector>

// The distribution of a matrix over the lanes of a warp (PTX manual, fragments of mma and wmma). A fragment is the
// registers of a lane, regarded as a sequence of elements.

namespace orias::interp {

/// Which of the matrices of D = A B + C. D has the layout of C.
enum class Part : std::uint8_t { A, B, C };

struct Fragment {
  Part part = Part::A;
  ptx::Type type = ptx::Type::None; ///< of the elements
  ptx::MatrixShape shape;           ///< of the product
  bool isWmma = false;
  std::span<const std::uint32_t> slots; ///< registers of 32 bits; for f64 and in wmma.*.f64 of 64

  unsigned bits() const { return bitWidth(type); }
  unsigned rows() const { return part == Part::B ? shape.k : shape.m; }
  unsigned columns() const { return part == Part::A ? shape.k : shape.n; }
  /// Values in one register.
  unsigned packed() const { return bits() >= 32 ? 1 : 32 / bits(); }
  unsigned values() const { return packed() * static_cast<unsigned>(slots.size()); }
  /// The element, counted by rows, that is value `value` of a lane.
  unsigned element(unsigned lane, unsigned value) const;
  std::uint64_t get(const Thread& thread, unsigned value) const;
  void put(Thread& thread, unsigned value, std::uint64_t bits) const;
};

/// The elements of a matrix by rows, as bits.
using Matrix = std::vector<std::uint64_t>;

/// Gathers a matrix: `fragmentOf(thread)` is the lane's fragment. Stops the run if a lane is missing.
template <typename F> Matrix gather(Lanes lanes, F fragmentOf) {
  Matrix matrix;
  for (const Thread* t : lanes) {
    if (!t) throw Stop{"unsupported", "a matrix instruction with inactive lanes"};
    const Fragment& f = fragmentOf(*t);
    matrix.resize(std::size_t{f.rows()} * f.columns());
    for (unsigned v = 0; v < f.values(); ++v)
      matrix[f.element(t->lane, v)] = f.get(*t, v);
  }
  return matrix;
}

template <typename F> void scatter(Lanes lanes, const Matrix& matrix, F fragmentOf) {
  for (Thread* t : lanes) {
    const Fragment& f = fragmentOf(*t);
    for (unsigned v = 0; v < f.values(); ++v)
      f.put(*t, v, matrix[f.element(t->lane, v)]);
  }
}

/// Operand `i` as a fragment.
Fragment fragmentOperand(FunctionTranslator& t, unsigned i, Part part, ptx::Type type, bool isResult);

} // namespace orias::interp
