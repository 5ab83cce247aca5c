#pragma once

#include "ori/analysis/divergence.h"
#include "regalloc/webs.h"

#include <optional>

namespace orias::regalloc {

/// Webs of file R that can wait in uniform registers instead of local memory when R is short (knob 628,
/// pre-allocation promotion to UR, of the document on uniform registers): all lanes that read them together read the
/// same, and they are written, without guards, in blocks that all lanes of the warp run together only.
class UniformRefuge {
 public:
  /// `room`: the number of uniform registers that are free at all points.
  UniformRefuge(const ori::Function& function, unsigned room) : function_(function), room_(room) {}

  /// Whether the web may go there; takes its registers off the room then. Constant values are for the caller to
  /// recompute: they are taken, too.
  bool take(const Web& web);
  unsigned room() const { return room_; }

 private:
  bool isWrittenByWarp(ori::VRegId v) const;

  const ori::Function& function_;
  unsigned room_;
  std::size_t known_ = 0;                       // registers in the snapshot; spilling makes more
  const ori::Divergence* divergence_ = nullptr; // computed for the first web
};

} // namespace orias::regalloc
