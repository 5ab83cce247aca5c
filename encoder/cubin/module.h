#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encoder/cubin/abi.h"
#include "encoder/cubin/attributes.h"

/// The contents of a cubin, as plain data, which the writer converts to ELF and the reader from ELF. README.md
/// describes how code addresses the contents.
namespace orias::cubin {

using Bytes = std::vector<std::byte>;

enum class Binding : std::uint8_t { Local, Global, Weak };

/// Relocation types of sm_70 and later that orias writes; a file may contain others. The names are those of cuobjdump.
enum class RelocationType : std::uint32_t {
  None = 0,
  Abs32 = 1,                       ///< R_CUDA_32: a 32-bit word
  Abs64 = 2,                       ///< R_CUDA_64: a 64-bit address, e.g. in the address table (bank 4)
  Generic32 = 3,                   ///< R_CUDA_G32
  Generic64 = 4,                   ///< R_CUDA_G64: a 64-bit generic address in initialized data
  Texture = 6,                     ///< R_CUDA_TEX_HEADER_INDEX: the handle of a texture
  OlderSampler = 7,                ///< R_CUDA_SAMP_HEADER_INDEX: the handle of a sampler, before sm_90
  Surface = 0x34,                  ///< R_CUDA_SURF_HEADER_INDEX: the handle of a surface
  Sampler = 0x65,                  ///< the handle of a sampler, on sm_90
  Abs32Lo32 = 0x38,                ///< R_CUDA_ABS32_LO_32: low half of an address in bits 32..63 of an instruction
  Abs32At32 = 0x37,                ///< R_CUDA_ABS32_32: a 32-bit address in bits 32..63 of an instruction
  Abs32Hi32 = 0x39,                ///< R_CUDA_ABS32_HI_32: high half of an address in bits 32..63 of an instruction
  CalleeAt34 = 0x3a,               ///< R_CUDA_ABS47_34: Callee before sm_90
  Abs16At32 = 0x3b,                ///< R_CUDA_ABS16_32: an offset in a constant bank in bits 32..47 of an instruction
  Const21At38 = 0x42,              ///< R_CUDA_CONST_FIELD21_38: offset and bank of a constant operand
  FunctionDescriptor64 = 0x23,     ///< R_CUDA_FUNC_DESC_64: the descriptor of a kernel, for launches
  FunctionDescriptor32Lo32 = 0x3e, ///< R_CUDA_FUNC_DESC32_LO_32: its low half in bits 32..63 of an instruction
  FunctionDescriptor32Hi32 = 0x3f, ///< R_CUDA_FUNC_DESC32_HI_32
  UnusedClear64 = 0x49,            ///< R_CUDA_UNUSED_CLEAR64: 0 for symbols that the linker omits
  Callee = 0x4b,                   ///< R_CUDA_ABS55_16_34: the target of CALL.ABS
  Unified64 = 0x66,                ///< R_CUDA_UNIFIED: a pointer to a function
  Unified32Lo32 = 0x70,            ///< R_CUDA_UNIFIED32_LO_32: its low half in bits 32..63 of an instruction
  Unified32Hi32 = 0x71,            ///< R_CUDA_UNIFIED32_HI_32
  IndirectCallee = 0x72,           ///< R_CUDA_ABS56_16_34: the offset that CALL.ABS adds to a register
};

struct Relocation {
  RelocationType type = RelocationType::None;
  std::uint64_t offset = 0; ///< from the start of its variable, code or bank
  std::string symbol;
  std::int64_t addend = 0;
  friend bool operator==(const Relocation&, const Relocation&) = default;
};

/// The symbol whose value CALL.ABS adds to a register.
inline constexpr const char* kUnifiedTableOffset = "__UFT_OFFSET";

/// A module variable: `.global` (in `.nv.global` or `.nv.global.init`) or `.const` (bank 3, `.nv.constant3`).
struct Variable {
  enum class Space : std::uint8_t { Global, Constant, Shared }; ///< Shared: of relocatable files
  std::string name;
  Binding binding = Binding::Local;
  Space space = Space::Global;
  bool defined = true;  ///< false: `.extern`, an undefined symbol
  bool managed = false; ///< `.attribute(.managed)`
  std::uint64_t alignment = 1;
  std::uint64_t size = 0;
  Bytes init;                          ///< empty: zeros; shorter than `size`: zeros follow
  std::vector<Relocation> relocations; ///< offsets from the start of the variable
  std::uint64_t offset = 0;            ///< offset in its section: set by layOutVariables()
  bool common = false;                 ///< in relocatable files: the linker merges all variables of this name
  std::string owner;                   ///< the kernel that owns a shared variable; empty: the module
  bool initialised() const { return !init.empty() || !relocations.empty(); }
  friend bool operator==(const Variable&, const Variable&) = default;
};

/// One slot of the address table in constant bank 4; slot i is c[0x4][8 * i].
struct AddressSlot {
  std::string symbol; ///< a variable or an external function
  std::int64_t addend = 0;
  friend bool operator==(const AddressSlot&, const AddressSlot&) = default;
};

/// The objects that programs refer to by handles.
enum class HandleKind : std::uint8_t { Texture, Sampler, Surface };

/// The symbol of a texture, sampler or surface that is a parameter. It contains the kernel's name because kernels may
/// have parameters of the same name. In files it is the name alone, as a symbol of the kernel's section.
inline std::string parameterSymbol(const std::string& kernel, const std::string& parameter) {
  return kernel + "::" + parameter;
}

struct Parameter {
  std::uint32_t offset = 0; ///< from the parameter base
  std::uint32_t size = 0;
  std::uint8_t pointeeLogAlignment = 0; ///< of `.ptr .align`; 0 without one
  std::uint8_t pointeeSpace = 0; ///< of `.ptr`: 0 no `.ptr`, 1 local, 2 shared, 4 global or const, 5 generic (observed)
  /// The symbol of a texture, sampler or surface, from parameterSymbol(); these take no bytes. Empty for other
  /// parameters.
  std::string handle{};
  HandleKind handleKind = HandleKind::Texture;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

/// A word of bank 0 into which the driver writes the handle of a texture, sampler or surface of the module. Before
/// sm_90 a texture and its sampler may share one word, the sampler in its upper twelve bits.
struct TextureHandleSlot {
  HandleKind kind = HandleKind::Texture;
  std::uint32_t offset = 0; ///< from the parameter base
  std::string symbol;
  friend bool operator==(const TextureHandleSlot&, const TextureHandleSlot&) = default;
};

/// A texture, sampler or surface of the module.
struct HandleSymbol {
  HandleKind kind = HandleKind::Texture;
  std::string name;
  /// The initial values of a sampler: a byte for each of its address modes, then the filter; 0xff: unspecified.
  std::optional<std::uint32_t> start;
  std::optional<bool> forcesUnnormalized; ///< of a sampler
  friend bool operator==(const HandleSymbol&, const HandleSymbol&) = default;
};

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// A device function inside the code of a kernel; ptxas calls it `$kernel$callee`.
struct InnerFunction {
  std::string name;
  std::uint32_t offset = 0; ///< from the start of the kernel's code
  std::uint32_t size = 0;
  std::uint32_t frameSize = 0;
  Binding binding = Binding::Local; ///< of the PTX function; weak for the compiler's helpers
  std::uint8_t returnRegister = 20; ///< first register of the pair that holds the return offset
  friend bool operator==(const InnerFunction&, const InnerFunction&) = default;
};

/// A vote, shuffle or match: its offset, and its member mask if known (EIATTR_COOP_GROUP_*).
struct WarpCooperation {
  std::uint32_t offset = 0;
  std::uint32_t memberMask = 0xffffffff;
  friend bool operator==(const WarpCooperation&, const WarpCooperation&) = default;
};

/// A branch through a register (BRX) and its targets, as offsets into the code.
struct IndirectBranch {
  std::uint32_t offset = 0;
  std::vector<std::uint32_t> targets;
  friend bool operator==(const IndirectBranch&, const IndirectBranch&) = default;
};

/// A jump table in bank 2 that the code of a relocatable file reads: linkers assign its offset.
struct ConstantTable {
  std::string name; ///< of its symbol
  std::uint32_t offset = 0, size = 0;
  friend bool operator==(const ConstantTable&, const ConstantTable&) = default;
};

/// A source file of lines.
struct SourceFile {
  std::string path;
  std::uint64_t timestamp = 0, size = 0; ///< 0: unknown
  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

/// The line of the code from this offset up to the next row.
struct LineRow {
  static constexpr std::uint32_t kPtx = ~0u; ///< the file of rows of the PTX
  std::uint32_t offset = 0;                  ///< of an instruction
  std::uint32_t file = 0;                    ///< index in Module::sourceFiles
  std::uint32_t line = 1;
  /// For an inlined function: the row of the call, in the same function (counted from 1; 0: not inlined), and the
  /// offset of the inlined function's name in Module::debugStrings.
  std::uint32_t caller = 0, calleeName = 0;
  friend bool operator==(const LineRow&, const LineRow&) = default;
};

/// A change in the frame of a function that others call, for the unwind table.
struct FrameChange {
  enum class Kind : std::uint8_t {
    Frame,   ///< the frame has `bytes` from here on
    Saved,   ///< the value of `reg` in the caller is stored at R1 + `bytes`
    Restored ///< the value is in the register again
  };
  std::uint32_t offset = 0; ///< after the instruction
  Kind kind = Kind::Frame;
  std::uint32_t reg = 0, bytes = 0;
  friend bool operator==(const FrameChange&, const FrameChange&) = default;
};

/// A kernel, or a device function with a section of its own. All code offsets are bytes from the start of `code`.
struct Function {
  std::string name;
  Binding binding = Binding::Global;
  bool isEntry = true;
  Bytes code; ///< complete 16-byte instructions, including the padding at the end
  std::vector<Relocation> relocations;
  std::vector<InnerFunction> inner;

