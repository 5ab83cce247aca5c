#pragma once

#include "ori/builder.h"
#include "phases/address_flow.h"

#include <cstdint>
#include <span>
#include <vector>

namespace orias::phases {

/// Small local variables whose address is computed with an index, as registers (phase 37b): a load selects one of the
/// words by the bits of the index, and a store compares the index with that of each word.
class IndexedLocals {
 public:
  IndexedLocals(ori::Function& function, const AddressFlow& flow, const Knobs& knobs)
      : function_(function), flow_(flow), mostChoices_(knobs.get(Knob::IndexedLocalChoices)) {}

  /// Why the object stays in memory; null: the accesses, which are all of it, can do without it.
  const char* obstacle(std::uint32_t object, std::span<const FrameAccess> accesses) const;

  /// Emits the code of one access with an unknown offset, before it. `words` are the registers of the whole object.
  void emit(const FrameAccess& access, std::span<const ori::VRegId> words);

  /// After all accesses are gone: makes addresses in the object relative to its start, so that it is unused.
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
