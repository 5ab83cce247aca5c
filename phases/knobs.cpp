#include "phases/knobs.h"

#include "phases/knob_use.h"
#include "support/check.h"
#include "support/nearest.h"

#include <charconv>
#include <fmt/format.h>

namespace orias::phases {

namespace {

constexpr KnobInfo kKnobs[] = {
#define ORIAS_KNOB(name, number, type, defaultValue, lowest, highest, phase, text)                                     \
  {#name, number, KnobType::type, defaultValue, lowest, highest, phase, text},
#include "phases/knobs.def"
#undef ORIAS_KNOB
};

#undef ORIAS_DEBUG_KNOB
#undef ORIAS_ASSUMPTION_KNOB
constexpr KnobUse kUses[] = {
#define ORIAS_KNOB(...) KnobUse::Tuning,
#define ORIAS_DEBUG_KNOB(...) KnobUse::Debugging,
#define ORIAS_ASSUMPTION_KNOB(...) KnobUse::Assumption,
#include "phases/knobs.def"
#undef ORIAS_KNOB
#undef ORIAS_DEBUG_KNOB
#undef ORIAS_ASSUMPTION_KNOB
};

/// A name without its dashes, in lower case.
std::string plainName(std::string_view name) {
  std::string plain;
  for (char c : name)
    if (c != '-') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return plain;
}

const KnobInfo* findKnob(std::string_view nameOrNumber) {
  const std::string plain = plainName(nameOrNumber);
  for (const KnobInfo& knob : kKnobs)
    if (plainName(knob.name) == plain) return &knob;
  unsigned number = 0;
  auto [end, error] = std::from_chars(nameOrNumber.data(), nameOrNumber.data() + nameOrNumber.size(), number);
  if (error != std::errc() || end != nameOrNumber.data() + nameOrNumber.size() || number == 0) return nullptr;
  for (const KnobInfo& knob : kKnobs)
    if (knob.number == number) return &knob;
  return nullptr;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\r'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::string_view typeName(KnobType type) {
  return type == KnobType::Bool ? "bool" : type == KnobType::Int ? "int" : "text";
}

} // namespace

std::span<const KnobInfo> allKnobs() {
  return kKnobs;
}

KnobUse useOf(const KnobInfo& knob) {
  return kUses[&knob - kKnobs];
}

Knobs::Knobs() {
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i] = kKnobs[i].defaultValue;
}

void Knobs::set(std::string_view nameOrNumber, std::string_view value) {
  const KnobInfo* knob = findKnob(nameOrNumber);
  if (!knob) {
    NearestName nearest(nameOrNumber);
    for (const KnobInfo& k : kKnobs)
      nearest.offer(k.name);
    throw Error(nearest.best().empty()
                    ? fmt::format("unknown knob '{}'; --list-knobs lists them", nameOrNumber)
                    : fmt::format("unknown knob '{}'; did you mean '{}'?", nameOrNumber, nearest.best()));
  }
  const auto index = static_cast<std::size_t>(knob - kKnobs);
  lastText_ = kNone;
  if (knob->type == KnobType::Text) {
    texts_[index] = value;
    lastText_ = index;
    return;
  }
  std::int64_t number = 0;
  if (knob->type == KnobType::Bool && (value == "true" || value == "on")) {
    number = 1;
  } else if (knob->type == KnobType::Bool && (value == "false" || value == "off")) {
    number = 0;
  } else {
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size())
      throw Error(fmt::format("knob '{}' takes {}, not '{}'", knob->name,
                              knob->type == KnobType::Bool ? "true or false" : "a whole number", value));
  }
  if (number < knob->lowest || number > knob->highest)
    throw Error(fmt::format("knob '{}' takes {} to {}, not {}", knob->name, knob->lowest, knob->highest, number));
  values_[index] = number;
}

bool Knobs::lists(Knob knob, std::string_view name) const {
  std::string_view rest = text(knob);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (trim(rest.substr(0, comma)) == name) return true;
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return false;
}

void Knobs::setFromText(std::string_view assignment) {
  std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos && lastText_ != kNone) {
    texts_[lastText_] += fmt::format(",{}", trim(assignment));
    return;
  }
  if (equals == std::string_view::npos)
    throw Error(fmt::format("a knob is set by NAME=VALUE, not by '{}'", assignment));
  set(trim(assignment.substr(0, equals)), trim(assignment.substr(equals + 1)));
}

void Knobs::setFromList(std::string_view text) {
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      std::size_t comma = line.find(',');
      std::string_view item = trim(line.substr(0, comma));
      line = comma == std::string_view::npos ? std::string_view{} : line.substr(comma + 1);
      if (!item.empty()) setFromText(item);
    }
  }
}

std::string Knobs::list() {
  std::string out = fmt::format("{:<26} {:>6} {:<5} {:>8} {:<14} {:>5}  {}\n", "knob", "number", "type", "default",
                                "range", "phase", "what it does");
  for (const KnobInfo& k : kKnobs) {
    const KnobUse use = useOf(k);
    out += fmt::format("{:<26} {:>6} {:<5} {:>8} {:<14} {:>5}  {}{}\n", k.name,
                       k.number ? fmt::format("{}", k.number) : "-", typeName(k.type), k.defaultValue,
                       k.type == KnobType::Text ? "names" : fmt::format("{}..{}", k.lowest, k.highest), k.phase, k.text,
                       use == KnobUse::Debugging    ? " [debugging]"
                       : use == KnobUse::Assumption ? " [assumption]"
                                                    : "");
  }
  return out;
}

} // namespace orias::phases