  std::uint32_t registerCount = 0;  ///< as required by the hardware: highest register + 1 + 2
  std::uint32_t maxRegisters = 255; ///< the allocator's limit (-maxrregcount, launch bounds)
  std::uint32_t barrierCount = 0;
  std::uint32_t frameSize = 0;
  std::uint32_t minStackSize = 0;
  std::optional<std::uint32_t> maxStackSize; ///< unknown if there are indirect or external calls
  std::optional<std::uint32_t> crsStackSize; ///< 0 if the code has a BSSY or a CALL.REL
  std::uint32_t frameSetupOffset = 0;        ///< after the instruction that allocates the frame; for the unwind table
  /// The end of the rows of the unwind table; 0: the last exit. If it is equal to `frameSetupOffset`, the table omits
  /// the frame, as ptxas does for code without a branch or call.
  std::uint32_t frameEndOffset = 0;

  std::vector<FrameChange> frameChanges; ///< of a function that is not a kernel, by ascending offset

  std::uint32_t staticSharedSize = 0; ///< without the driver's reserved bytes
  std::uint32_t sharedAlignment = 1;
  bool seesDynamicShared = false; ///< an `extern .shared` array is in scope
  bool usesSharedAddress = false; ///< the code contains shared addresses
  bool usesTensorMemory = false;
  bool readsTensorRecords = false; ///< it reads the records of tensor memory
  bool allocatesTensors = false;   ///< it writes records of its tensor memory below its shared memory

