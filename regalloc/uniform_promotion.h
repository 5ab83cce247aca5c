#pragma once

#include "ori/analysis/divergence.h"
#include "regalloc/webs.h"

#include <optional>

namespace orias::regalloc {

/// Webs of file R that can be spilled to uniform registers instead of local memory when R is short (knob 628,
/// pre-allocation promotion to UR, of the document on uniform registers). All lanes that read such a web together must
/// read the same value, and all its definitions must be unguarded, in blocks that all lanes of the warp run together.
class UniformPromotion {
 public:
  /// `room`: the number of uniform registers that are free at all points.
  UniformPromotion(const ori::Function& function, unsigned room) : function_(function), room_(room) {}

  /// Whether the web may be spilled there; if so, subtracts its registers from the room. Also accepts constant values,
  /// which the caller should recompute.
  bool take(const Web& web);
  unsigned room() const { return room_; }

 private:
  bool isWrittenByWarp(ori::VRegId v) const;

  const ori::Function& function_;
  unsigned room_;
  std::size_t known_ = 0;                       // registers in the snapshot; spilling creates more
  const ori::Divergence* divergence_ = nullptr; // computed for the first web
};

} // namespace orias::regalloc
