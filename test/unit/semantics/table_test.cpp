// Each row of the instruction table has a function or is in the list of those that need a machine, and the functions
// expect the slots of the rows.

#include "encoder/isa/desc.h"
#include "encoder/isa/semantics/semantics.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

using namespace orias;
using isa::Op;

namespace {

/// The slots that a function expects; empty for rows that need a machine.
const std::map<Op, std::string>& expectedSlots() {
  static const std::map<Op, std::string> all = {
#define ORIAS_LANE(op, function, slots) {Op::op, slots},
#define ORIAS_WARP(op, function, slots) {Op::op, slots},
#define ORIAS_MACHINE(op) {Op::op, ""},
#include "encoder/isa/semantics/functions.inc"
#undef ORIAS_LANE
#undef ORIAS_WARP
#undef ORIAS_MACHINE
  };
  return all;
}

} // namespace

TEST_CASE("every row has a function or is named as the machine's") {
  for (const isa::InstrDesc& d : isa::allInstrs()) {
    CAPTURE(d.name);
    const auto found = expectedSlots().find(d.op);
    REQUIRE(found != expectedSlots().end());
    const bool hasFunction = isa::laneFunction(d.op) != nullptr || isa::warpFunction(d.op) != nullptr;
    CHECK(hasFunction == !found->second.empty());
    if (!hasFunction) continue;
    std::string slots;
    for (const isa::SlotDesc& s : d.slotList())
      slots += (slots.empty() ? "" : " ") + std::string(s.name);
    CHECK(slots == found->second);
  }
}
