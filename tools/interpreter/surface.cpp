#include "tools/interpreter/access.h"
#include "tools/interpreter/texture_access.h"
#include "tools/launch/element.h"

#include <array>
#include <fmt/format.h>
#include <optional>

// suld.b, sust and sured on surfaces of a launch, by handles in registers.

namespace orias::interp {

using launch::Texels;
using ptx::Form;
using ptx::Mod;
using ptx::Type;

namespace {

/// Inst::detail.
struct SurfaceAccess {
  TexelAddress address;
  std::span<const std::uint32_t> values; ///< loaded, stored or reduced
  Type type = Type::B32;                 ///< of one element
  bool countsTexels = false;             ///< .p: the first coordinate counts texels, and data have the texel format
  Mod action = Mod::None;
  Texels::Outside outside = Texels::Outside::Trap;
};

const SurfaceAccess& accessOf(const Inst& i) {
  return *static_cast<const SurfaceAccess*>(i.detail);
}

/// Returns nothing if the access is outside of the surface and ignored.
std::optional<std::uint64_t> addressIn(const Thread& t, const SurfaceAccess& access, const Texels& surface,
                                       unsigned bytes) {
  const Coordinates where = coordinatesOf(t, access.address);
  auto at = where.integers();
  if (access.countsTexels) at[0] *= surface.texture().texelBytes();
  const auto found = surface.surfaceAddress(at, static_cast<std::int32_t>(where.layer), bytes, access.outside);
  if (!found && access.outside == Texels::Outside::Trap) throw Stop{"trap", "outside the surface"};
  return found;
}

void loadSurface(Thread& t, const Inst& i) {
  const SurfaceAccess& access = accessOf(i);
  const unsigned each = bitWidth(access.type) / 8;
  const auto from =
      addressIn(t, access, texelsOf(t, access.address), static_cast<unsigned>(access.values.size()) * each);
  for (std::size_t k = 0; k < access.values.size(); ++k) {
    std::uint64_t value = 0;
    if (from) load(t, Space::Global, *from + k * each, std::as_writable_bytes(std::span(&value, 1)).first(each));
    t.r[access.values[k]] = value;
  }
}

void storeSurface(Thread& t, const Inst& i) {
  const SurfaceAccess& access = accessOf(i);
  const unsigned each = bitWidth(access.type) / 8;
  const auto to = addressIn(t, access, texelsOf(t, access.address), static_cast<unsigned>(access.values.size()) * each);
  if (!to) return;
  for (std::size_t k = 0; k < access.values.size(); ++k)
    store(t, Space::Global, *to + k * each, std::as_bytes(std::span(&t.r[access.values[k]], 1)).first(each));
}

void storeTexel(Thread& t, const Inst& i) {
  const SurfaceAccess& access = accessOf(i);
  const Texels surface = texelsOf(t, access.address);
  const unsigned bytes = surface.texture().texelBytes();
  const auto to = addressIn(t, access, surface, bytes);
  if (!to) return;
  std::array<std::uint32_t, 4> components{};
  for (std::size_t k = 0; k < access.values.size(); ++k)
    components[k] = get<std::uint32_t>(t, access.values[k]);
  const auto packed = surface.packed(std::span(components).first(access.values.size()));
  store(t, Space::Global, *to, std::span(packed).first(bytes));
}

/// `isSigned`: for minimum and maximum.
std::uint64_t combined(Mod action, bool isSigned, unsigned bits, std::uint64_t old, std::uint64_t value) {
  const unsigned above = 64 - bits;
  const auto asSigned = [&](std::uint64_t v) { return static_cast<std::int64_t>(v << above) >> above; };
  const bool isLess = isSigned ? asSigned(value) < asSigned(old) : value << above < old << above;
  switch (action) {
  case Mod::Min: return isLess ? value : old;
  case Mod::Max: return isLess ? old : value;
  case Mod::And: return old & value;
  case Mod::Or: return old | value;
  default: return old + value;
  }
}

void reduceSurface(Thread& t, const Inst& i) {
  const SurfaceAccess& access = accessOf(i);
  const Texels surface = texelsOf(t, access.address);
  const unsigned bits = bitWidth(access.type);
  const auto at = addressIn(t, access, surface, bits / 8);
  if (!at) return;
  // .b32 and .b64 have the signedness of the texels.
  const ptx::TypeClass kind = typeClass(access.type);
  const bool isSigned =
      kind == ptx::TypeClass::Signed || (access.countsTexels && launch::isSigned(surface.texture().type));
  std::uint64_t cell = 0;
  load(t, Space::Global, *at, std::as_writable_bytes(std::span(&cell, 1)).first(bits / 8));
  cell = combined(access.action, isSigned, bits, cell, t.r[access.values[0]]);
  store(t, Space::Global, *at, std::as_bytes(std::span(&cell, 1)).first(bits / 8));
}

std::optional<SurfaceAccess> accessTo(FunctionTranslator& t, unsigned addressOperand) {
  const Form& f = t.form();
  const auto address = addressOf(t, t.operand(addressOperand), Type::S32);
  if (!address) return std::nullopt;
  SurfaceAccess access;
  access.address = *address;
  access.type = f.type();
  access.countsTexels = f.has(Mod::P);
  access.outside = f.mode() == Mod::Clamp  ? Texels::Outside::Clamp
                   : f.mode() == Mod::Zero ? Texels::Outside::Zero
                                           : Texels::Outside::Trap;
  return access;
}

} // namespace

bool translateSurfaceAccess(FunctionTranslator& t, bool isLoad) {
  auto access = accessTo(t, isLoad ? 1 : 0);
  if (!access) return false;
  access->values = isLoad ? t.defs(0, access->type) : t.uses(1, access->type);
  t.emit(isLoad ? &loadSurface : access->countsTexels ? &storeTexel : &storeSurface).detail = t.keep(*access);
  return true;
}

bool translateSurfaceReduction(FunctionTranslator& t) {
  auto access = accessTo(t, 0);
  if (!access) return false;
  access->values = t.uses(1, access->type);
  access->action = t.form().action();
  t.emit(&reduceSurface).detail = t.keep(*access);
  return true;
}

} // namespace orias::interp
