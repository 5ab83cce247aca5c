#pragma once

#include "tools/launch/texture.h"

#include <optional>
#include <string_view>

namespace orias::launch {

/// One of the driver functions for sm_90 that read textures with derivatives that no instruction supports. Each has the
/// name of a PTX instruction: __cuda_syscall_tex_grad_3d_v4_f32_f32. The locations of arguments and results were
/// observed in ptxas' calls: the handle in R4 and R5, the comparison value in R6, the layer and the coordinates from R8
/// on, their derivatives by x from R12 on, those by y on the stack, followed by the offsets. The result is the
/// residency in R4 and the texel from R5 on.
struct GradientFunction {
  TextureShape shape = TextureShape::Plane;
  bool hasPredicate = false; ///< the residency is used
  bool givesHalves = false;
  bool hasSampler = false; ///< a separate handle in place of the comparison value, which is then on the stack
  bool hasOffset = false, hasReference = false;

  static constexpr unsigned kReference = 2, kSampler = 2, kCoordinates = 4, kByX = 8; ///< words from R4 on
  static constexpr unsigned kByY = 0, kOffsets = 16; ///< bytes from the stack pointer on
  /// The offset of the comparison value on the stack, if there is a sampler.
  unsigned referenceOnStack() const { return hasOffset ? 32 : 16; }
  static constexpr unsigned kTexel = 1, kResultWords = 5; ///< words from R4 on

  /// Nothing for another name.
  static std::optional<GradientFunction> named(std::string_view name);
};

} // namespace orias::launch
