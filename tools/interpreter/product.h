#pragma once

#include "tools/interpreter/float.h"
#include "tools/interpreter/fragment.h"

#include <span>

// The arithmetic of mma, wmma.mma and wgmma.mma_async.

namespace orias::interp {

/// D = A B + C. Inst::detail of mma.
struct Product {
  Fragment d, a, b, c;
  ieee::Rounding rounding = ieee::Rounding::NearestEven;
  bool saturates = false;
  bool isXor = false;     ///< of single bits; else and
  bool isNegated = false; ///< C - A B
};

/// One element of D: a row of A, a column of B, and the element of C.
std::uint64_t elementOf(const Product& p, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                        std::uint64_t c);
/// Are there products of elements of this type?
bool isMultiplied(ptx::Type type);

} // namespace orias::interp
