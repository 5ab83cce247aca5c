#include "encoder/cubin_code.h"
#include "encoder/isa/target.h"
#include "encoder/listing_rows.h"
#include "encoder/word_liveness.h"
#include "support/check.h"

#include <algorithm>

namespace orias::encoder {

namespace {

/// The index after the last instruction. The remaining rows, a branch to itself and NOPs, are never executed.
std::size_t endOfCode(const std::vector<ListingRow>& rows) {
  std::size_t end = rows.size();
  while (end > 0 && rows[end - 1].text == "NOP")
    --end;
  if (end > 0 && !rows[end - 1].label.empty() && rows[end - 1].text == "BRA " + rows[end - 1].label) --end;
  return end;
}

unsigned threadsPerBlock(const cubin::Function& function) {
  const auto& bounds = function.requiredThreads ? function.requiredThreads : function.maxThreads;
  return bounds ? bounds->x * bounds->y * bounds->z : 0;
}

/// The line table row of the instruction at `offset`; null if it precedes the first row.
const cubin::LineRow* lineAt(const std::vector<cubin::LineRow>& rows, std::uint32_t offset) {
  const auto next = std::ranges::upper_bound(rows, offset, {}, &cubin::LineRow::offset);
  return next == rows.begin() ? nullptr : &*(next - 1);
}

} // namespace

FunctionListing makeListing(const cubin::Function& function, const cubin::Module& module, const isa::Target& target) {
  const std::vector<isa::Word> words = wordsOf(function);
  std::map<std::uint32_t, std::string> names;
  for (const cubin::InnerFunction& inner : function.inner)
    names[inner.offset] = inner.name;

  FunctionListing listing;
  listing.hasOrigins = false;
  listing.rows = listingRows(words, names, target);
  const WordLiveness liveness = livenessOf(words, indirectTargetsOf(function), target);
  const std::size_t end = endOfCode(listing.rows);
  for (std::size_t i = 0; i < listing.rows.size(); ++i) {
    listing.rows[i].live = liveness.live[i];
    listing.rows[i].padding = i >= end;
    if (i >= end) continue;
    if (const cubin::LineRow* line = lineAt(function.ptxLines, listing.rows[i].offset))
      listing.rows[i].ptxLine = line->line;
    if (const cubin::LineRow* line = lineAt(function.lines, listing.rows[i].offset);
        line && line->file < module.sourceFiles.size())
      listing.rows[i].place = placeName(module.sourceFiles[line->file].path, line->line);
  }

  ListingHeader& h = listing.header;
  h.name = function.name;
  h.arch = std::string(target.name());
  h.isKernel = function.isEntry;
  h.registers = function.registerCount;
  h.uniformRegisters = liveness.used[static_cast<unsigned>(isa::File::UR)];
  h.predicates = liveness.used[static_cast<unsigned>(isa::File::P)];
  h.barriers = function.barrierCount;
  h.sharedBytes = function.staticSharedSize;
  h.constantBytes = cubin::parameterBase(module.abi, function.parameterSize) + function.parameterSize;
  h.frameBytes = function.frameSize;
  h.instructions = static_cast<unsigned>(end);
  setOccupancy(h, threadsPerBlock(function), target);
  return listing;
}

void showLinked(FunctionListing& listing, const cubin::Function& function, const isa::Target& target) {
  std::vector<ListingRow> rows = listingRows(wordsOf(function), {}, target);
  ORIAS_CHECK(rows.size() == listing.rows.size(), function.name);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    listing.rows[i].word = rows[i].word;
    listing.rows[i].text = std::move(rows[i].text);
  }
  if (!function.isEntry) return;
  ListingHeader& h = listing.header;
  h.registers = function.registerCount;
  h.barriers = function.barrierCount;
  h.sharedBytes = function.staticSharedSize;
  setOccupancy(h, h.threadsPerBlock, target);
}

std::string ptxTextOf(const cubin::Module& module) {
  std::string text;
  for (std::byte byte : module.ptxText)
    text += byte == std::byte{0} ? '\n' : static_cast<char>(byte);
  return text;
}

} // namespace orias::encoder
