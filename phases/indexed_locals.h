#pragma once

#include "ori/builder.h"
#include "phases/address_flow.h"

#include <cstdint>
#include <span>
#include <vector>

namespace orias::phases {

/// Puts small local variables with an indexed address into registers (phase 37b): a load selects one of the words by
/// the bits of the index, and a store compares the index with that of each word.
class IndexedLocals {
 public:
  IndexedLocals(ori::Function& function, const AddressFlow& flow, const Knobs& knobs)
      : function_(function), flow_(flow), mostChoices_(knobs.get(Knob::IndexedLocalChoices)) {}

  /// Why the object must remain in memory; null if it can be in registers. `accesses` are all its accesses.
  const char* obstacle(std::uint32_t object, std::span<const FrameAccess> accesses) const;

  /// Emits the code of one access with an unknown offset, before it. `words` are the registers of the whole object.
  void emit(const FrameAccess& access, std::span<const ori::VRegId> words);

  /// After all accesses are removed: makes addresses in the object relative to its start, so that it is unused.
  void dropBase(std::uint32_t object);

 private:
  bool isShared(const isa::Operand& address) const;
  bool isAddressOf(std::uint32_t object, const isa::Operand& operand, unsigned index) const;
  bool passesOnly(std::uint32_t object, const ori::Instr& instr, bool isAccess) const;
  std::vector<isa::Operand> chosen(ori::Builder& b, const isa::Operand& index, const FrameAccess& access,
                                   std::span<const ori::VRegId> words);

  ori::Function& function_;
  const AddressFlow& flow_;
  const std::int64_t mostChoices_;
};

} // namespace orias::phases
