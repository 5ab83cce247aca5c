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
  case Op::Div:
  case Op::Rem: return {lowerDivRem};
  case Op::Abs:
  case Op::Neg: return {lowerAbsNeg};
  case Op::Min:
  case Op::Max: return {lowerMinMax};

  case Op::Setp: return {lowerSetp};
  case Op::Set: return {lowerSet};
  case Op::Selp: return {lowerSelp};
  case Op::Slct: return {lowerSlct};

  case Op::Mov: return {lowerMov};
  case Op::Cvta: return {lowerCvta};

  case Op::Ld: return {lowerLoad, direct};
  case Op::St: return {lowerStore, direct};

  case Op::Prefetch: return {lowerPrefetch, direct};
  case Op::Isspacep: return {lowerIsspacep};

  case Op::Atom: return {lowerAtom, direct};
  case Op::Red: return {lowerRed, direct};

  case Op::BarSync:
  case Op::BarArrive:
  case Op::BarRed:
  case Op::BarrierSync:
  case Op::BarrierArrive:
  case Op::BarrierRed: return {lowerBarrier, direct};
  case Op::BarWarpSync: return {lowerWarpBarrier, direct};
  case Op::Membar:
  case Op::MembarProxy:
  case Op::Fence:
  case Op::FenceProxy:
  case Op::FenceMbarrierInit: return {lowerMembar, direct};
  case Op::Nanosleep: return {lowerNanosleep, direct};
  case Op::Griddepcontrol: return {lowerGridControl, direct};

  case Op::Shfl: return {lowerShfl, direct};
  case Op::Vote: return {lowerVote, direct};
  case Op::Match: return {lowerMatch, direct};
  case Op::Redux: return {lowerRedux, direct};
  case Op::Activemask: return {lowerActivemask, direct};
  case Op::Elect: return {lowerElect, direct};

  case Op::Trap:
  case Op::Brkpt: return {lowerTrap, direct};
  case Op::Bra: return {lowerBra, direct};
  case Op::Ret:
  case Op::Exit: return {lowerExit, direct};
  default: return {};
  }
}

} // namespace orias::ptx
