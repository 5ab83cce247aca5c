#pragma once

#include "frontend/types.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace orias::ptx {

/// The predefined read-only registers, `%tid` and so on. Families are numbered: EnvReg + 5 is `%envreg5`.
enum class SpecialRegister : std::uint16_t {
#define ORIAS_SPECIAL_REGISTER(id, name, count, type, vector, major, minor, sm) id, id##Last = id + count - 1,
#include "frontend/special_registers.def"
#undef ORIAS_SPECIAL_REGISTER
};

struct SpecialRegisterInfo {
  std::string_view name; ///< with the `%`; for a family the part before the number
  std::uint8_t count;    ///< members of the family, 1 for a single register
  Type type;
  std::uint8_t vectorSize; ///< 4 for `%tid`, whose components are `.x .y .z .w`
  std::uint8_t major;      ///< lowest `.version`
  std::uint8_t minor;
  std::uint16_t sm; ///< lowest target
};

/// For a register, or for its family.
const SpecialRegisterInfo& specialRegisterInfo(SpecialRegister reg);

/// The register with this name (`%tid`, without component), if there is one.
std::optional<SpecialRegister> findSpecialRegister(std::string_view name);

} // namespace orias::ptx
