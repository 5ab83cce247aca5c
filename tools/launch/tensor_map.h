#pragma once

#include "tools/launch/tensor_fault.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Tensor maps: the 128 bytes that the driver creates for copies of boxes (cp.async.bulk.tensor). Shared by both
// engines, which are compared on the code around it.

namespace orias::launch {

/// A tensor in global memory and how boxes of it are copied.
///
/// The positions of the fields are those in ptxas' code for tensormap.replace. The fields of images, which that
/// instruction cannot write, have positions of our own after them. For the meaning of the fields see the PTX manual,
/// "Tensors".
struct TensorMap {
  static constexpr std::size_t kBytes = 128;
  static constexpr unsigned kMaxDimensions = 5, kMaxSpatial = 3;

  /// Numbered as in tensormap.replace.
  enum class Type : std::uint8_t { U8, U16, U32, S32, U64, S64, F16, F32, F32Ftz, F64, BF16, TF32, TF32Ftz };

  /// What a copy accesses: a box (.tile), four rows of a matrix (.tile::gather4, .tile::scatter4), pixels of an image
  /// (.im2col), or those of its rows only (.im2col::w, .im2col::w::128).
  enum class Mode : std::uint8_t { Box, FourRows, Image, Width, Width128 };

  std::uint64_t address = 0;
  Type type = Type::U32;
  unsigned rank = 1;                                                 ///< 1 to 5
  std::array<std::uint64_t, kMaxDimensions> size{1, 1, 1, 1, 1};     ///< elements, the innermost dimension first
  std::array<std::uint64_t, kMaxDimensions - 1> stride{};            ///< bytes from the second dimension on
  std::array<unsigned, kMaxDimensions> box{1, 1, 1, 1, 1};           ///< elements that a copy spans
  std::array<unsigned, kMaxDimensions> elementStride{1, 1, 1, 1, 1}; ///< stride between copied elements
  unsigned interleave = 0;                                           ///< 0 none, 1 16 bytes, 2 32 bytes
  unsigned swizzle = 0;                                              ///< 0 none, 1 32, 2 64, 3 128 bytes
  unsigned swizzleAtomicity = 0;                                     ///< 0 16 bytes; others are not modeled
  bool fillsNan = false;                                             ///< the value of elements outside
  Mode mode = Mode::Box; ///< Image, Width and Width128 use the fields below, and no box; FourRows is for Box maps
  std::array<int, kMaxSpatial> lower{}, upper{}; ///< corners of the pixels' bounding box
  unsigned channels = 1, pixels = 1;             ///< of a copy

  std::array<std::byte, kBytes> encode() const;
  static TensorMap decode(std::span<const std::byte, kBytes> bytes);

  unsigned elementBytes() const;
  /// An element as a copy to shared memory writes it: subnormals flushed or converted to tf32, depending on the type.
  std::uint64_t loaded(std::uint64_t bits) const;
  /// The value of an element outside of the tensor.
  std::uint64_t outside() const;

  /// An element of a copy.
  struct Element {
    std::optional<std::uint64_t> global; ///< its address; none if it is outside
    std::uint64_t shared = 0;            ///< its address in shared memory
  };
  /// Why a copy of this mode is not possible with the map; nothing if it is. `coordinates`: their number. `offsets`: as
  /// for elements().
  std::optional<TensorFault> fault(Mode copy, std::size_t coordinates, std::span<const unsigned> offsets) const;
  /// The elements of a valid copy, in shared memory from `shared` on. Box: `at` are the coordinates, the innermost
  /// first. FourRows: `at` is the column, then the rows. Image: the pixels from `at` on, each moved by `offsets`. Width
  /// modes: pixels of rows only; `offsets` are wHalo and wOffset (PTX manual, "im2col::w and im2col::w::128 modes").
  /// Missing offsets are 0.
  std::vector<Element> elements(Mode copy, std::span<const std::int64_t> at, std::span<const unsigned> offsets,
                                std::uint64_t shared) const;

 private:
  bool isAlongWidth() const { return mode == Mode::Width || mode == Mode::Width128; }
  std::optional<std::uint64_t> addressOf(std::span<const std::int64_t> at) const;
  std::uint64_t swizzled(std::uint64_t shared) const;
};

} // namespace orias::launch
