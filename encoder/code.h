#pragma once

#include "encoder/isa/isa.h"
#include "ori/instr.h"
#include "regalloc/named_write.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace orias::ori {
class Function;
}

namespace orias::encoder {

inline constexpr std::uint32_t kWordBytes = 16;
/// Code ends on a multiple of this; NOPs fill up (observed in ptxas' output).
inline constexpr std::uint32_t kTextAlignment = 128;

/// Of a block, as PTX has them (PTX ISA, "barrier").
inline constexpr unsigned kNamedBarriers = 16;

struct FunctionListing;

/// A linker has to write an address into a word; or the place of a handle in constant memory.
struct CodeRelocation {
  enum class Part : std::uint8_t { Low, High, Callee, ConstantWord };
  std::uint32_t offset = 0; ///< of the word
  Part part = Part::Low;
  std::uint32_t symbol = 0; ///< index into ori::Module::symbols
  std::int64_t addend = 0;
};

/// What a BRX reads: byte offsets into the code, as words from a place in constant bank 2 on.
struct JumpTable {
  std::uint32_t branch = 0; ///< offset of the BRX
  std::uint32_t place = 0;  ///< bytes from the start of the bank
  std::vector<std::uint32_t> targets;
};

/// An LDC that reads a table, whose place a linker has to write into the word.
struct TableLoad {
  std::uint32_t offset = 0; ///< of the word
  std::uint32_t place = 0;  ///< of the table: JumpTable::place
};

/// Registers live behind an instruction, by file.
using LiveCounts = std::array<unsigned, isa::kFileCount>;

/// Whether the lanes of a warp that run an instruction together get the same results or, if it has none, do the same.
enum class LaneMark : std::uint8_t { Unknown, Uniform, Varying };

/// The machine code of one function: what the cubin holds, and what the listing is made from.
struct FunctionCode {
  std::vector<isa::Word> words;
  /// The instruction that each word comes from; null for the padding. As long as `words`.
  std::vector<const ori::Instr*> origin;
  std::vector<std::uint32_t> exitOffsets; ///< byte offsets of EXIT, from phase 147
  std::vector<std::uint32_t> coopOffsets; ///< byte offsets of instructions that exchange values between lanes
  std::vector<std::uint32_t> callOffsets; ///< byte offsets of calls of code elsewhere
  std::vector<CodeRelocation> relocations;
  std::vector<JumpTable> jumpTables;   ///< from phase 147
  std::vector<TableLoad> tableLoads;   ///< of relocatable code
  std::vector<LiveCounts> registerMap; ///< by word; filled by phase 149
  std::vector<LaneMark> laneMarks;     ///< by instruction id; filled for a listing by phase 101
  bool wantListing = false;            ///< asks phase 155 for `listing`
  bool wantNames = false;              ///< asks phase 101 for `namedWrites`
  std::vector<regalloc::NamedWrite> namedWrites;
  std::shared_ptr<const FunctionListing> listing;
  std::uint32_t byteSize() const { return static_cast<std::uint32_t>(words.size()) * kWordBytes; }
};

/// Encodes an allocated function whose control fields are set and whose fall-throughs are adjacent. Labels become
/// distances. An instruction that the table cannot encode is an InternalError that names it.
FunctionCode encodeInstructions(const ori::Function& function);

/// Makes words the text of a function: notes where it exits and where lanes exchange values, and puts a branch to
/// itself and NOPs behind the last instruction, as ptxas does, so that prefetching finds code.
void finishText(const ori::Function& function, FunctionCode& code);

/// How many named barriers of the block a launch has to provide: one more than the highest number in the code, all
/// where a register has the number (observed: what ptxas says under EIATTR_NUM_BARRIERS).
unsigned namedBarriers(const ori::Function& function);

/// How many registers of each file are live behind each word; nothing is behind the padding.
std::vector<LiveCounts> registerMap(const ori::Function& function, const FunctionCode& code);

/// The marks of the instructions of a function in virtual registers, by id: in physical ones nobody can tell any more.
std::vector<LaneMark> laneMarks(const ori::Function& function);

/// The words as instructions again, compared with what they were made from: one message for each difference.
std::vector<std::string> compareDecoded(const ori::Function& function, const FunctionCode& code);

} // namespace orias::encoder
