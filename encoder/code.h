#pragma once

#include "encoder/isa/isa.h"
#include "ori/debug_def.h"
#include "ori/frame_record.h"
#include "ori/instr.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace orias::ori {
class Function;
}

namespace orias::encoder {

inline constexpr std::uint32_t kWordBytes = 16;
/// The code is padded with NOPs to a multiple of this (observed in ptxas' output).
inline constexpr std::uint32_t kTextAlignment = 128;

/// Named barriers of a thread block (PTX ISA, "barrier").
inline constexpr unsigned kNamedBarriers = 16;

struct FunctionListing;

/// A relocation: a linker writes an address, or the offset of a handle in constant memory, into an encoding.
struct CodeRelocation {
  enum class Part : std::uint8_t { Low, High, Callee, ConstantWord };
  std::uint32_t offset = 0; ///< of the encoding
  Part part = Part::Low;
  std::uint32_t symbol = 0; ///< index into ori::Module::symbols
  std::int64_t addend = 0;
};

/// The table of a BRX: byte offsets into the code, as 32-bit words in constant bank 2.
struct JumpTable {
  std::uint32_t branch = 0;      ///< offset of the BRX
  std::uint32_t tableOffset = 0; ///< bytes from the start of the bank
  std::vector<std::uint32_t> targets;
};

/// An LDC that reads a table, whose offset a linker writes into the encoding.
struct TableLoad {
  std::uint32_t offset = 0;      ///< of the encoding
  std::uint32_t tableOffset = 0; ///< of the table: JumpTable::tableOffset
};

/// Registers live after an instruction, by file.
using LiveCounts = std::array<unsigned, isa::kFileCount>;

/// Whether the lanes of a warp that execute an instruction together get the same results. Without results: whether they
/// do the same.
enum class UniformityNote : std::uint8_t { Unknown, Uniform, Varying };

/// The machine code of one function, for the cubin and the listing.
struct FunctionCode {
  std::vector<isa::Word> words;
  /// The instruction of each encoding; null for padding. As long as `words`.
  std::vector<const ori::Instr*> origin;
  std::vector<std::uint32_t> exitOffsets; ///< byte offsets of EXIT, from phase 147
  std::vector<std::uint32_t> coopOffsets; ///< byte offsets of instructions that exchange values between lanes
  std::vector<std::uint32_t> callOffsets; ///< byte offsets of calls to other functions
  std::vector<CodeRelocation> relocations;
  std::vector<JumpTable> jumpTables;           ///< from phase 147
  std::vector<TableLoad> tableLoads;           ///< of relocatable code
  std::vector<LiveCounts> registerMap;         ///< by instruction; filled by phase 149
  std::vector<UniformityNote> uniformityNotes; ///< by instruction id; filled for a listing by phase 101
  bool wantListing = false;                    ///< requests `listing` from phase 155
  bool wantDebugDefs = false;                  ///< requests `debugDefs` from phase 101
  std::vector<ori::DebugDef> debugDefs;
  std::vector<ori::FrameRecord> frame; ///< by offset; filled by phase 101
  std::shared_ptr<const FunctionListing> listing;
  std::uint32_t byteSize() const { return static_cast<std::uint32_t>(words.size()) * kWordBytes; }
};

/// Encodes an allocated function whose control fields are set and whose fall-throughs are adjacent. Labels become
/// distances. An instruction that the table cannot encode is an InternalError that names it.
FunctionCode encodeInstructions(const ori::Function& function);

/// Turns encodings into the text of a function: records exits and instructions that exchange values between lanes,
/// and appends a branch to itself and NOPs, as ptxas does, so that prefetching finds code.
void finishText(const ori::Function& function, FunctionCode& code);

/// The named barriers that a launch has to provide for a thread block: one more than the highest number in the code, or
/// all if a register holds the number (observed: ptxas' EIATTR_NUM_BARRIERS).
unsigned namedBarriers(const ori::Function& function);

/// The number of live registers of each file after each instruction; none after padding.
std::vector<LiveCounts> registerMap(const ori::Function& function, const FunctionCode& code);

/// The uniformity notes of the instructions of a function in virtual registers, by ID; unknown after allocation.
std::vector<UniformityNote> uniformityNotes(const ori::Function& function);

/// Decodes the encodings and compares them with the instructions: one message for each difference.
std::vector<std::string> compareDecoded(const ori::Function& function, const FunctionCode& code);

} // namespace orias::encoder
