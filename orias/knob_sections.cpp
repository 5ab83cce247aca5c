#include "orias/knob_sections.h"

#include "support/check.h"

#include <fmt/format.h>

#include <vector>

namespace orias {

namespace {

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The name of the section that the line begins, if any.
std::string_view sectionOf(std::string_view line) {
  line = trim(line.substr(0, line.find('#')));
  return line.size() > 2 && line.front() == '[' && line.back() == ']' ? trim(line.substr(1, line.size() - 2))
                                                                      : std::string_view{};
}

/// Module phases process all functions together.
void refuseModuleKnobs(const phases::Knobs& section, const phases::Knobs& before, std::string_view name) {
  for (std::size_t k = 0; k < phases::allKnobs().size(); ++k) {
    const phases::KnobInfo& info = phases::allKnobs()[k];
    const auto knob = static_cast<phases::Knob>(k);
    if (info.phase.starts_with('M') && section.get(knob) != before.get(knob))
      throw Error(fmt::format("knob '{}' is read by phase {} for the whole module; it cannot be set in section [{}]",
                              info.name, info.phase, name));
  }
}

} // namespace

KnobSections::KnobSections(std::span<const std::string> settings) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::string& setting : settings) {
    std::string_view rest = setting;
    std::string section, forAll;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      if (const std::string_view name = sectionOf(line); !name.empty())
        section = name == "*" ? std::string_view{} : name;
      else if (section.empty())
        forAll += std::string(line) + "\n";
      else
        texts.emplace_back(section, line);
    }
    all_.setFromList(forAll);
  }
  for (const auto& [name, line] : texts)
    sections_.try_emplace(name, all_).first->second.setFromList(line);
  for (const auto& [name, knobs] : sections_)
    refuseModuleKnobs(knobs, all_, name);
}

const phases::Knobs& KnobSections::of(std::string_view function) const {
  const auto at = sections_.find(function);
  return at == sections_.end() ? all_ : at->second;
}

} // namespace orias
