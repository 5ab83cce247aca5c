#include "encoder/listing.h"

#include "encoder/isa/target.h"
#include "encoder/listing_rows.h"
#include "ori/module.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::encoder {

namespace {

std::string provenance(const ori::Function& function, const ori::Instr& instr,
                       const std::vector<std::string_view>& phaseNumbers) {
  auto number = [&](unsigned index) {
    return index < phaseNumbers.size() ? std::string(phaseNumbers[index]) : std::string("?");
  };
  std::string out = number(instr.createdBy);
  if (const unsigned last = function.lastPhase(instr); last != instr.createdBy) out += "<" + number(last);
  return out;
}

ListingHeader makeHeader(const ori::Function& function, const FunctionCode& code) {
  const isa::Target& target = function.module().target();
  ListingHeader h;
  h.name = function.name();
  h.arch = std::string(target.name());
  h.isKernel = function.isKernel();
  const ori::FunctionStats& stats = function.stats;
  h.registers = stats.registers;
  h.uniformRegisters = stats.uniformRegisters;
  h.predicates = stats.predicates;
  h.barriers = stats.barriers;
  h.sharedBytes = function.sharedBytes;
  h.constantBytes = target.paramBase() + function.paramBytes;
  h.frameBytes = stats.frameBytes;
  h.spillStoreBytes = stats.spillStoreBytes;
  h.spillLoadBytes = stats.spillLoadBytes;
  h.instructions = static_cast<unsigned>(
      code.origin.size() - static_cast<std::size_t>(std::count(code.origin.begin(), code.origin.end(), nullptr)));
  setOccupancy(h, function.bounds.threads(), target);
  return h;
}

/// The file and line of a `.loc`, by its number (from 1).
std::string placeOf(const ori::Module& module, std::uint32_t loc) {
  if (loc == 0 || loc > module.locs.size()) return {};
  const ori::LocEntry& entry = module.locs[loc - 1];
  return entry.file < module.files.size() ? placeName(module.files[entry.file], entry.line) : std::string();
}

} // namespace

FunctionListing makeListing(const ori::Function& function, const FunctionCode& code,
                            std::vector<std::string_view> phaseNumbers) {
  FunctionListing listing;
  listing.header = makeHeader(function, code);
  const std::vector<LiveCounts> computed =
      code.registerMap.empty() ? registerMap(function, code) : std::vector<LiveCounts>();
  const std::vector<LiveCounts>& live = code.registerMap.empty() ? computed : code.registerMap;

  listing.rows = listingRows(code.words, {}, function.module().target());
  for (std::size_t i = 0; i < listing.rows.size(); ++i) {
    ListingRow& row = listing.rows[i];
    if (const ori::Instr* origin = code.origin[i]) {
      row.live = live[i];
      if (origin->id < code.uniformityNotes.size()) row.lanes = code.uniformityNotes[origin->id];
      row.ptxLine = origin->source.ptxLine;
      row.place = placeOf(function.module(), origin->source.loc);
      row.phases = provenance(function, *origin, phaseNumbers);
    } else {
      row.padding = true;
    }
  }
  return listing;
}

} // namespace orias::encoder
