#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace orias::dis {

/// The parsed command line.
struct CommandLine {
  enum class Show : std::uint8_t { Help, Listing, Graph, Hazards };
  enum class Format : std::uint8_t { Plain, Annotated, Json };
  enum class GraphFormat : std::uint8_t { Text, Dot };

  Show show = Show::Listing;
  Format format = Format::Annotated;
  GraphFormat graphFormat = GraphFormat::Text;
  bool rawWords = false;
  std::string input;                ///< a file's name, `-` for standard input
  std::vector<std::string> kernels; ///< empty: all functions
  friend bool operator==(const CommandLine&, const CommandLine&) = default;
};

/// Reads the words after the program's name. Throws tools::UsageError.
CommandLine parseCommandLine(std::span<const std::string> words);

std::string helpText();

} // namespace orias::dis
