#pragma once

#include "frontend/ids.h"
#include "support/arena.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace orias::ptx {

/// Interned strings. The same text always has the same NameId. Ids are assigned from 0 in the order of first use.
class NameTable {
 public:
  NameTable();

  NameId intern(std::string_view text);
  /// The id of a text that was interned before, else NameId::None.
  NameId find(std::string_view text) const;
  std::string_view text(NameId id) const { return texts_[index(id)]; }
  std::size_t size() const { return texts_.size(); }

 private:
  static std::uint32_t hash(std::string_view text);
  void grow();

  struct Slot {
    std::uint32_t id = kNoId;
    std::uint32_t hash = 0;
  };

  Arena arena_;
  std::vector<std::string_view> texts_;
  std::vector<Slot> slots_; ///< open addressing, a power of two
};

} // namespace orias::ptx
