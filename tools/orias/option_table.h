#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace orias::driver {

/// The kind of an option's value.
enum class Takes : std::uint8_t {
  Nothing,   ///< a flag
  Bool,      ///< `true` or `false`
  Number,    ///< an unsigned number
  Registers, ///< a number, `archmin` or `archmax`
  Text,      ///< one word
  GluedText, ///< a file after `=`; default `-`, standard output
  List,      ///< words separated by commas; the option may be repeated
  Choice,    ///< one of OptionSpec::choices
};

/// The effect of an option here.
enum class Effect : std::uint8_t {
  Full,
  Always,  ///< its request always holds, with or without it
  Hint,    ///< only tunes the code; accepted without effect
  Warned,  ///< requests other code; accepted without effect, with a warning
  Refused, ///< requests other code that its users rely on; an error
};

enum class Option : std::uint8_t {
#define ORIAS_OPTION(id, ...) id,
#include "tools/orias/options.def"
};

struct OptionSpec {
  Option id;
  bool ours;                  ///< not an option of ptxas
  std::string_view longName;  ///< without dashes
  std::string_view shortName; ///< without dash; may be empty
  Takes takes;
  Effect effect;
  std::string_view valueText; ///< the value's name in the help; for Takes::Choice the choices, separated by `|`
  std::string_view help;

  /// `--name`, as messages name the option.
  std::string display() const { return "--" + std::string(longName); }
  bool repeats() const { return takes == Takes::List; }
};

/// Every option, in the order of the help: first those of ptxas, then ours.
std::span<const OptionSpec> optionTable();

const OptionSpec& spec(Option id);

/// The option with this long or short name (without dashes), or null.
const OptionSpec* findOption(std::string_view name);

/// The long or short name nearest to `name`, with its dashes; empty if nothing is near.
std::string nearestOption(std::string_view name);

} // namespace orias::driver
