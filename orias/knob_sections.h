#pragma once

#include "phases/knobs.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace orias {

/// The knobs of one compilation: for all functions, and for single functions, from the sections of knob files. A line
/// `[NAME]` begins the settings of that kernel or function, and `[*]` those of all functions.
class KnobSections {
 public:
  /// Reads the settings in order (Options::knobs). Throws orias::Error for settings that Knobs::setFromList rejects,
  /// and for knobs of module phases in the section of a function.
  explicit KnobSections(std::span<const std::string> settings);

  const phases::Knobs& all() const { return all_; }
  /// The knobs of a function. Its section overrides the settings for all functions.
  const phases::Knobs& of(std::string_view function) const;

 private:
  phases::Knobs all_;
  std::map<std::string, phases::Knobs, std::less<>> sections_;
};

} // namespace orias
