#include "tools/launch/gradient_function.h"

#include <utility>

namespace orias::launch {

namespace {

bool take(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

} // namespace

std::optional<GradientFunction> GradientFunction::named(std::string_view name) {
  constexpr std::pair<std::string_view, TextureShape> kShapes[] = {
      {"1d_", TextureShape::Line},         {"2d_", TextureShape::Plane},        {"3d_", TextureShape::Volume},
      {"a1d_", TextureShape::LineLayers},  {"a2d_", TextureShape::PlaneLayers}, {"cube_", TextureShape::Cube},
      {"acube_", TextureShape::CubeLayers}};
  GradientFunction function;
  if (!take(name, "__cuda_syscall_tex_grad_")) return std::nullopt;
  function.hasPredicate = take(name, "pred_");
  bool isKnown = false;
  for (const auto& [text, shape] : kShapes)
    if (!isKnown && take(name, text)) {
      function.shape = shape;
      isKnown = true;
    }
  if (!isKnown || !take(name, "v4_")) return std::nullopt;
  function.givesHalves = name.starts_with("f16_");
  if (!take(name, "f16_") && !take(name, "f32_") && !take(name, "u32_") && !take(name, "s32_")) return std::nullopt;
  if (!take(name, "f32")) return std::nullopt;
  function.hasSampler = take(name, "_texmode_independent");
  function.hasOffset = take(name, "_offset");
  function.hasReference = take(name, "_depth_compare");
  if (!name.empty()) return std::nullopt;
  return function;
}

} // namespace orias::launch
