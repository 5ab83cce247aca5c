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

enum class KnobType : std::uint8_t { Bool, Int, Text };

struct KnobInfo {
  std::string_view name;
  unsigned number; ///< in the literature; 0: a knob of orias only
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
  /// The value of a Text knob: names separated by commas.
  const std::string& text(Knob knob) const { return texts_[static_cast<std::size_t>(knob)]; }
  /// Whether a Text knob lists the name.
  bool lists(Knob knob, std::string_view name) const;

  /// Sets a knob by its name or its number. Case and dashes in names do not matter: "remat-iv" is RematIv. Throws
  /// orias::Error if there is no such knob (with the nearest name), or if the value has the wrong type or is out of
  /// range.
  void set(std::string_view nameOrNumber, std::string_view value);
  /// Sets a knob from "NAME=VALUE", the form of --knob. Text without '=' is one more name for the Text knob that was
  /// set last. Throws orias::Error.
  void setFromText(std::string_view assignment);
  /// Sets knobs from many assignments separated by new lines or commas; '#' starts a comment. The form of --knobs-file
  /// and ORIAS_KNOBS.
  void setFromList(std::string_view text);

  /// The table of --list-knobs.
  static std::string list();

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(Knob::kCount);
  std::array<std::int64_t, static_cast<std::size_t>(Knob::kCount)> values_;
  std::array<std::string, static_cast<std::size_t>(Knob::kCount)> texts_;
  std::size_t lastText_ = kNone; ///< set by the last assignment
};

} // namespace orias::phases
