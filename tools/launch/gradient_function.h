#pragma once

#include "tools/launch/texture.h"

#include <optional>
#include <string_view>

namespace orias::launch {

/// One of the functions by which the driver of sm_90 reads textures by derivatives that no instruction takes. Each has
/// the name of a PTX instruction: __cuda_syscall_tex_grad_3d_v4_f32_f32. Where arguments and results are, was observed
/// in ptxas' calls: the handle in R4 and R5, the value to compare with in R6, the layer and the coordinates from R8 on,
/// their derivatives by x from R12 on, those by y on the stack, the offsets behind them; the answer whether all was
/// there in R4, the texel from R5 on.
struct GradientFunction {
  TextureShape shape = TextureShape::Plane;
  bool hasPredicate = false; ///< somebody asks for that answer
  bool givesHalves = false;
  bool hasSampler = false; ///< a handle of its own where the value to compare with would be, which is on the stack then
  bool hasOffset = false, hasReference = false;

  static constexpr unsigned kReference = 2, kSampler = 2, kCoordinates = 4, kByX = 8; ///< words from R4 on
  static constexpr unsigned kByY = 0, kOffsets = 16; ///< bytes from the stack pointer on
  /// That of the value to compare with, beside a sampler.
  unsigned referenceOnStack() const { return hasOffset ? 32 : 16; }
  static constexpr unsigned kTexel = 1, kResultWords = 5; ///< words from R4 on

  /// Nothing for another name.
  static std::optional<GradientFunction> named(std::string_view name);
};

} // namespace orias::launch
