#include "frontend/scopes.h"

#include "support/check.h"

#include <algorithm>
#include <string>

namespace orias::ptx {

namespace {
constexpr std::size_t kMaxDigits = 10;
} // namespace

Scopes::NameInfo& Scopes::info(NameId name) {
  if (index(name) >= infos_.size()) infos_.resize(std::max<std::size_t>(names_.size(), index(name) + 1));
  return infos_[index(name)];
}

void Scopes::analyse(NameId name) {
  info(name).analysed = true;
  const std::string_view text = names_.text(name);
  std::size_t first = text.size();
  while (first > 0 && text[first - 1] >= '0' && text[first - 1] <= '9')
    --first;
  const std::string_view digits = text.substr(first);
  if (digits.empty() || digits.size() > kMaxDigits || first == 0) return;
  std::uint64_t number = 0;
  for (char c : digits)
    number = number * 10 + static_cast<unsigned>(c - '0');
  if (number >= kNoId) return;
  const NameId base = names_.intern(text.substr(0, first));
  info(base);
  NameInfo& i = info(name);
  i.base = base;
  i.number = static_cast<std::uint32_t>(number);
  i.canonical = digits.size() == 1 || digits[0] != '0';
}

void Scopes::enter() {
  marks_.push_back({entries_.size(), families_.size(), ++serials_});
}

void Scopes::leave() {
  const Mark mark = marks_.back();
  marks_.pop_back();
  for (; entries_.size() > mark.entries; entries_.pop_back())
    info(entries_.back().name).entry = entries_.back().previous;
  for (; families_.size() > mark.families; families_.pop_back())
    info(families_.back().base).family = families_.back().previous;
  if (marks_.empty()) hidden_.clear();
}

const Scopes::FamilyEntry* Scopes::coveringFamily(NameId name) {
  if (!info(name).analysed) analyse(name);
  const NameInfo& i = info(name);
  if (i.base == NameId::None) return nullptr;
  for (std::uint32_t f = info(i.base).family; f != kNoId; f = families_[f].previous) {
    const FamilyEntry& family = families_[f];
    if (i.entry != kNoId && entries_[i.entry].depth >= family.depth) return nullptr;
    if (i.number < family.family.count) return &family;
  }
  return nullptr;
}

Symbol Scopes::find(NameId name) {
  const FamilyEntry* family = coveringFamily(name);
  NameInfo& i = info(name);
  if (family == nullptr) return i.entry == kNoId ? Symbol() : entries_[i.entry].symbol;
  if (!i.canonical) return find(findMember(name).canonical);
  if (i.memberOf == family->serial) return i.member;
  if (hidden_.empty()) return {};
  const auto found = hidden_.find({family->serial, index(name)});
  return found == hidden_.end() ? Symbol() : found->second;
}

Symbol Scopes::findHere(NameId name) {
  const std::uint32_t entry = info(name).entry;
  if (entry == kNoId || entries_[entry].depth != depth()) return {};
  return entries_[entry].symbol;
}

Symbol Scopes::declare(NameId name, Symbol symbol) {
  if (Symbol before = findHere(name)) return before;
  const FamilyEntry* family = coveringFamily(name);
  if (family != nullptr && family->depth == depth()) return {SymbolKind::Register, kNoId, family->family.loc};
  NameInfo& i = info(name);
  if (i.base != NameId::None) {
    NameInfo& base = info(i.base);
    if (base.singleScope != serial()) {
      base.singleScope = serial();
      base.lowestSingle = i.number;
    }
    base.lowestSingle = std::min(base.lowestSingle, i.number);
  }
  entries_.push_back({symbol, name, depth(), i.entry});
  i.entry = static_cast<std::uint32_t>(entries_.size() - 1);
  return {};
}

Symbol Scopes::declareFamily(NameId name, Family family) {
  NameInfo& base = info(name);
  if (base.family != kNoId && families_[base.family].depth == depth())
    return {SymbolKind::Register, kNoId, families_[base.family].family.loc};
  if (base.singleScope == serial() && base.lowestSingle < family.count)
    return {SymbolKind::Register, kNoId, family.loc};
  families_.push_back({family, name, depth(), ++serials_, base.family});
  base.family = static_cast<std::uint32_t>(families_.size() - 1);
  return {};
}

void Scopes::redefine(NameId name, Symbol symbol) {
  const std::uint32_t entry = info(name).entry;
  ORIAS_CHECK(entry != kNoId);
  entries_[entry].symbol = symbol;
}

Scopes::Member Scopes::findMember(NameId name) {
  const FamilyEntry* family = coveringFamily(name);
  if (family == nullptr) return {};
  const NameInfo i = info(name);
  NameId canonical = name;
  if (!i.canonical) canonical = names_.intern(std::string(names_.text(i.base)) + std::to_string(i.number));
  return {&family->family, canonical};
}

const Family* Scopes::findFamily(NameId base) {
  const std::uint32_t family = info(base).family;
  return family == kNoId ? nullptr : &families_[family].family;
}

void Scopes::addMember(NameId canonical, Symbol symbol) {
  const FamilyEntry* family = coveringFamily(canonical);
  ORIAS_CHECK(family != nullptr);
  NameInfo& i = info(canonical);
  // The earlier meaning of the name is kept if its family is hidden but still exists.
  for (std::uint32_t f = family->previous; f != kNoId; f = families_[f].previous) {
    if (families_[f].serial == i.memberOf) hidden_[{i.memberOf, index(canonical)}] = i.member;
  }
  i.memberOf = family->serial;
  i.member = symbol;
}

} // namespace orias::ptx
