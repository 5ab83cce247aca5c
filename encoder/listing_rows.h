#pragma once

// The common part of all listings, for code from any source.

#include "encoder/listing.h"

#include <map>
#include <span>

namespace orias::encoder {

/// The rows with what the code alone gives: text, labels, control information. `names` are the names of addresses, by
/// byte offset; other branch targets get numbered labels.
std::vector<ListingRow> listingRows(std::span<const isa::Word> words, const std::map<std::uint32_t, std::string>& names,
                                    const isa::Target& target);

/// "saxpy.cu:12": the file name without directories, and the line.
std::string placeName(std::string_view path, std::uint32_t line);

/// Fills in the occupancy for a block of `threadsPerBlock` threads; 0: a default block size.
void setOccupancy(ListingHeader& header, unsigned threadsPerBlock, const isa::Target& target);

} // namespace orias::encoder
