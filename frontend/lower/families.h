#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// Lowers one instruction; reports what it cannot do through FunctionLowering::unsupported.
using Handler = void (*)(FunctionLowering&, const Instruction&, const Form&);

/// How a guard applies to the instructions that a handler emits.
enum class Guarding : std::uint8_t {
  Result, ///< pure: always computed, only the write of the results is guarded
  Direct  ///< all emitted instructions are guarded (memory, control, synchronization)
};

struct HandlerEntry {
  Handler handler = nullptr; ///< null: not supported yet
  Guarding guarding = Guarding::Result;
};

/// The handler that lowers an operation of PTX.
HandlerEntry handlerFor(Op op);

// One function per instruction, grouped by the file that defines them.

// stack.cpp
void lowerAlloca(FunctionLowering&, const Instruction&, const Form&);
void lowerStacksave(FunctionLowering&, const Instruction&, const Form&);
void lowerStackrestore(FunctionLowering&, const Instruction&, const Form&);

// integer.cpp
void lowerAddSub(FunctionLowering&, const Instruction&, const Form&);
void lowerCarry(FunctionLowering&, const Instruction&, const Form&);
void lowerMulMad(FunctionLowering&, const Instruction&, const Form&);
void lowerMadCarry(FunctionLowering&, const Instruction&, const Form&);
void lowerMul24(FunctionLowering&, const Instruction&, const Form&);
void lowerDotProduct(FunctionLowering&, const Instruction&, const Form&);
void lowerSad(FunctionLowering&, const Instruction&, const Form&);
void lowerDivRem(FunctionLowering&, const Instruction&, const Form&);
void lowerAbsNeg(FunctionLowering&, const Instruction&, const Form&);
void lowerMinMax(FunctionLowering&, const Instruction&, const Form&);

// bits.cpp
void lowerLogic(FunctionLowering&, const Instruction&, const Form&);
void lowerCnot(FunctionLowering&, const Instruction&, const Form&);
void lowerLop3(FunctionLowering&, const Instruction&, const Form&);
void lowerShift(FunctionLowering&, const Instruction&, const Form&);
void lowerShf(FunctionLowering&, const Instruction&, const Form&);
void lowerBitCount(FunctionLowering&, const Instruction&, const Form&);
void lowerBfe(FunctionLowering&, const Instruction&, const Form&);
void lowerBfi(FunctionLowering&, const Instruction&, const Form&);
void lowerFns(FunctionLowering&, const Instruction&, const Form&);
void lowerBmsk(FunctionLowering&, const Instruction&, const Form&);
void lowerSzext(FunctionLowering&, const Instruction&, const Form&);
void lowerPrmt(FunctionLowering&, const Instruction&, const Form&);

// compare.cpp
void lowerSetp(FunctionLowering&, const Instruction&, const Form&);
void lowerSet(FunctionLowering&, const Instruction&, const Form&);
void lowerSelp(FunctionLowering&, const Instruction&, const Form&);
void lowerSlct(FunctionLowering&, const Instruction&, const Form&);

// float.cpp
void lowerFloatArith(FunctionLowering&, const Instruction&, const Form&);
void lowerFloatDivision(FunctionLowering&, const Instruction&, const Form&);
void lowerFloatFunction(FunctionLowering&, const Instruction&, const Form&);
void lowerTestp(FunctionLowering&, const Instruction&, const Form&);
void lowerCopysign(FunctionLowering&, const Instruction&, const Form&);

// convert.cpp
void lowerCvt(FunctionLowering&, const Instruction&, const Form&);

// move.cpp
void lowerMov(FunctionLowering&, const Instruction&, const Form&);
void lowerCvta(FunctionLowering&, const Instruction&, const Form&);
void lowerIstypep(FunctionLowering&, const Instruction&, const Form&);
void lowerIsspacep(FunctionLowering&, const Instruction&, const Form&);

// memory.cpp
void lowerLoad(FunctionLowering&, const Instruction&, const Form&);
void lowerStore(FunctionLowering&, const Instruction&, const Form&);
void lowerPrefetch(FunctionLowering&, const Instruction&, const Form&);
void lowerLineControl(FunctionLowering&, const Instruction&, const Form&);

// policy.cpp
void lowerCreatepolicy(FunctionLowering&, const Instruction&, const Form&);

// cluster.cpp
void lowerMapa(FunctionLowering&, const Instruction&, const Form&);
void lowerGetctarank(FunctionLowering&, const Instruction&, const Form&);

// atomic.cpp
void lowerAtom(FunctionLowering&, const Instruction&, const Form&);
void lowerRed(FunctionLowering&, const Instruction&, const Form&);

// texture.cpp
void lowerTex(FunctionLowering&, const Instruction&, const Form&);
/// tex.grad with gradients that TXD does not accept.
void lowerTexByFurtherGradients(FunctionLowering&, const Instruction&, const Form&);
void lowerSurfaceLoad(FunctionLowering&, const Instruction&, const Form&);
void lowerSurfaceStore(FunctionLowering&, const Instruction&, const Form&);
void lowerSurfaceReduction(FunctionLowering&, const Instruction&, const Form&);
void lowerTextureQuery(FunctionLowering&, const Instruction&, const Form&);

