#include "frontend/check_instr_rules.h"

#include <fmt/format.h>

#include <string_view>

// Modifiers and types that are newer than their instruction. Versions: the PTX manual's notes of each instruction, and
// ptxas' messages for older files.

namespace orias::ptx {

namespace {

bool isRelaxedArrivalOrWait(const Form& form) {
  switch (form.op) {
  case Op::MbarrierArrive:
  case Op::MbarrierArriveDrop:
  case Op::MbarrierTestWait:
  case Op::MbarrierTryWait: return form.has(Mod::Relaxed);
  default: return false;
  }
}

bool isOrderedClusterBarrier(const Form& form) {
  const bool isBarrier = form.op == Op::BarrierClusterArrive || form.op == Op::BarrierClusterWait;
  return isBarrier && (form.has(Mod::Release) || form.has(Mod::Relaxed) || form.has(Mod::Acquire));
}

bool isOrderedSparseProduct(const Form& form) {
  return form.op == Op::Mma && form.has(Mod::SpOrdered);
}

bool isMixedGroupProduct(const Form& form) {
  return form.op == Op::WgmmaMmaAsync && form.type(0) == Type::S32 && form.type(1) != form.type(2);
}

bool isWideSystemAccess(const Form& form) {
  return form.type() == Type::B128 && form.scope() == Mod::Sys;
}

/// From f32 to halves, pairs of them and tf32.
bool isFiniteConversion(const Form& form) {
  if (form.op != Op::Cvt || !form.has(Mod::Satfinite) || form.type(1) != Type::F32) return false;
  const Type to = form.type(0);
  return to == Type::F16 || to == Type::BF16 || to == Type::F16x2 || to == Type::BF16x2 || to == Type::TF32;
}

bool isByteFloatConversion(const Form& form) {
  const auto isPair = [](Type type) { return type == Type::E4M3x2 || type == Type::E5M2x2; };
  return form.op == Op::Cvt && (isPair(form.type(0)) || isPair(form.type(1)));
}

struct Later {
  bool (*has)(const Form& form);
  Version version;
  std::string_view what;
};

constexpr Later kLater[] = {
    {isOrderedClusterBarrier, {8, 0}, "memory ordering of barrier.cluster"},
    {isFiniteConversion, {8, 1}, ".satfinite on cvt"},
    {isMixedGroupProduct, {8, 4}, "WGMMA with mixed integer types"},
    {isWideSystemAccess, {8, 4}, ".b128 with .sys"},
    {isOrderedSparseProduct, {8, 5}, ".sp::ordered_metadata"},
    {isRelaxedArrivalOrWait, {8, 6}, ".relaxed on mbarrier"},
};

} // namespace

std::string checkFormVersion(const Module& module, const Form& form) {
  for (const Later& later : kLater)
    if (module.version < later.version && later.has(form))
      return fmt::format("Feature '{}' requires PTX ISA .version {}.{} or later", later.what, later.version.major,
                         later.version.minor);
  constexpr Version kSm89Has{8, 1};
  if (module.version < kSm89Has && module.target.arch.number < 90 && isByteFloatConversion(form))
    return "Feature 'cvt with .e4m3x2/.e5m2x2' requires .target sm_90 or higher";
  return {};
}

} // namespace orias::ptx
