#pragma once

#include "encoder/code.h"
#include "encoder/isa/isa.h"
#include "tools/launch/cluster.h"
#include "tools/launch/launch.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orias::ori {
class Function;
class Module;
struct Instr;
} // namespace orias::ori

namespace orias::emu {

/// The address of `symbol` + `addend` is stored at `offset`.
struct Relocation {
  std::uint64_t offset = 0;  ///< relative to the object that contains it
  unsigned bytes = 8;        ///< 4 or 8
  bool isHigh = false;       ///< 4 bytes: the high half
  bool isDescriptor = false; ///< the descriptor of a kernel, which launches from kernels use, instead of its code
  std::string symbol;
  std::int64_t addend = 0;
};

/// A variable of the module in global or constant memory.
struct Variable {
  std::string name;
  bool isConstant = false;
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
  std::uint64_t offset = 0; ///< constant ones: in bank 3
  std::vector<std::byte> init;
  std::vector<Relocation> relocations;
};

/// The phis at the start of a block: they read all their sources before any writes.
struct PhiGroup {
  struct Phi {
    isa::Operand result;
    std::vector<isa::Operand> values; ///< one for each predecessor; None is undefined
  };
  std::vector<std::uint32_t> predecessors; ///< blocks
  std::vector<Phi> phis;
};

/// One instruction of the code. Labels refer to instructions by index in Program::code (Operand::reg).
struct Instruction {
  isa::Inst inst;
  bool isKnown = true; ///< false: a word that the table cannot decode, or the end of a block without an instruction
  isa::Word word;
  std::int32_t phis = -1;             ///< PHI: index into Program::phis
  std::int32_t targets = -1;          ///< JMX: index into Program::targets
  std::uint32_t block = 0;            ///< Ori: the block
  bool startsBlock = false;           ///< Ori: the first of its block
  bool leavesRestUndefined = false;   ///< Ori: where the guard is false, the results are undefined
  const ori::Instr* origin = nullptr; ///< Ori: null for branches that the loader added
};

class Kernels;

/// Executable code, and the data that a launch requires. SASS and Ori have the same form here: registers are rows of
/// the files of a lane (warp); virtual registers of Ori follow the physical ones.
class Program {
 public:
  std::string kernel;
  const isa::Target* target = nullptr;
  bool isOri = false;
  /// The code has convergence barriers, at which lanes reconverge. Otherwise (Ori before phase 99) they reconverge at
  /// the start of any block.
  bool hasConvergenceBarriers = false;
  /// Products of warp groups are available after a wait; in Ori before allocation, immediately.
  bool hasProductsUnderWay = true;
  std::vector<Instruction> code;
  std::vector<PhiGroup> phis;
  /// The targets of JMX: an instruction for each number.
  std::vector<std::vector<std::uint32_t>> targets;
  /// The first row of each virtual register in its file, and the number of rows of each file.
  std::vector<std::uint32_t> rowOfVReg;
  std::array<std::uint32_t, isa::kFileCount> rows{};

  std::vector<launch::ParameterPlace> parameters;
  /// Words after the parameters with the handles of textures, samplers and surfaces of the module, or of those among
  /// the parameters.
  struct TextureHandleSlot {
    std::uint32_t offset = 0; ///< from the parameter base
    std::string name;
    bool isSampler = false;
    std::optional<std::size_t> argument; ///< the argument with the handle
  };
  std::vector<TextureHandleSlot> handles;
  std::map<std::string, std::uint32_t> handleKinds; ///< kinds of objects by symbol (encoder/isa/texture_table.h)
  launch::ClusterDemands clusters;
  std::uint32_t registers = 0;                         ///< per thread, from the cubin
  std::uint32_t ctaBarriers = encoder::kNamedBarriers; ///< provided by a launch, from the cubin
  std::uint32_t staticShared = 0;                      ///< bytes, without the system's
  std::uint32_t sharedAlignment = 1;
  std::uint32_t localBytes = 0; ///< stack size per thread
  /// Code before phase 101 assumes that its stack pointer is set up, this far below the top.
  std::uint32_t frameBytes = 0;
  std::vector<Variable> variables;
  std::map<std::string, std::uint64_t> sharedVariables; ///< of objects: offsets in shared memory
  std::vector<Relocation> addressTable;                 ///< constant bank 4
  /// Ori: the meaning of symbols by number; unknown if there is no name.
  std::vector<Relocation> symbols;
  std::vector<std::byte> constants2; ///< constant bank 2
  std::vector<Relocation> constants2Relocations;
  /// Claims of uniformity, to be checked during execution: virtual registers (of the files R and P) whose value is the
  /// same in all lanes that read them together, and blocks that all lanes of a warp execute together. By id; empty: no
  /// claims.
  std::vector<bool> uniformRegisters, uniformBlocks;
  std::vector<Relocation> codeRelocations; ///< immediates; offsets count 16 bytes for each instruction
  /// The start of each function of a linked program, in bytes: the kernel at 0, followed by its possible callees.
  std::vector<std::pair<std::string, std::uint64_t>> functions;

  /// All kernels of the file or module, for launches from this one.
  std::shared_ptr<Kernels> kernels;

  /// "kernel+0x120 LDG.E R2, desc[UR4][R2.64]", for messages.
  std::string text(std::size_t index) const;

  /// Null for SASS. text() reads it, so it must not change while the program is in use.
  const ori::Function* function = nullptr;
};

/// The kernels of one file or module. Kernels launched by others are loaded at their launch.
class Kernels {
 public:
  using Load = std::function<Program(const std::string&)>;
  Kernels(std::vector<std::string> names, Load load) : names_(std::move(names)), load_(std::move(load)) {}

  /// Returns nothing if there is no kernel of this name.
  std::optional<std::size_t> indexOf(std::string_view name) const;
  const std::string* nameOf(std::size_t index) const { return index < names_.size() ? &names_[index] : nullptr; }
  /// Thread-safe.
  const Program& program(const std::string& name);

 private:
  std::vector<std::string> names_;
  Load load_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Program>> programs_;
};

/// Loads a kernel of a cubin, ours or ptxas'. An object is accepted if only functions of the driver and of the device
/// runtime are missing. Throws orias::Error if there is no kernel of this name, or for a damaged file.
Program loadCubin(std::span<const std::byte> cubin, std::string_view kernel);

/// Loads a kernel at any phase. The function must not change while the program is in use.
Program loadOri(const ori::Module& module, const ori::Function& function);

} // namespace orias::emu
