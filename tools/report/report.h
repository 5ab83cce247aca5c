#pragma once

// A record of one compilation: as a page for users (docs/report.md), or as JSON (report.schema.json).

#include "orias/orias.h"

#include <span>
#include <string>

namespace orias::report {

enum class Format : std::uint8_t { Html, Json };

struct ReportOptions {
  Format format = Format::Html;
  std::string command;    ///< for users: the command line of the compilation
  std::string launchFile; ///< a launch of one of the kernels, which is run; may be empty
};

struct Reported {
  Result result;
  std::string report;                ///< empty after errors
  std::vector<std::string> problems; ///< why the data of the launch is missing or incomplete
};

/// As orias::assemble(), with a report. Also throws orias::Error for a launch that does not match the program.
Reported assembleWithReport(std::span<const Input> inputs, const Options& options, const ReportOptions& report);

} // namespace orias::report
