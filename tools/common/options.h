#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>

#include <span>
#include <string>

namespace orias::tools {

/// The name under which readOptions() stores words that are not options, as std::vector<std::string>.
inline constexpr const char* kInputs = "input";

/// Parses a command line in the Unix style: options of `known` with their full names, and inputs. An option with an
/// implicit value takes another value only after `=`; its default is `-` (standard output). Throws UsageError; for an
/// unknown option with the nearest name.
boost::program_options::variables_map readOptions(const boost::program_options::options_description& known,
                                                  std::span<const std::string> words);

} // namespace orias::tools
