#pragma once

#include "tools/lab/store.h"

#include <string>

namespace orias::lab {

enum class TableFormat : std::uint8_t { Text, Csv, Json };

/// A table as columns for a terminal, as CSV (RFC 4180), or as a JSON list of objects.
std::string render(const Store::Table& table, TableFormat format);

} // namespace orias::lab
