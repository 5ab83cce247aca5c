#pragma once

#include "frontend/ids.h"
#include "frontend/names.h"
#include "support/diagnostics.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace orias::ptx {

enum class SymbolKind : std::uint8_t { None, Register, Variable, Function, Label, Prototype, TargetList };

/// The meaning of a name: `id` is a RegisterId, VariableId, … depending on `kind`.
struct Symbol {
  SymbolKind kind = SymbolKind::None;
  std::uint32_t id = kNoId;
  SourceLoc loc;
  explicit operator bool() const { return kind != SymbolKind::None; }
};

/// A family, `%r<100>`: its members become symbols at their first use.
struct Family {
  std::uint64_t count = 0;
  std::uint32_t declaration = 0; ///< defined by the caller
  SourceLoc loc;
};

/// The visible names: a stack of scopes, with the innermost meaning of a name. A lookup is two array accesses. A family
/// `%r<N>` declares `%r0` … `%r(N-1)`. As in ptxas, only the trailing digits determine the member of a name, and `%r07`
/// is `%r7`.
class Scopes {
 public:
  explicit Scopes(NameTable& names) : names_(names) {}

  void enter();
  void leave();
  /// 0 for the scope of the module.
  unsigned depth() const { return static_cast<unsigned>(marks_.size()); }

  /// Declares a name in the innermost scope. If this scope already has it, returns its meaning and declares nothing.
  Symbol declare(NameId name, Symbol symbol);
  /// Likewise for a family; only a clash with a family or a member of the same name counts.
  Symbol declareFamily(NameId base, Family family);
  /// Replaces the meaning of a name that was declared.
  void redefine(NameId name, Symbol symbol);

  Symbol find(NameId name);
  /// The meaning in the innermost scope only.
  Symbol findHere(NameId name);

  /// For a name that `find` does not know: its family, and the canonical name of the member.
  struct Member {
    const Family* family = nullptr;
    NameId canonical = NameId::None;
  };
  Member findMember(NameId name);
  /// The innermost family of this name, or null.
  const Family* findFamily(NameId base);
  /// Declares a member, found by findMember, as a symbol in the scope of its family.
  void addMember(NameId canonical, Symbol symbol);

 private:
  struct Entry {
    Symbol symbol;
    NameId name = NameId::None;
    std::uint32_t depth = 0;
    std::uint32_t previous = kNoId; ///< what the name meant outside
  };
  struct FamilyEntry {
    Family family;
    NameId base = NameId::None;
    std::uint32_t depth = 0;
    std::uint32_t serial = 0; ///< unlike the index, never reused
    std::uint32_t previous = kNoId;
  };
  struct NameInfo {
    std::uint32_t entry = kNoId;
    std::uint32_t family = kNoId;
    NameId base = NameId::None;   ///< without the trailing digits; None: no digits, or not analyzed yet
    std::uint32_t number = kNoId; ///< the digits
    bool analysed = false;
    bool canonical = true;              ///< no leading zeros
    std::uint32_t memberOf = kNoId;     ///< the serial of the family of which `member` is a member
    Symbol member;                      ///< the last member with this name
    std::uint32_t singleScope = kNoId;  ///< for a base name: last scope that declares a single `base<number>`
    std::uint32_t lowestSingle = kNoId; ///< and the lowest number among these
  };
  struct Mark {
    std::size_t entries;
    std::size_t families;
    std::uint32_t serial;
  };

  NameInfo& info(NameId name);
  void analyse(NameId name);
  /// The innermost family that contains the name, if no declaration of the name itself is further inside.
  const FamilyEntry* coveringFamily(NameId name);
  std::uint32_t serial() const { return marks_.empty() ? 0 : marks_.back().serial; }

  NameTable& names_;
  std::vector<NameInfo> infos_;
  std::vector<Entry> entries_;
  std::vector<FamilyEntry> families_;
  std::vector<Mark> marks_;
  std::uint32_t serials_ = 0; ///< of scopes and families
  /// Members of families that are hidden by an inner family of the same name: {family's serial, name}.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Symbol> hidden_;
};

} // namespace orias::ptx
