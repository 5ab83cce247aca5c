#pragma once

#include "tools/launch/memory.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

// Textures and surfaces: how a launch describes them, and how the engines read texels. Shared by both engines, which
// are compared on the code around it.

namespace orias::launch {

enum class ElementType : std::uint8_t;

enum class TextureShape : std::uint8_t {
  Line,
  Plane,
  Volume,
  LineLayers,
  PlaneLayers,
  Cube,
  CubeLayers,
  Samples,     ///< a plane of texels with several samples each
  SampleLayers ///< layers of such planes
};
/// The value of texels outside. Wrap and Mirror require normalized coordinates; otherwise coordinates are clamped.
enum class AddressMode : std::uint8_t { Clamp, Border, Wrap, Mirror };
/// The comparison of the instruction's value with a texel; the result is 1 if it holds.
enum class Comparison : std::uint8_t { Less, Equal, LessEqual, Greater, NotEqual, GreaterEqual };

/// The filter settings of a separate sampler (texmode_independent).
struct Sampler {
  std::string name;
  std::array<AddressMode, 3> address{};
  bool isLinear = false;
  bool forcesUnnormalized = false; ///< coordinates count texels, regardless of the texture
  Comparison comparison = Comparison::LessEqual;
};

/// A buffer, or a part of it, as a texture and as a surface.
struct Texture {
  std::string name;
  int buffer = 0;           ///< index into Launch::buffers
  std::uint64_t offset = 0; ///< of the first texel, in bytes
  TextureShape shape = TextureShape::Plane;
  std::array<std::uint32_t, 3> size{1, 1, 1}; ///< texels: width, height, depth
  std::uint32_t layers = 1;                   ///< for cubes: number of cubes
  std::uint32_t samples = 1;                  ///< per texel; consecutive in memory
  std::uint32_t levels = 1;                   ///< each has half the dimensions of the previous one, and follows it
  ElementType type{};
  unsigned channels = 1;   ///< 1, 2 or 4
  std::uint64_t pitch = 0; ///< bytes between rows of the first level
  std::array<AddressMode, 3> address{};
  bool isLinear = false;           ///< filtered; else the nearest texel
  bool hasUnitCoordinates = false; ///< floating-point coordinates range from 0 to 1
  bool readsUnit = false;          ///< integers are read as fractions of the maximum
  Comparison comparison = Comparison::LessEqual;

  unsigned dimensions() const;
  bool isLayered() const;
  bool isCube() const { return shape == TextureShape::Cube || shape == TextureShape::CubeLayers; }
  bool hasSamples() const { return shape == TextureShape::Samples || shape == TextureShape::SampleLayers; }
  unsigned texelBytes() const;
  /// Planes of one level: layers, and the faces of cubes.
  std::uint32_t planes() const { return layers * (isCube() ? 6 : 1); }
  std::array<std::uint32_t, 3> levelSize(unsigned level) const;
  /// Bytes between rows.
  std::uint64_t levelPitch(unsigned level) const;
  /// The size in bytes from the first texel to the end of the last.
  std::uint64_t bytes() const;
  /// A copy with the settings of the sampler. Integers are not filtered.
  Texture with(const Sampler& sampler) const;
};

/// The four components as bits, of a float or an integer depending on the texture's type. Missing components are 0, 0
/// and 1.
using Texel = std::array<std::uint32_t, 4>;

/// A texture in the memory of a device.
class Texels {
 public:
  Texels(const Texture& texture, Memory& memory, std::uint64_t address)
      : texture_(texture), memory_(memory), address_(address) {}

  /// The location that an instruction accesses.
  struct Place {
    std::array<float, 3> at{}; ///< for a cube: a direction
    std::uint32_t layer = 0;
    std::array<int, 3> shift{}; ///< in texels
    float level = 0;            ///< the nearest one is used
    std::optional<float>
        reference; ///< compared with the first component of each texel; the results, 1 or 0, are filtered
  };

  /// By integer coordinates; zero outside.
  Texel fetch(const std::array<std::int64_t, 3>& at, std::uint32_t layer, std::int64_t level = 0,
              std::uint32_t sample = 0) const;
  /// The nearest or the filtered texel. Weights have 8 fractional bits, and the sum is rounded once. The precision of
  /// the weights is from the CUDA programming guide; the rounding is our choice.
  Texel sample(const Place& place) const;
  /// One component of the four texels that a bilinear filter would read: lower left, lower right, upper right, upper
  /// left, where y grows downwards.
  Texel gather(const Place& place, unsigned component) const;
  /// The level of detail for derivatives of the coordinates at `at` by x and by y, as OpenGL defines it: from the
  /// longer of the two in texels. For a cube they are differences to the neighbors, on the face that `at` intersects.
  float levelFor(const std::array<float, 3>& at, std::span<const float> byX, std::span<const float> byY) const;

  const Texture& texture() const { return texture_; }

  enum class Outside : std::uint8_t { Zero, Clamp, Trap };
  /// The address of `bytes` bytes of a surface; x counts bytes. Returns nothing if they are outside and not clamped.
  std::optional<std::uint64_t> surfaceAddress(std::array<std::int64_t, 3> at, std::int64_t layer, unsigned bytes,
                                              Outside outside) const;
  /// The bytes of a texel made of `components`, as many as the texture has: rounded to its format, clamped to its
  /// range. Missing components are 0.
  std::array<std::byte, 16> packed(std::span<const std::uint32_t> components) const;

 private:
  /// Coordinates in texels, and the plane.
  struct Found {
    std::array<double, 3> at{};
    std::uint32_t plane = 0;
    unsigned level = 0;
  };
  Found find(const Place& place) const;
  Texel texel(const std::array<std::int64_t, 3>& at, std::uint32_t plane, unsigned level) const;
  Texel texelOrBorder(std::array<std::int64_t, 3> at, const Found& found, const Place& place) const;
  /// -1: outside, without a value.
  std::int64_t resolved(unsigned dimension, std::int64_t at, unsigned level) const;
  bool compares(float reference, float texel) const;
  bool givesFloats() const;

  const Texture& texture_;
  Memory& memory_;
  std::uint64_t address_;
};

} // namespace orias::launch
