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
  std::string label; ///< ".L_x_3" if this is a branch target
  isa::Control control;
  std::string reuse;    ///< operands marked .reuse, one character each of "ABC" or '-'
  LiveCounts live{};    ///< registers live after it, by file
  bool uniform = false; ///< on the uniform datapath
  UniformityNote lanes = UniformityNote::Unknown;
  bool padding = false;
  bool data = false; ///< not in the instruction table; `text` is `.word`
  std::uint32_t ptxLine = 0;
  std::string place;  ///< file and line of the source, "saxpy.cu:12"; empty where the PTX has no `.loc`
  std::string phases; ///< numbers of the phases that created and changed it: "0", "13<74"
};

/// The header of a function in the listing.
struct ListingHeader {
  std::string name;
  std::string arch;
  bool isKernel = true;
  unsigned registers = 0, uniformRegisters = 0, predicates = 0, barriers = 0;
  unsigned sharedBytes = 0, constantBytes = 0, frameBytes = 0;
  std::optional<unsigned> spillStoreBytes, spillLoadBytes; ///< unknown for a cubin
  unsigned instructions = 0;
  unsigned threadsPerBlock = 0; ///< for which the occupancy is computed
  unsigned warpsPerSm = 0, maxWarpsPerSm = 0;
  std::string occupancyLimit; ///< the resource that limits the blocks per SM
};

struct FunctionListing {
  ListingHeader header;
  std::vector<ListingRow> rows;
  bool hasOrigins = true; ///< the rows have `phases`
};

/// Decodes the encodings of a function. `phaseNumbers` are the numbers of the pipeline's phases, by index.
FunctionListing makeListing(const ori::Function& function, const FunctionCode& code,
                            std::vector<std::string_view> phaseNumbers);

/// The listing of a function of a cubin, from the file alone. Live registers are recomputed from the words. They are
/// approximate if the file does not give the targets of calls and branches.
FunctionListing makeListing(const cubin::Function& function, const cubin::Module& module, const isa::Target& target);

/// Updates the listing from the linked cubin: with addresses filled in, and with the resources of a kernel including
/// those of its callees.
void showLinked(FunctionListing& listing, const cubin::Function& function, const isa::Target& target);

/// The PTX text of a cubin, if the file contains it (`-lineinfo`, or PTX with `.loc`); else empty.
std::string ptxTextOf(const cubin::Module& module);

struct RenderOptions {
  bool rawWords = false; ///< the 128-bit encoding after the text of each instruction
};

/// Address and instruction only, as nvdisasm prints them.
std::string renderPlain(const FunctionListing& listing, RenderOptions options = {});
/// For readers: control information, live registers, uniformity, PTX line, provenance and the encoding. The text of a
/// PTX line precedes its first instruction. Rows fit into 132 columns, except for the longest instructions. `ptx` is
/// the text to which the line numbers refer.
std::string renderAnnotated(const FunctionListing& listing, std::string_view ptx);
/// The contents of renderAnnotated() as one JSON object.
std::string renderJson(const FunctionListing& listing, std::string_view ptx);

} // namespace orias::encoder
