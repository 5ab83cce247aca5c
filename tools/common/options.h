#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>

#include <span>
#include <string>

namespace orias::tools {

/// The name under which readOptions() keeps the words that are no options, as std::vector<std::string>.
inline constexpr const char* kInputs = "input";

/// Reads a command line in the Unix style: options of `known` in their whole names, and inputs. An option with an
/// implicit value takes another only after `=`, and is `-` (standard output) without. Throws UsageError; for an unknown
/// option with the name that is nearest to it.
boost::program_options::variables_map readOptions(const boost::program_options::options_description& known,
                                                  std::span<const std::string> words);

} // namespace orias::tools
