#include "tools/interpreter/sparse.h"

#include <fmt/format.h>

namespace orias::interp {

namespace {

using ptx::Type;

constexpr unsigned kRows = 16; ///< of a warp

/// The location of the four bits of a chunk: the lane, and the bit position in its register.
struct MetadataPlace {
  unsigned lane, shift;
};

/// The location for chunk `chunk` of `chunks` in each row.
MetadataPlace placeOf(const Sparsity& s, unsigned chunks, unsigned row, unsigned chunk) {
  const unsigned four = row % 8 * 4, isUpper = row / 8;
  if (bitWidth(s.type) >= 16) {
    // A register half for each of two rows. Four chunks require one lane, eight require two.
    const unsigned first = chunks == 4 ? s.selector : 2 * s.selector;
    return {four + first + chunk / 4, 16 * isUpper + 4 * (chunk % 4)};
  }
  // A register for one row, the next lane's for the other. Sixteen chunks require all four.
  return {four + 2 * s.selector + isUpper + chunk / 8 * 2, 4 * (chunk % 8)};
}

} // namespace

std::vector<unsigned> columnsOf(Lanes lanes, const Sparsity& s) {
  const unsigned bits = bitWidth(s.type), elements = bits == 32 ? 2 : bits == 4 ? 8 : 4, chunks = s.depth / elements;
  std::vector<unsigned> columns;
  columns.reserve(std::size_t{kRows} * s.depth / 2);
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      const MetadataPlace at = placeOf(s, chunks, row, chunk);
      if (!lanes[at.lane]) throw Stop{"unsupported", "a matrix instruction with inactive lanes"};
      const unsigned code = static_cast<unsigned>(lanes[at.lane]->r[s.slot] >> at.shift & 0xf);
      const unsigned first = code & 3, second = code >> 2, begin = chunk * elements;
      const bool isDefined =
          s.type == Type::TF32 ? code == 0b0100 || code == 0b1110 : first != second && (!s.isOrdered || first < second);
      if (!isDefined)
        throw Stop{"metadata", fmt::format("row {}, columns from {}: {:#06b} is undefined", row, begin, code)};
      if (s.type == Type::TF32) {
        columns.push_back(begin + first / 2);
        continue;
      }
      const unsigned neighbors = elements / 4;
      for (const unsigned place : {first, second})
        for (unsigned n = 0; n < neighbors; ++n)
          columns.push_back(begin + place * neighbors + n);
    }
  return columns;
}

} // namespace orias::interp