  std::vector<Parameter> parameters;
  std::uint32_t parameterSize = 0;            ///< bytes from the parameter base, not rounded up
  std::vector<TextureHandleSlot> handles;     ///< after the parameters
  Bytes constant2;                            ///< bank 2 (`.nv.constant2.<k>`): constants of the compiler
  std::vector<ConstantTable> constant2Tables; ///< of relocatable files: tables that code refers to
  std::vector<Relocation> constant2Relocations;

  std::optional<Dim3> maxThreads;      ///< .maxntid
  std::optional<Dim3> requiredThreads; ///< .reqntid
  std::optional<Dim3> clusterShape;    ///< .reqnctapercluster
  bool explicitCluster = false;        ///< .explicitcluster
  bool blocksAreClusters = false;      ///< .blocksareclusters
  std::optional<std::uint32_t> maxClusterRank;

  std::vector<std::uint32_t> exitOffsets;
  std::vector<std::uint32_t> syscallOffsets; ///< calls of the driver's functions (vprintf)
  std::vector<WarpCooperation> warpCooperations;
  std::vector<IndirectBranch> indirectBranches;
  std::vector<std::uint32_t>
      warpWideOffsets;                    ///< EIATTR_INT_WARP_WIDE_INSTR_OFFSETS: VOTEs (VOTEU) that the compiler added
  std::vector<Attribute> otherAttributes; ///< of `.nv.info.<k>`, without a field here; kept unchanged
  std::vector<std::string> externals;     ///< functions it calls that are defined elsewhere
  // Of relocatable files. Prototypes are words such as "#ii" (encoder/cubin/README.md).
  std::string prototype;                  ///< empty: unknown
  std::vector<std::string> callees;       ///< all direct callees
  std::vector<std::string> indirectCalls; ///< the prototypes of its calls through pointers
  std::vector<LineRow> lines;             ///< in the source files, by ascending offset; empty: unknown
  std::vector<LineRow> ptxLines;          ///< in Module::ptxText (`file` is LineRow::kPtx)
  friend bool operator==(const Function&, const Function&) = default;
};

/// A function that a relocatable file calls or takes the address of, but does not define.
struct ExternalFunction {
  std::string name, prototype;
  bool isEntry = false; ///< a kernel
  friend bool operator==(const ExternalFunction&, const ExternalFunction&) = default;
};

/// Another name for a function of a relocatable file.
struct Alias {
  std::string name, function;
  Binding binding = Binding::Global;
  friend bool operator==(const Alias&, const Alias&) = default;
};

/// The producer of the file: the `.note.nv.tkinfo` section.
struct Producer {
  std::string object; ///< ptxas leaves it empty
  std::string tool = "orias";
  std::string version;
  std::string branch;
  std::string arguments;
  friend bool operator==(const Producer&, const Producer&) = default;
};

/// A section for debuggers, other than the tables that the writer generates.
struct DebugSection {
  std::string name;
  Bytes data;
  std::vector<Relocation> relocations; ///< to functions, variables and, in relocatable files, to sections
  friend bool operator==(const DebugSection&, const DebugSection&) = default;
};

struct Module {
  Abi abi;
  bool relocatable = false;      ///< to be linked (ET_REL)
  std::uint16_t virtualArch = 0; ///< `.target` of the PTX; 0: the SM version
  Producer producer;
  std::vector<Variable> variables;       ///< in the order of their declarations
  std::vector<AddressSlot> addressTable; ///< constant bank 4
  /// 32-bit values that the driver writes into the code: undefined weak symbols.
  std::vector<std::string> driverPatches;
  std::vector<HandleSymbol> handles;   ///< in the order of their declarations
  bool hasIndependentSamplers = false; ///< textures and samplers are separate
  bool waitsForErrorsAtExit = false;   ///< EIATTR_GEN_ERRBAR_AT_EXIT: error barriers before the exits
  bool isAccelerated = false;          ///< EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET: for this chip only (`a`)
  std::uint8_t isaClass = 1;           ///< EICOMPAT_ATTR_ISA_CLASS: 1; 2 if there is a texture instruction (observed)
  std::vector<Function> functions;     ///< in the order of their definitions
  std::vector<ExternalFunction> externalFunctions; ///< of relocatable files
  std::vector<Alias> aliases;                      ///< of relocatable files
  std::vector<SourceFile> sourceFiles;
  Bytes debugStrings; ///< `.debug_str`
  Bytes ptxText;      ///< `.nv_debug_ptx_txt`: the lines of the PTX, each terminated by a zero byte
  std::vector<DebugSection> debugSections;
  friend bool operator==(const Module&, const Module&) = default;
};

/// Assigns each variable its offset in its section, as ptxas does (observed): `.global` by descending alignment, then
/// ascending size; `.const` in the order of declaration. Ties are broken by binding: visible before weak before local.
/// Must run before code that reads bank 3 is encoded, because its operands are c[0x3][offset].
void layOutVariables(std::vector<Variable>& variables);

} // namespace orias::cubin
