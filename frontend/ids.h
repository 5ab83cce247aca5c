#pragma once

#include <cstdint>
#include <limits>

namespace orias::ptx {

// Everything in a ptx::Module is identified by a dense 32-bit number. Names, opcodes, variables, functions, prototypes
// and debug locations count per module; registers, labels and statements per function.
inline constexpr std::uint32_t kNoId = std::numeric_limits<std::uint32_t>::max();

enum class NameId : std::uint32_t { None = kNoId };       ///< an interned string: Module::names
enum class OpcodeId : std::uint32_t { None = kNoId };     ///< a distinct full opcode: Module::opcodes
enum class VariableId : std::uint32_t { None = kNoId };   ///< Module::variables, of module scope and of functions
enum class FunctionId : std::uint32_t { None = kNoId };   ///< Module::functions
enum class PrototypeId : std::uint32_t { None = kNoId };  ///< Module::prototypes
enum class TargetListId : std::uint32_t { None = kNoId }; ///< Module::targetLists
enum class DebugLocId : std::uint32_t { None = kNoId };   ///< Module::debugLocs
enum class RegisterId : std::uint32_t { None = kNoId };   ///< Function::registers
enum class LabelId : std::uint32_t { None = kNoId };      ///< Function::labels

template <typename Id> constexpr std::uint32_t index(Id id) {
  return static_cast<std::uint32_t>(id);
}

} // namespace orias::ptx
