#pragma once

// Documents as pages: one self-contained HTML file each.

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace orias::report {

/// A report of one compilation (report.schema.json). The parts of functions are compressed separately, so that the page
/// decompresses only what is viewed.
std::string kernelPage(const nlohmann::ordered_json& document);

/// The results of sweeps (sweep.schema.json).
std::string sweepPage(const nlohmann::ordered_json& document);

/// The document itself. Invalid UTF-8 is replaced, because names may hold any bytes.
std::string jsonText(const nlohmann::ordered_json& document);

} // namespace orias::report
