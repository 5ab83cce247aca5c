#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace orias::phases {

enum class Knob : std::uint16_t {
#define ORIAS_KNOB(name, ...) name,
#include "phases/knobs.def"
#undef ORIAS_KNOB
  kCount
};

enum class KnobType : std::uint8_t { Bool, Int };

struct KnobInfo {
  std::string_view name;
  unsigned number; ///< in the literature; 0 = ours
  KnobType type;
  std::int64_t defaultValue;
  std::int64_t lowest;
  std::int64_t highest;
  std::string_view phase; ///< number of the phase that reads it
  std::string_view text;
};

std::span<const KnobInfo> allKnobs();

/// The values of all knobs in one compilation.
class Knobs {
 public:
  Knobs();

  std::int64_t get(Knob knob) const { return values_[static_cast<std::size_t>(knob)]; }
  bool enabled(Knob knob) const { return get(knob) != 0; }

  /// Sets a knob by its name or its number. Throws orias::Error when there is no such knob (naming the nearest one), or
  /// when the value is not of its type or out of its range.
  void set(std::string_view nameOrNumber, std::string_view value);
  /// "NAME=VALUE", the form of --knob. Throws orias::Error.
  void setFromText(std::string_view assignment);
  /// Many assignments separated by new lines or commas; '#' starts a comment. The form of --knobs-file and ORIAS_KNOBS.
  void setFromList(std::string_view text);

  /// The table of --list-knobs.
  static std::string list();

 private:
  std::array<std::int64_t, static_cast<std::size_t>(Knob::kCount)> values_;
};

} // namespace orias::phases
