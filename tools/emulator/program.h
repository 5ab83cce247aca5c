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

/// "The address of `symbol` + `addend` stands here."
struct Relocation {
  std::uint64_t offset = 0;  ///< from the start of the thing that it belongs to
  unsigned bytes = 8;        ///< 4 or 8
  bool isHigh = false;       ///< 4 bytes: the high half
  bool isDescriptor = false; ///< of a kernel, by which launches from kernels name it, instead of its code
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

/// One instruction of the code. Labels name instructions by their place in Program::code (Operand::reg).
struct Instruction {
  isa::Inst inst;
  bool isKnown = true; ///< false: a word that the table cannot decode, or the end of a block that has none
  isa::Word word;
  std::int32_t phis = -1;             ///< PHI: index into Program::phis
  std::int32_t targets = -1;          ///< JMX: index into Program::targets
  std::uint32_t block = 0;            ///< Ori: the block
  bool startsBlock = false;           ///< Ori: the first of its block
  bool leavesRestUndefined = false;   ///< Ori: where the guard is false, the results are undefined
  const ori::Instr* origin = nullptr; ///< Ori: null for branches that the loader added
};

class Kernels;

/// Code that the machine can run, and what a launch has to know about it. SASS and Ori look the same here: registers
/// are rows of the lane's (warp's) files; those of Ori that are virtual follow the physical ones.
class Program {
 public:
  std::string kernel;
  const isa::Target* target = nullptr;
  bool isOri = false;
  /// There are convergence barriers in the code: lanes meet at those. Otherwise (Ori before phase 99) they meet at the
  /// start of any block.
  bool hasConvergenceBarriers = false;
  /// Products of warp groups are there when they are waited for; in Ori before allocation, at once.
  bool hasProductsUnderWay = true;
  std::vector<Instruction> code;
  std::vector<PhiGroup> phis;
  /// Where JMX goes: an instruction for each number.
  std::vector<std::vector<std::uint32_t>> targets;
  /// The first row of each virtual register in its file, and the number of rows of each file.
  std::vector<std::uint32_t> rowOfVReg;
  std::array<std::uint32_t, isa::kFileCount> rows{};

  std::vector<launch::ParameterPlace> parameters;
  /// Words behind the parameters with the handles of textures, samplers and surfaces of the module, or of those among
  /// the parameters.
  struct HandleWord {
    std::uint32_t offset = 0; ///< from the parameter base
    std::string name;
    bool isSampler = false;
    std::optional<std::size_t> argument; ///< that passes it
  };
  std::vector<HandleWord> handles;
  std::map<std::string, std::uint32_t> handleKinds; ///< what symbols name (encoder/isa/texture_table.h)
  launch::ClusterDemands clusters;
  std::uint32_t registers = 0;                         ///< of a thread, as the cubin says
  std::uint32_t ctaBarriers = encoder::kNamedBarriers; ///< those that a launch provides, as the cubin says
  std::uint32_t staticShared = 0;                      ///< bytes, without the system's
  std::uint32_t sharedAlignment = 1;
  std::uint32_t localBytes = 0; ///< stack of a thread
  /// Code before phase 101 finds its stack pointer set up: this far below the top.
  std::uint32_t frameBytes = 0;
  std::vector<Variable> variables;
  std::map<std::string, std::uint64_t> sharedVariables; ///< of objects: their places in shared memory
  std::vector<Relocation> addressTable;                 ///< constant bank 4
  /// Of Ori: what symbols stand for, by number; without a name, nobody knows.
  std::vector<Relocation> symbols;
  std::vector<std::byte> constants2; ///< constant bank 2
  std::vector<Relocation> constants2Relocations;
  /// What somebody calls uniform, to be checked while the code runs: virtual registers (of the files R and P) that all
  /// lanes read alike when they read them together, and blocks that all lanes of a warp run together. By id; empty:
  /// nobody says anything.
  std::vector<bool> uniformRegisters, uniformBlocks;
  std::vector<Relocation> codeRelocations; ///< immediates; offsets count 16 bytes for each instruction
  /// Where the functions of a linked program begin, in bytes: the kernel at 0, those that it may call behind it.
  std::vector<std::pair<std::string, std::uint64_t>> functions;

  /// All kernels of the file or module, for launches from this one.
  std::shared_ptr<Kernels> kernels;

  /// "kernel+0x120 LDG.E R2, desc[UR4][R2.64]", for messages.
  std::string text(std::size_t index) const;

  /// Null for SASS. text() reads it, so it must not change before the program is done with.
  const ori::Function* function = nullptr;
};

/// The kernels of one file or module. Those that are launched by others are loaded when they are.
class Kernels {
 public:
  using Load = std::function<Program(const std::string&)>;
  Kernels(std::vector<std::string> names, Load load) : names_(std::move(names)), load_(std::move(load)) {}

  /// Nothing for a name that is no kernel's.
  std::optional<std::size_t> indexOf(std::string_view name) const;
  const std::string* nameOf(std::size_t index) const { return index < names_.size() ? &names_[index] : nullptr; }
  /// From several threads, too.
  const Program& program(const std::string& name);

 private:
  std::vector<std::string> names_;
  Load load_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Program>> programs_;
};

/// The kernel of a cubin, ours or ptxas'. An object will do, where only functions of the driver and of the device
/// runtime are missing. Throws orias::Error when there is none of this name, or for a damaged file.
Program loadCubin(std::span<const std::byte> cubin, std::string_view kernel);

/// A kernel at any phase. The function must stay as it is while the program is used.
Program loadOri(const ori::Module& module, const ori::Function& function);

} // namespace orias::emu
