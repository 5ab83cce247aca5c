#include "encoder/isa/effects.h"

namespace orias::isa {

LatencyClass latencyClassOf(Op op, std::span<const std::uint8_t, kMaxMods>) {
  return desc(op).latencyClass;
}

} // namespace orias::isa
