#pragma once

#include "tools/interpreter/float.h"
#include "tools/interpreter/fragment.h"
#include "tools/interpreter/sparse.h"

#include <optional>
#include <span>

// The arithmetic of mma, wmma.mma and wgmma.mma_async.

namespace orias::interp {

/// D = A B + C. Inst::detail of mma.
struct Product {
  Fragment d, a, b, c;
  ieee::Rounding rounding = ieee::Rounding::NearestEven;
  bool saturates = false;
  bool isXor = false;               ///< for single bits; otherwise and
  bool isNegated = false;           ///< C - A B
  std::optional<Sparsity> sparsity; ///< A then has half of its columns
  /// For mma with a kind: the formats of the elements, which may be narrower than the bytes that contain them.
  ptx::Type elementA = ptx::Type::None, elementB = ptx::Type::None;
  /// Scale factors for the products of groups of elements. Each is a byte of a register of one lane of four.
  struct Scales {
    std::uint32_t data = 0, byte = 0, thread = 0; ///< slots
  };
  unsigned scaleGroups = 0; ///< per row; 0: no scales
  ptx::Type scaleType = ptx::Type::None;
  Scales scalesA, scalesB;
};

/// One element of D: a row of A, a column of B, and the element of C.
std::uint64_t elementOf(const Product& p, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                        std::uint64_t c);
/// D, by rows. `a` by rows, `b` by columns; for a sparse A, `lanes` have the metadata.
Matrix multiplied(Lanes lanes, const Product& p, const Matrix& a, const Matrix& b, const Matrix& c);
/// The sparsity of A from the form and the operands; `metadata` is the index of the metadata operand. Returns nothing
/// if A is dense.
std::optional<Sparsity> sparsityOf(FunctionTranslator& t, ptx::Type a, unsigned metadata);
/// Whether there are products of elements of this type.
bool isMultiplied(ptx::Type type);

} // namespace orias::interp
