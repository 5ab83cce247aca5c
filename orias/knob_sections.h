#pragma once

#include "phases/knobs.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace orias {

/// The knobs of one compilation: those for all functions, and those of sections of knob files. A line `[NAME]` begins
/// the settings for the kernel or function of that name, and `[*]` settings for all again.
class KnobSections {
 public:
  /// Reads the settings in order (Options::knobs). Throws orias::Error for what Knobs::setFromList does not take, and
  /// for knobs of phases of modules in the section of a function.
  explicit KnobSections(std::span<const std::string> settings);

  const phases::Knobs& all() const { return all_; }
  /// What holds for a function: its section goes before what is said for all.
  const phases::Knobs& of(std::string_view function) const;

 private:
  phases::Knobs all_;
  std::map<std::string, phases::Knobs, std::less<>> sections_;
};

} // namespace orias
