#pragma once

// One compilation written down: as a page for people (docs/report.md), or as JSON (report.schema.json).

#include "orias/orias.h"

#include <span>
#include <string>

namespace orias::report {

enum class Format : std::uint8_t { Html, Json };

struct ReportOptions {
  Format format = Format::Html;
  std::string command;    ///< for people: how the compilation was asked for
  std::string launchFile; ///< a launch of one of the kernels, which is run; may be empty
};

struct Reported {
  Result result;
  std::string report;                ///< empty after errors
  std::vector<std::string> problems; ///< why the launch says nothing, or less
};

/// As orias::assemble(), with a report. Throws orias::Error for a launch that does not fit the program, too.
Reported assembleWithReport(std::span<const Input> inputs, const Options& options, const ReportOptions& report);

} // namespace orias::report
