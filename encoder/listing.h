#pragma once

#include "encoder/code.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orias::cubin {
struct Function;
struct Module;
} // namespace orias::cubin

namespace orias::encoder {

/// One instruction, decoded from the final encoding: the listing shows what the hardware executes.
struct ListingRow {
  std::uint32_t offset = 0;
  isa::Word word;
  std::string text;  ///< as nvdisasm prints it, guard included, labels as `(.L_x_3)
  std::string label; ///< ".L_x_3" when a branch leads here
  isa::Control control;
  std::string reuse;    ///< operands marked .reuse, one character each of "ABC" or '-'
  LiveCounts live{};    ///< registers live after it, by file
  bool uniform = false; ///< on the uniform datapath
  LaneMark lanes = LaneMark::Unknown;
  bool padding = false;
  bool data = false; ///< not in the instruction table; `text` is `.word`
  std::uint32_t ptxLine = 0;
  std::string place;  ///< file and line of the source, "saxpy.cu:12"; empty where the PTX has no `.loc`
  std::string phases; ///< numbers of the phases that made and changed it: "0", "13<74"
};

/// The header of a function in the listing.
struct ListingHeader {
  std::string name;
  std::string arch;
  bool isKernel = true;
  unsigned registers = 0, uniformRegisters = 0, predicates = 0, barriers = 0;
  unsigned sharedBytes = 0, constantBytes = 0, frameBytes = 0;
  std::optional<unsigned> spillStoreBytes, spillLoadBytes; ///< a cubin does not tell
  unsigned instructions = 0;
  unsigned threadsPerBlock = 0; ///< that the occupancy is computed for
  unsigned warpsPerSm = 0, maxWarpsPerSm = 0;
  std::string occupancyLimit; ///< what keeps further blocks out
};

struct FunctionListing {
  ListingHeader header;
  std::vector<ListingRow> rows;
  bool hasOrigins = true; ///< the rows know the phases that made them
};

/// Decodes the encodings of a function. `phaseNumbers` are the numbers of the pipeline's phases, by index.
FunctionListing makeListing(const ori::Function& function, const FunctionCode& code,
                            std::vector<std::string_view> phaseNumbers);

/// The listing of a function of a cubin, from nothing but what the file says. Live registers are worked out again from
/// the words, so that they are guesses if the file does not give the targets of calls and branches.
FunctionListing makeListing(const cubin::Function& function, const cubin::Module& module, const isa::Target& target);

/// Shows the function as it is in the cubin: a linker has filled in addresses, and knows what a kernel needs
/// together with the functions that it calls.
void showLinked(FunctionListing& listing, const cubin::Function& function, const isa::Target& target);

/// The text of the PTX that a cubin was made from, as far as it says (`-lineinfo`, or PTX with `.loc`); else empty.
std::string ptxTextOf(const cubin::Module& module);

struct RenderOptions {
  bool rawWords = false; ///< the 128-bit encoding after the text of each instruction
};

/// Address and instruction only, as nvdisasm prints them.
std::string renderPlain(const FunctionListing& listing, RenderOptions options = {});
/// For people: control information, live registers, uniformity, PTX line, provenance and the encoding; PTX lines are
/// shown where they begin. Rows fit into 132 columns, except for the longest instructions. `ptx` is the text that the
/// line numbers refer to.
std::string renderAnnotated(const FunctionListing& listing, std::string_view ptx);
/// The same facts as one JSON object.
std::string renderJson(const FunctionListing& listing, std::string_view ptx);

} // namespace orias::encoder
