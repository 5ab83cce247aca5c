#include "frontend/types.h"

#include "support/check.h"
#include "support/hash.h"

#include <array>
#include <iterator>

namespace orias::ptx {

namespace {

struct TypeInfo {
  std::string_view name;
  std::uint16_t bits;
  TypeClass kind;
};

/// In the order of Type.
constexpr TypeInfo kTypes[] = {
    {"", 0, TypeClass::None},
    {"pred", 1, TypeClass::Predicate},
    {"b8", 8, TypeClass::Bits},
    {"b16", 16, TypeClass::Bits},
    {"b32", 32, TypeClass::Bits},
    {"b64", 64, TypeClass::Bits},
    {"b128", 128, TypeClass::Bits},
    {"u8", 8, TypeClass::Unsigned},
    {"u16", 16, TypeClass::Unsigned},
    {"u32", 32, TypeClass::Unsigned},
    {"u64", 64, TypeClass::Unsigned},
    {"s8", 8, TypeClass::Signed},
    {"s16", 16, TypeClass::Signed},
    {"s32", 32, TypeClass::Signed},
    {"s64", 64, TypeClass::Signed},
    {"f16", 16, TypeClass::Float},
    {"f16x2", 32, TypeClass::Float},
    {"bf16", 16, TypeClass::Float},
    {"bf16x2", 32, TypeClass::Float},
    {"f32", 32, TypeClass::Float},
    {"f32x2", 64, TypeClass::Float},
    {"f64", 64, TypeClass::Float},
    {"tf32", 32, TypeClass::Float},
    {"u16x2", 32, TypeClass::Unsigned},
    {"s16x2", 32, TypeClass::Signed},
    {"u8x4", 32, TypeClass::Unsigned},
    {"s8x4", 32, TypeClass::Signed},
    {"e4m3", 8, TypeClass::Float},
    {"e5m2", 8, TypeClass::Float},
    {"e3m2", 6, TypeClass::Float},
    {"e2m3", 6, TypeClass::Float},
    {"e2m1", 4, TypeClass::Float},
    {"e4m3x2", 16, TypeClass::Float},
    {"e5m2x2", 16, TypeClass::Float},
    {"e2m3x2", 16, TypeClass::Float},
    {"e3m2x2", 16, TypeClass::Float},
    {"e2m1x2", 8, TypeClass::Float},
    {"e4m3x4", 32, TypeClass::Float},
    {"e5m2x4", 32, TypeClass::Float},
    {"e2m3x4", 32, TypeClass::Float},
    {"e3m2x4", 32, TypeClass::Float},
    {"e2m1x4", 16, TypeClass::Float},
    {"ue8m0", 8, TypeClass::Float},
    {"ue4m3", 8, TypeClass::Float},
    {"ue8m0x2", 16, TypeClass::Float},
    {"u4", 4, TypeClass::Unsigned},
    {"s4", 4, TypeClass::Signed},
    {"u2", 2, TypeClass::Unsigned},
    {"s2", 2, TypeClass::Signed},
    {"b1", 1, TypeClass::Bits},
    {"b1024", 1024, TypeClass::Bits},
    {"texref", 64, TypeClass::Opaque},
    {"samplerref", 64, TypeClass::Opaque},
    {"surfref", 64, TypeClass::Opaque},
};
static_assert(std::size(kTypes) == static_cast<std::size_t>(Type::SurfRef) + 1);

const TypeInfo& info(Type type) {
  return kTypes[static_cast<std::size_t>(type)];
}

} // namespace

unsigned bitWidth(Type type) {
  return info(type).bits;
}
TypeClass typeClass(Type type) {
  return info(type).kind;
}
std::string_view typeName(Type type) {
  return info(type).name;
}

namespace {

/// Types by the hash of their names, with open addressing.
constexpr auto kTypePlaces = [] {
  std::array<Type, 256> places{};
  static_assert(2 * std::size(kTypes) < 256);
  for (std::size_t i = 1; i < std::size(kTypes); ++i) {
    std::size_t at = fnv1a(kTypes[i].name) % places.size();
    while (places[at] != Type::None)
      at = (at + 1) % places.size();
    places[at] = static_cast<Type>(i);
  }
  return places;
}();

} // namespace

std::optional<Type> typeFromName(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (std::size_t at = fnv1a(name) % kTypePlaces.size(); kTypePlaces[at] != Type::None;
       at = (at + 1) % kTypePlaces.size())
    if (kTypes[static_cast<std::size_t>(kTypePlaces[at])].name == name) return kTypePlaces[at];
  return std::nullopt;
}

std::string_view spaceName(StateSpace space) {
  switch (space) {
  case StateSpace::None: return "";
  case StateSpace::Reg: return "reg";
  case StateSpace::SReg: return "sreg";
  case StateSpace::Const: return "const";
  case StateSpace::Global: return "global";
  case StateSpace::Local: return "local";
  case StateSpace::Param: return "param";
  case StateSpace::Shared: return "shared";
  case StateSpace::Tex: return "tex";
  }
  ORIAS_UNREACHABLE("no such state space");
}

std::string_view componentName(Component component) {
  constexpr std::string_view kNames[] = {"", "x", "y", "z", "w", "b0", "b1", "b2", "b3", "h0", "h1", "b", "h"};
  return kNames[static_cast<std::size_t>(component)];
}

} // namespace orias::ptx
