#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// The orderings of MEMBAR: .sc fences are totally ordered, the others only order the accesses around them.
enum class FenceKind : std::uint8_t { Sc = 0, All = 1 };

/// Emits only MEMBAR.
void emitMembar(FunctionLowering& f, FenceKind kind, Mod scope);
/// Emits MEMBAR and the instructions that accompany it at the scope (observed for sm_90). `invalidate`: later loads see
/// the writes of others.
void emitFence(FunctionLowering& f, FenceKind kind, Mod scope, bool invalidate);
/// The fence before a store, or atomic, with release semantics.
void emitReleaseFence(FunctionLowering& f, Mod scope);
/// The fence after a load, or atomic, with acquire semantics.
void emitAcquireFence(FunctionLowering& f, Mod scope);

/// A fence that is restricted to shared memory (`.sync_restrict`, observed for sm_90).
void emitRestrictedFence(FunctionLowering& f, const Form& form);

/// Converges the lanes of the mask. `exclusive`: for operations that involve all active lanes; lanes with other masks
/// must not be among them. It does not order memory (Instr::mayContract), because the operations that use it do not.
void synchronizeWarp(FunctionLowering& f, const Value& mask, bool exclusive);

} // namespace orias::ptx
