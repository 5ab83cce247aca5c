#pragma once

#include "tools/launch/texture.h"

#include <cstdint>

namespace orias::emu {

/// Mod::Geometry of textures.
enum TextureGeometry : unsigned { kLine, kPlane, kVolume, kCube, kLineLayers, kPlaneLayers, kUnused, kCubeLayers };

/// Coordinates of a geometry, without a layer.
constexpr unsigned coordinatesOf(unsigned geometry) {
  return geometry == kCube || geometry == kCubeLayers ? 3
         : geometry >= kLineLayers                    ? geometry - kLineLayers + 1
                                                      : geometry + 1;
}

/// Can the instruction read that texture?
bool isShape(const launch::Texture& texture, unsigned geometry, bool hasSamples);

/// A coordinate's offset in texels: four bits, signed; of texels that are gathered six, in a byte.
int offsetOf(std::uint32_t packed, unsigned dimension, bool isGathered);

} // namespace orias::emu
