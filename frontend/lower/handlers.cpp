#include "frontend/lower/families.h"

namespace orias::ptx {

HandlerEntry handlerFor(Op op) {
  constexpr Guarding direct = Guarding::Direct;
  switch (op) {
  case Op::Add:
  case Op::Sub: return {lowerAddSub};
  case Op::Addc:
  case Op::Subc: return {lowerCarry};
  case Op::Mul:
  case Op::Mad:
  case Op::Fma: return {lowerMulMad};
  case Op::Madc: return {lowerMadCarry};
  case Op::Mul24:
  case Op::Mad24: return {lowerMul24};
  case Op::Sad: return {lowerSad};
  case Op::Dp4a:
  case Op::Dp2a: return {lowerDotProduct};
  case Op::Div:
  case Op::Rem: return {lowerDivRem};
  case Op::Abs:
  case Op::Neg: return {lowerAbsNeg};
  case Op::Min:
  case Op::Max: return {lowerMinMax};

  case Op::And:
  case Op::Or:
  case Op::Xor:
  case Op::Not: return {lowerLogic};
  case Op::Cnot: return {lowerCnot};
  case Op::Lop3: return {lowerLop3};
  case Op::Shl:
  case Op::Shr: return {lowerShift};
  case Op::Shf: return {lowerShf};
  case Op::Popc:
  case Op::Clz:
  case Op::Bfind:
  case Op::Brev: return {lowerBitCount};
  case Op::Bfe: return {lowerBfe};
  case Op::Bfi: return {lowerBfi};
  case Op::Bmsk: return {lowerBmsk};
  case Op::Fns: return {lowerFns};
  case Op::Szext: return {lowerSzext};
  case Op::Prmt: return {lowerPrmt};

  case Op::Setp: return {lowerSetp};
  case Op::Set: return {lowerSet};
  case Op::Selp: return {lowerSelp};
  case Op::Slct: return {lowerSlct};

  case Op::Rcp:
  case Op::Sqrt:
  case Op::Rsqrt:
  case Op::Sin:
  case Op::Cos:
  case Op::Lg2:
  case Op::Ex2:
  case Op::Tanh: return {lowerFloatFunction};
  case Op::Testp: return {lowerTestp};
  case Op::Copysign: return {lowerCopysign};
  case Op::Cvt:
  case Op::CvtPack: return {lowerCvt};

  case Op::Mov: return {lowerMov};
  case Op::Cvta: return {lowerCvta};

  case Op::Ld:
  case Op::Ldu: return {lowerLoad, direct};
  case Op::St: return {lowerStore, direct};

  case Op::Prefetch:
  case Op::Prefetchu: return {lowerPrefetch, direct};
  case Op::Applypriority:
  case Op::Discard: return {lowerLineControl, direct};
  case Op::Createpolicy: return {lowerCreatepolicy};
  case Op::Mapa: return {lowerMapa};
  case Op::Getctarank: return {lowerGetctarank};
  case Op::Isspacep: return {lowerIsspacep};
  case Op::Istypep: return {lowerIstypep};

  case Op::Atom: return {lowerAtom, direct};
  case Op::Red: return {lowerRed, direct};

  case Op::BarSync:
  case Op::BarArrive:
  case Op::BarRed:
  case Op::BarrierSync:
  case Op::BarrierArrive:
  case Op::BarrierRed: return {lowerBarrier, direct};
  case Op::BarrierClusterArrive:
  case Op::BarrierClusterWait: return {lowerClusterBarrier, direct};
  case Op::BarWarpSync: return {lowerWarpBarrier, direct};
  case Op::Membar:
  case Op::MembarProxy:
  case Op::Fence: return {lowerMembar, direct};
  case Op::Nanosleep: return {lowerNanosleep, direct};
  case Op::Pmevent: return {lowerPmevent, direct};
  case Op::Griddepcontrol: return {lowerGridControl, direct};

  case Op::Shfl: return {lowerShfl, direct};
  case Op::Vote: return {lowerVote, direct};
  case Op::Match: return {lowerMatch, direct};
  case Op::Redux: return {lowerRedux, direct};
  case Op::Activemask: return {lowerActivemask, direct};
  case Op::Elect: return {lowerElect, direct};

  case Op::Ldmatrix: return {lowerLdmatrix, direct};
  case Op::Stmatrix: return {lowerStmatrix, direct};
  case Op::Movmatrix: return {lowerMovmatrix, direct};
  case Op::Mma: return {lowerMma, direct};
  case Op::WmmaLoad: return {lowerWmmaLoad, direct};
  case Op::WmmaStore: return {lowerWmmaStore, direct};
  case Op::WmmaMma: return {lowerWmmaMma, direct};

  case Op::Vadd:
  case Op::Vsub:
  case Op::Vabsdiff:
  case Op::Vmin:
  case Op::Vmax:
  case Op::Vshl:
  case Op::Vshr:
  case Op::Vset: return {lowerVideo};
  case Op::Vmad: return {lowerVideoMad};
  case Op::Vadd2:
  case Op::Vsub2:
  case Op::Vavrg2:
  case Op::Vabsdiff2:
  case Op::Vmin2:
  case Op::Vmax2:
  case Op::Vset2: return {lowerVideo2};
  case Op::Vadd4:
  case Op::Vsub4:
  case Op::Vavrg4:
  case Op::Vabsdiff4:
  case Op::Vmin4:
  case Op::Vmax4:
  case Op::Vset4: return {lowerVideo4};

  case Op::Tex:
  case Op::Tld4: return {lowerTex, direct};
  case Op::Suld: return {lowerSurfaceLoad, direct};
  case Op::Sust: return {lowerSurfaceStore, direct};
  case Op::Sured: return {lowerSurfaceReduction, direct};
  case Op::Txq:
  case Op::Suq: return {lowerTextureQuery, direct};

  case Op::FenceProxy:
  case Op::FenceMbarrierInit: return {lowerProxyFence, direct};

  case Op::MbarrierInit:
  case Op::MbarrierInval:
  case Op::MbarrierArrive:
  case Op::MbarrierArriveDrop:
  case Op::MbarrierExpectTx:
  case Op::MbarrierCompleteTx:
  case Op::MbarrierTestWait:
  case Op::MbarrierTryWait:
  case Op::CpAsyncMbarrierArrive: return {lowerMbarrier, direct};
  case Op::MbarrierPendingCount: return {lowerMbarrierPendingCount};
  case Op::CpAsyncBulk:
  case Op::CpReduceAsyncBulk: return {lowerBulkCopy, direct};
  case Op::CpAsyncBulkPrefetch: return {lowerBulkPrefetch, direct};
  case Op::CpAsyncBulkTensor:
  case Op::CpAsyncBulkPrefetchTensor:
  case Op::CpReduceAsyncBulkTensor: return {lowerTensorCopy, direct};
  case Op::CpAsyncBulkCommitGroup:
  case Op::CpAsyncBulkWaitGroup: return {lowerBulkGroup, direct};
  case Op::StBulk: return {lowerBulkStore, direct};
  case Op::ClusterlaunchcontrolTryCancel: return {lowerTryCancel, direct};
  case Op::ClusterlaunchcontrolQueryCancel: return {lowerQueryCancel};
  case Op::TensormapReplace: return {lowerTensormapReplace, direct};
  case Op::TensormapCpFenceproxy: return {lowerTensormapCopy, direct};

  case Op::MultimemLdReduce: return {lowerMultimemLoad, direct};
  case Op::MultimemSt: return {lowerStore, direct};
  case Op::MultimemRed: return {lowerRed, direct};
  case Op::StAsync: return {lowerRemoteStore, direct};
  case Op::RedAsync: return {lowerRemoteReduction, direct};

  case Op::WgmmaMmaAsync: return {lowerWgmma, direct};
  case Op::WgmmaFence:
  case Op::WgmmaCommitGroup:
  case Op::WgmmaWaitGroup: return {lowerWgmmaOrder, direct};

  case Op::Tcgen05Alloc: return {lowerTensorAllocate, direct};
  case Op::Tcgen05Dealloc: return {lowerTensorDeallocate, direct};
  case Op::Tcgen05RelinquishAllocPermit: return {lowerTensorRelinquish, direct};
  case Op::Tcgen05Ld:
  case Op::Tcgen05LdRed: return {lowerTensorLoad, direct};
  case Op::Tcgen05St: return {lowerTensorStore, direct};
  case Op::Tcgen05FenceBefore:
  case Op::Tcgen05FenceAfter:
  case Op::Tcgen05WaitLd:
  case Op::Tcgen05WaitSt: return {lowerTensorWait, direct};
  case Op::Tcgen05Commit: return {lowerTensorCommit, direct};
  case Op::Tcgen05Cp: return {lowerTensorUnitCopy, direct};
  case Op::Tcgen05Shift: return {lowerTensorShift, direct};
  case Op::Tcgen05Mma: return {lowerTensorProduct, direct};

  case Op::CpAsync: return {lowerCpAsync, direct};
  case Op::CpAsyncCommitGroup:
  case Op::CpAsyncWaitGroup:
  case Op::CpAsyncWaitAll: return {lowerCpAsyncWait, direct};

  case Op::Trap:
  case Op::Brkpt: return {lowerTrap, direct};
  case Op::Bra: return {lowerBra, direct};
  case Op::BrxIdx: return {lowerBrxIdx, direct};
  case Op::Setmaxnreg: return {lowerSetmaxnreg, direct};
  case Op::Call: return {lowerCall, direct};
  case Op::Ret:
  case Op::Exit: return {lowerExit, direct};
  case Op::Alloca: return {lowerAlloca, direct};
  case Op::Stacksave: return {lowerStacksave, direct};
  case Op::Stackrestore: return {lowerStackrestore, direct};
  default: return {};
  }
}

} // namespace orias::ptx
