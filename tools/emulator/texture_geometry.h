#pragma once

#include "tools/launch/texture.h"

#include <cstdint>

namespace orias::emu {

/// Mod::Geometry of textures.
enum TextureGeometry : unsigned { kLine, kPlane, kVolume, kCube, kLineLayers, kPlaneLayers, kUnused, kCubeLayers };

/// The number of coordinates of a geometry, without a layer.
constexpr unsigned coordinatesOf(unsigned geometry) {
  return geometry == kCube || geometry == kCubeLayers ? 3
         : geometry >= kLineLayers                    ? geometry - kLineLayers + 1
                                                      : geometry + 1;
}

/// Whether the instruction can read that texture.
bool isShape(const launch::Texture& texture, unsigned geometry, bool hasSamples);

/// The offset of a coordinate in texels: a signed 4-bit field; for gathers six bits in a byte.
int offsetOf(std::uint32_t packed, unsigned dimension, bool isGathered);

} // namespace orias::emu
