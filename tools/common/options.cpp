#include "tools/common/options.h"

#include "support/nearest.h"
#include "tools/common/program.h"

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <vector>

namespace orias::tools {

namespace po = boost::program_options;

namespace {

using Words = std::vector<std::string>;

[[noreturn]] void failUnknown(const po::options_description& known, const std::string& word) {
  Words names; // NearestName keeps views of these
  for (const auto& option : known.options())
    names.push_back("--" + option->long_name());
  NearestName nearest(word);
  for (const std::string& name : names)
    nearest.offer(name);
  throw UsageError(fmt::format("unknown option '{}'; {}", word,
                               nearest.best().empty() ? "--help lists all of them"
                                                      : fmt::format("did you mean '{}'?", nearest.best())));
}

/// Boost lets an option with an implicit value take the next word, which is an input here: `--trace LAUNCH.json`.
std::string withItsValue(const po::options_description& known, const std::string& word) {
  if (!word.starts_with("--") || word.find('=') != std::string::npos) return word;
  const po::option_description* option = known.find_nothrow(word.substr(2), /*approx=*/false);
  const bool hasImplicit = option && option->semantic()->min_tokens() == 0 && option->semantic()->max_tokens() == 1;
  return hasImplicit ? word + "=-" : word;
}

} // namespace

po::variables_map readOptions(const po::options_description& known, std::span<const std::string> words) {
  po::options_description all = known;
  all.add_options()(kInputs, po::value<Words>());
  po::positional_options_description inputs;
  inputs.add(kInputs, -1);
  constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    Words args;
    for (const std::string& word : words)
      args.push_back(withItsValue(known, word));
    po::store(po::command_line_parser(args).options(all).positional(inputs).style(kStyle).run(), values);
  } catch (const po::unknown_option& e) {
    failUnknown(known, e.get_option_name().substr(0, e.get_option_name().find('=')));
  } catch (const po::error& e) {
    throw UsageError(e.what());
  }
  return values;
}

} // namespace orias::tools