// async_copy.cpp
void lowerCpAsync(FunctionLowering&, const Instruction&, const Form&);
void lowerCpAsyncWait(FunctionLowering&, const Instruction&, const Form&);

// video.cpp
void lowerVideo(FunctionLowering&, const Instruction&, const Form&);
void lowerVideoMad(FunctionLowering&, const Instruction&, const Form&);
void lowerVideo2(FunctionLowering&, const Instruction&, const Form&);
void lowerVideo4(FunctionLowering&, const Instruction&, const Form&);

// mbarrier.cpp
void lowerMbarrier(FunctionLowering&, const Instruction&, const Form&);
void lowerMbarrierPendingCount(FunctionLowering&, const Instruction&, const Form&);
void lowerProxyFence(FunctionLowering&, const Instruction&, const Form&);

// wgmma.cpp
void lowerWgmma(FunctionLowering&, const Instruction&, const Form&);
void lowerWgmmaOrder(FunctionLowering&, const Instruction&, const Form&);

// tensor_allocation.cpp
void lowerTensorAllocate(FunctionLowering&, const Instruction&, const Form&);
void lowerTensorDeallocate(FunctionLowering&, const Instruction&, const Form&);
void lowerTensorRelinquish(FunctionLowering&, const Instruction&, const Form&);

// tensor_memory.cpp
void lowerTensorLoad(FunctionLowering&, const Instruction&, const Form&);
void lowerTensorStore(FunctionLowering&, const Instruction&, const Form&);
void lowerTensorWait(FunctionLowering&, const Instruction&, const Form&);
void lowerTensorCommit(FunctionLowering&, const Instruction&, const Form&);
void lowerTensorUnitCopy(FunctionLowering&, const Instruction&, const Form&);
void lowerTensorShift(FunctionLowering&, const Instruction&, const Form&);

// tensor_product.cpp
void lowerTensorProduct(FunctionLowering&, const Instruction&, const Form&);

// wmma.cpp
void lowerWmmaLoad(FunctionLowering&, const Instruction&, const Form&);
void lowerWmmaStore(FunctionLowering&, const Instruction&, const Form&);
void lowerWmmaMma(FunctionLowering&, const Instruction&, const Form&);

// sync.cpp
void lowerBarrier(FunctionLowering&, const Instruction&, const Form&);
void lowerClusterBarrier(FunctionLowering&, const Instruction&, const Form&);
void lowerWarpBarrier(FunctionLowering&, const Instruction&, const Form&);
void lowerMembar(FunctionLowering&, const Instruction&, const Form&);
void lowerNanosleep(FunctionLowering&, const Instruction&, const Form&);
void lowerPmevent(FunctionLowering&, const Instruction&, const Form&);
void lowerGridControl(FunctionLowering&, const Instruction&, const Form&);

// warp.cpp
void lowerShfl(FunctionLowering&, const Instruction&, const Form&);
void lowerVote(FunctionLowering&, const Instruction&, const Form&);
void lowerMatch(FunctionLowering&, const Instruction&, const Form&);
void lowerRedux(FunctionLowering&, const Instruction&, const Form&);
void lowerActivemask(FunctionLowering&, const Instruction&, const Form&);
void lowerElect(FunctionLowering&, const Instruction&, const Form&);

// matrix.cpp
void lowerLdmatrix(FunctionLowering&, const Instruction&, const Form&);
void lowerStmatrix(FunctionLowering&, const Instruction&, const Form&);
void lowerMovmatrix(FunctionLowering&, const Instruction&, const Form&);
void lowerMma(FunctionLowering&, const Instruction&, const Form&);

// control.cpp
void lowerBrxIdx(FunctionLowering&, const Instruction&, const Form&);
void lowerSetmaxnreg(FunctionLowering&, const Instruction&, const Form&);
void lowerBra(FunctionLowering&, const Instruction&, const Form&);
void lowerExit(FunctionLowering&, const Instruction&, const Form&);
void lowerCall(FunctionLowering&, const Instruction&, const Form&); // call_lowering.cpp
void lowerTrap(FunctionLowering&, const Instruction&, const Form&);

// bulk_copy.cpp
void lowerBulkCopy(FunctionLowering&, const Instruction&, const Form&);
void lowerBulkPrefetch(FunctionLowering&, const Instruction&, const Form&);
void lowerTensorCopy(FunctionLowering&, const Instruction&, const Form&);
void lowerBulkGroup(FunctionLowering&, const Instruction&, const Form&);
void lowerBulkStore(FunctionLowering&, const Instruction&, const Form&);
void lowerTryCancel(FunctionLowering&, const Instruction&, const Form&);
void lowerQueryCancel(FunctionLowering&, const Instruction&, const Form&); // cluster.cpp

// tensormap.cpp
void lowerTensormapReplace(FunctionLowering&, const Instruction&, const Form&);
void lowerTensormapCopy(FunctionLowering&, const Instruction&, const Form&);

// multimem.cpp
void lowerMultimemLoad(FunctionLowering&, const Instruction&, const Form&);

// remote.cpp
void lowerRemoteStore(FunctionLowering&, const Instruction&, const Form&);
void lowerRemoteReduction(FunctionLowering&, const Instruction&, const Form&);

} // namespace orias::ptx
