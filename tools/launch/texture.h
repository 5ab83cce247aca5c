#pragma once

#include "tools/launch/memory.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

// Textures and surfaces: how a launch describes them, and how the engines read texels. Both engines share this, for
// what they are compared on is the code around it.

namespace orias::launch {

enum class ElementType : std::uint8_t;

enum class TextureShape : std::uint8_t { Line, Plane, Volume, LineLayers, PlaneLayers };
/// What stands for texels outside. Wrap and Mirror are for normalised coordinates; others are clamped instead.
enum class AddressMode : std::uint8_t { Clamp, Border, Wrap, Mirror };

/// A buffer, or a part of it, as a texture and as a surface.
struct Texture {
  std::string name;
  int buffer = 0;           ///< index into Launch::buffers
  std::uint64_t offset = 0; ///< of the first texel, in bytes
  TextureShape shape = TextureShape::Plane;
  std::array<std::uint32_t, 3> size{1, 1, 1}; ///< texels: width, height, depth
  std::uint32_t layers = 1;
  ElementType type{};
  unsigned channels = 1;   ///< 1, 2 or 4
  std::uint64_t pitch = 0; ///< bytes from row to row
  std::array<AddressMode, 3> address{};
  bool isLinear = false;           ///< filtered; else the nearest texel
  bool hasUnitCoordinates = false; ///< floating-point coordinates go from 0 to 1
  bool readsUnit = false;          ///< integers are read as fractions of the greatest one

  unsigned dimensions() const;
  bool isLayered() const { return shape == TextureShape::LineLayers || shape == TextureShape::PlaneLayers; }
  unsigned texelBytes() const;
  /// All bytes from the first texel to behind the last.
  std::uint64_t bytes() const;
};

/// The four components as bits, of a float or of an integer as the texture's type says. Those that the texture does not
/// have are 0, 0 and 1.
using Texel = std::array<std::uint32_t, 4>;

/// A texture in the memory of a device.
class Texels {
 public:
  Texels(const Texture& texture, Memory& memory, std::uint64_t address)
      : texture_(texture), memory_(memory), address_(address) {}

  /// By integer coordinates; zero outside.
  Texel fetch(const std::array<std::int64_t, 3>& at, std::uint32_t layer) const;
  /// The nearest texel, or filtered: weights have 8 bits behind the point, their sums are rounded once. The weights'
  /// precision is what the CUDA programming guide says of the machine; how it rounds is ours. `shift` moves by texels.
  Texel sample(const std::array<float, 3>& at, std::uint32_t layer, const std::array<int, 3>& shift) const;
  /// One component of the four texels that a filter of a plane would read: lower left, lower right, upper right, upper
  /// left, where y grows downwards.
  Texel gather(const std::array<float, 3>& at, std::uint32_t layer, const std::array<int, 3>& shift,
               unsigned component) const;

  const Texture& texture() const { return texture_; }

  enum class Outside : std::uint8_t { Zero, Clamp, Trap };
  /// Where `bytes` bytes of a surface lie whose x counts bytes. Nothing outside, unless clamped.
  std::optional<std::uint64_t> surfaceAddress(std::array<std::int64_t, 3> at, std::int64_t layer, unsigned bytes,
                                              Outside outside) const;

 private:
  Texel texel(const std::array<std::int64_t, 3>& at, std::uint32_t layer) const;
  std::int64_t resolved(unsigned dimension, std::int64_t at) const;
  double scaled(unsigned dimension, float at) const;
  bool givesFloats() const;

  const Texture& texture_;
  Memory& memory_;
  std::uint64_t address_;
};

} // namespace orias::launch
