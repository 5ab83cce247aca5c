#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// The orderings of MEMBAR: .sc fences are totally ordered, the others only order the accesses around them.
enum class FenceKind : std::uint8_t { Sc = 0, All = 1 };

/// MEMBAR alone.
void emitMembar(FunctionLowering& f, FenceKind kind, Mod scope);
/// MEMBAR and what belongs to it at the scope (observed for sm_90). `invalidate`: later loads see what others wrote.
void emitFence(FunctionLowering& f, FenceKind kind, Mod scope, bool invalidate);
/// In front of a store, or atomic, with release semantics.
void emitReleaseFence(FunctionLowering& f, Mod scope);
/// Behind a load, or atomic, with acquire semantics.
void emitAcquireFence(FunctionLowering& f, Mod scope);

/// A fence that is restricted to shared memory (`.sync_restrict`, observed for sm_90).
void emitRestrictedFence(FunctionLowering& f, const Form& form);

/// Brings the lanes of the mask together. `exclusive`: for operations that look at all active lanes; lanes with other
/// masks must not be among them. It orders no memory (Instr::mayContract): the operations that it serves do not.
void synchronizeWarp(FunctionLowering& f, const Value& mask, bool exclusive);

} // namespace orias::ptx
