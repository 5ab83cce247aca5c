#pragma once

#include "ori/function.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orias::isa {
class Target;
}

namespace orias::ori {

enum class Linkage : std::uint8_t { Local, Global, Weak, Common, External };
/// Shared variables are listed only in relocatable modules; otherwise lowering lays them out per kernel.
enum class Space : std::uint8_t { Global, Const, Shared };

/// "Write the address of `symbol` + `addend` here": a relocation in the initial bytes of a variable.
struct DataRelocation {
  std::uint32_t offset = 0;
  std::uint32_t size = 8; ///< 4 or 8 bytes
  std::uint32_t symbol = 0;
  std::int64_t addend = 0;
  bool generic = false; ///< generic() address rather than the address in the symbol's space
};

/// A variable in global or constant memory, or in the shared memory of relocatable code.
struct Variable {
  std::string name;
  Linkage linkage = Linkage::Local;
  Space space = Space::Global;
  bool managed = false; ///< the host may access it, too: `.attribute(.managed)`
  std::uint32_t align = 1;
  std::uint64_t size = 0;
  std::vector<std::uint8_t> init; ///< empty = zero
  std::vector<DataRelocation> relocations;
  std::int64_t constOffset = -1; ///< offset in constant bank 3, for Space::Const
  std::string owner;             ///< the kernel that owns the shared variable; empty: the module
};

/// An object with an address that code and data refer to.
struct Symbol {
  enum class Kind : std::uint8_t {
    Variable,
    Function,
    ExternFunction,
    DriverWord, ///< a 32-bit number that the driver writes where it is referred to
    Texture,    ///< of the module, or a parameter; the host program binds it
    Sampler,
    Surface
  } kind = Kind::Variable;
  std::string name;
  std::uint32_t index = 0; ///< into Module::variables or Module::functions
  Linkage linkage = Linkage::Global;
  bool isEntry = false; ///< for an ExternFunction: a kernel, whose references use its descriptor

  bool isHandle() const { return kind == Kind::Texture || kind == Kind::Sampler || kind == Kind::Surface; }
};

/// The initial state of a sampler in the module.
struct SamplerStart {
  static constexpr std::uint8_t kNotSaid = 0xff;
  std::uint32_t symbol = 0;
  std::uint8_t addressModes[3] = {kNotSaid, kNotSaid, kNotSaid}; ///< in the order of the PTX manual
  std::uint8_t filter = kNotSaid;                                ///< 0: the nearest texel, 1: linear
  std::optional<bool> forcesUnnormalized;
};

/// The name of the symbol of a texture, sampler or surface that is a parameter of the kernel.
inline std::string parameterSymbol(std::string_view kernel, std::string_view parameter) {
  return std::string(kernel) + "::" + std::string(parameter);
}

struct LocEntry {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

class Module {
 public:
  explicit Module(const isa::Target& target) : target_(&target) {}
  const isa::Target& target() const { return *target_; }

  Function& newFunction(std::string name, bool isKernel);
  Function* findFunction(std::string_view name) const;

  /// Byte offset in constant bank 4 of an 8-byte slot that the loader fills with the address of `symbol`:
  /// c[0x4][offset].
  std::uint32_t addressSlot(std::uint32_t symbol);

  std::vector<std::unique_ptr<Function>> functions;
  std::vector<Variable> variables;
  std::vector<Symbol> symbols;
  std::vector<std::uint32_t> addressSlots; ///< symbol ids, slot i at c[0x4][8 * i]
  std::vector<SamplerStart> samplers;
  /// Textures and samplers are separate (`texmode_independent`).
  bool hasIndependentSamplers = false;
  std::vector<LocEntry> locs;
  std::vector<std::string> files;
  /// The code will be linked: addresses are symbols, and functions follow the ABI.
  bool relocatable = false;
  std::uint32_t ptxVersionMajor = 0;
  std::uint32_t ptxVersionMinor = 0;

 private:
  const isa::Target* target_;
};

} // namespace orias::ori
