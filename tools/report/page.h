#pragma once

// Documents as pages: one HTML file each, which needs nothing else.

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace orias::report {

/// A report of one compilation (report.schema.json). The parts of functions are compressed one by one, so that the page
/// unpacks only what is looked at.
std::string kernelPage(const nlohmann::ordered_json& document);

/// The results of sweeps (sweep.schema.json).
std::string sweepPage(const nlohmann::ordered_json& document);

/// The document itself. Bytes that are no UTF-8 are replaced: names may hold any.
std::string jsonText(const nlohmann::ordered_json& document);

} // namespace orias::report
