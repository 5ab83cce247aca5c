#pragma once

// The common part of all listings, for code from any source.

#include "encoder/listing.h"

#include <map>
#include <span>

namespace orias::encoder {

/// The rows of the code alone, for that target: text, labels, control information. `names` are names of addresses, by
/// byte offset; the other targets of branches are numbered.
std::vector<ListingRow> listingRows(std::span<const isa::Word> words, const std::map<std::uint32_t, std::string>& names,
                                    const isa::Target& target);

/// "saxpy.cu:12": a file without its folders, and a line.
std::string placeName(std::string_view path, std::uint32_t line);

/// Fills in the occupancy; 0 threads: of a usual block.
void setOccupancy(ListingHeader& header, unsigned threadsPerBlock, const isa::Target& target);

} // namespace orias::encoder
