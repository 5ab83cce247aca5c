// The machine's function for each instruction. All others have a lane or warp function in encoder/isa/semantics.

#include "tools/emulator/machine.h"

namespace orias::emu {

using isa::Op;

Operation::Handler handlerOf(Op op) {
  switch (op) {
  // Control flow.
  case Op::BRA:
  case Op::BRA_UNIFORM: return &Machine::branch;
  case Op::BRA_DIV: return &Machine::branchDivided;
  case Op::BRA_CONV: return &Machine::branchConverged;
  case Op::JMX: return &Machine::branchByNumber;
  case Op::BRX:
  case Op::BRXU:
  case Op::RET:
  case Op::CALL_REL_R:
  case Op::CALL_ABS_R: return &Machine::branchIndexed;
  case Op::CALL_REL: return &Machine::call;
  case Op::EXIT: return &Machine::exit;
  case Op::BSSY: return &Machine::armBarrier;
  case Op::BSYNC: return &Machine::convergeAt;
  case Op::BREAK: return &Machine::leaveBarrier;
  case Op::WARPSYNC:
  case Op::WARPSYNC_ALL:
  case Op::WARPSYNC_COLLECTIVE:
  case Op::WARPSYNC_COLLECTIVE_ALL: return &Machine::warpSync;
  case Op::YIELD:
  case Op::NANOSLEEP: return &Machine::giveWay;
  case Op::BPT: return &Machine::trap;
  case Op::BMOV_R: return &Machine::readBarrier;
  case Op::BMOV_B: return &Machine::writeBarrier;
  case Op::BMOV_I:
  case Op::BMOV_BB: return &Machine::setBarrier;
  case Op::BMOV_FROM_ACTIVE: return &Machine::saveActive;
  case Op::BMOV_TO_ACTIVE: return &Machine::setActive;
  case Op::PHI: return &Machine::phis;

  // Barriers of the CTA.
  case Op::BAR_SYNC:
  case Op::BAR_SYNC_R:
  case Op::BAR_ARV:
  case Op::BAR_ARV_R:
  case Op::BAR_RED:
  case Op::BAR_RED_R: return &Machine::ctaBarrier;
  case Op::UCGABAR_ARV: return &Machine::arriveAtCluster;
  case Op::UCGABAR_WAIT: return &Machine::waitForCluster;
  case Op::B2R_RESULT: return &Machine::barrierResult;

  // Memory.
  case Op::LDG:
  case Op::LDG_INDEXED:
  case Op::LD_INDEXED:
  case Op::LD:
  case Op::LDS:
  case Op::LDL: return &Machine::load;
  case Op::LDG_256: return &Machine::loadWide;
  case Op::STG_256: return &Machine::storeWide;
  case Op::STG:
  case Op::STG_INDEXED:
  case Op::ST_INDEXED:
  case Op::ST:
  case Op::STS:
  case Op::STL: return &Machine::storeMemory;
  case Op::LDC: return &Machine::loadConstant;
  case Op::ULDC:
  case Op::ULDC_INDEXED:
  case Op::LDCU: return &Machine::loadConstantUniform;
  case Op::LDSM: return &Machine::loadMatrix;
  case Op::LDSM_BYTES: return &Machine::loadByteMatrix;
  case Op::STSM: return &Machine::storeMatrix;
  case Op::STSM_BYTES: return &Machine::storeByteMatrix;
  case Op::LDGSTS: return &Machine::copyToShared;
  case Op::LDGDEPBAR: return &Machine::endCopyGroup;
  case Op::RPCMOV_PUT: return &Machine::putIntoRpc;
  case Op::RPCMOV_GET: return &Machine::getFromRpc;
  case Op::DEPBAR:
  case Op::DEPBAR_LE: return &Machine::waitForCopies;
  case Op::QSPC:
  case Op::QSPC_INDEXED: return &Machine::whichSpace;
  case Op::ATOMG:
  case Op::ATOM:
  case Op::ATOM_INDEXED:
  case Op::ATOMS:
  case Op::REDG:
  case Op::REDG_INDEXED: return &Machine::atomic;
  case Op::ATOMG_CAS:
  case Op::ATOM_CAS:
  case Op::ATOMS_CAS:
  case Op::ATOMS_CAS_P: return &Machine::atomicSwap;
  case Op::ATOMG_FLOAT:
  case Op::ATOM_FLOAT:
  case Op::ATOM_FLOAT_INDEXED:
  case Op::REDG_FLOAT: return &Machine::atomicFloat;
  case Op::ATOMS_POPC_INC: return &Machine::atomicCount;
  case Op::ATOMS_ARRIVE:
  case Op::ATOM_ARRIVE: return &Machine::atomicArrive;

  case Op::TEX_QUAD: return &Machine::readByGradients;
  case Op::FSWZADD_RIGHT:
  case Op::FSWZADD_BELOW:
  case Op::FSWZADD_ALL: return &Machine::sumInQuad;
  case Op::TEX:
  case Op::TEX_C:
  case Op::TEX_B:
  case Op::TLD:
  case Op::TLD_C:
  case Op::TLD_B:
  case Op::TLD4:
  case Op::TLD4_C:
  case Op::TLD4_B:
  case Op::TXD:
  case Op::TXD_C:
  case Op::TXD_B: return &Machine::readTexture;
  case Op::TXQ:
  case Op::TXQ_C:
  case Op::TXQ_B: return &Machine::askTexture;
  case Op::SULD:
  case Op::SULD_C:
  case Op::SULD_B:
  case Op::SUST:
  case Op::SUST_C:
  case Op::SUST_B: return &Machine::accessSurface;
  case Op::SUST_P:
  case Op::SUST_P_C:
  case Op::SUST_P_B: return &Machine::storeTexel;
  case Op::SURED:
  case Op::SURED_C:
  case Op::SURED_B: return &Machine::reduceSurface;

  // Products of warp groups, which complete immediately.
  case Op::HGMMA:
  case Op::HGMMA_R:
  case Op::HGMMA_SP:
  case Op::HGMMA_SP_R:
  case Op::QGMMA:
  case Op::QGMMA_R:
  case Op::QGMMA_SP:
  case Op::QGMMA_SP_R:
  case Op::IGMMA:
  case Op::IGMMA_R:
  case Op::IGMMA_SP:
  case Op::IGMMA_SP_R:
  case Op::BGMMA:
  case Op::BGMMA_R: return &Machine::multiplyGroup;
  case Op::USETMAXREG_DEALLOC:
  case Op::USETMAXREG_ALLOC: return &Machine::setRegisters;
  case Op::WARPGROUP_ARRIVE: return &Machine::nothing;
  case Op::WARPGROUP_DEPBAR: return &Machine::waitForProducts;

  // Tensor memory and its unit, whose operations complete immediately.
  case Op::LDTM:
  case Op::LDTM_STAT: return &Machine::loadTensor;
  case Op::STTM: return &Machine::storeTensor;
  case Op::UTCHMMA:
  case Op::UTCHMMA_T:
  case Op::UTCIMMA:
  case Op::UTCIMMA_T:
  case Op::UTCQMMA:
  case Op::UTCQMMA_T:
  case Op::UTCQMMA_SF:
  case Op::UTCQMMA_SF_T:
  case Op::UTCOMMA:
  case Op::UTCOMMA_T: return &Machine::multiplyTensors;
  case Op::UTCCP: return &Machine::copyToTensor;
  case Op::UTCSHIFT: return &Machine::shiftTensorRows;
  case Op::UTCBAR:
  case Op::UTCBAR_MULTICAST: return &Machine::commitToBarrier;
  case Op::UTCATOMSWS_FIND: return &Machine::findColumns;
  case Op::UTCATOMSWS: return &Machine::changeColumns;
  case Op::UVIRTCOUNT: return &Machine::nothing;

  // Barriers in shared memory.
  case Op::SYNCS_EXCH: return &Machine::initBarrier;
  case Op::SYNCS_ARRIVE: return &Machine::arriveAtBarrier;
  case Op::SYNCS_PHASECHK: return &Machine::checkBarrier;
  case Op::ARRIVES_LDGSTSBAR: return &Machine::arriveAfterCopies;

  // Copies by the copy unit, which complete immediately: invalidations, prefetches and waits do nothing.
  case Op::UBLKCP_S_G:
  case Op::UBLKCP_MASKED:
  case Op::UBLKCP_G_S:
  case Op::UBLKCP_S_S:
  case Op::UBLKRED_G_S:
  case Op::UBLKRED_S_S: return &Machine::copyBulk;
  case Op::UTMALDG:
  case Op::UTMALDG_MORE:
  case Op::UTMALDG_GATHER:
  case Op::UTMALDG_FORM:
  case Op::UTMALDG_PAIR:
  case Op::UTMASTG_SCATTER:
  case Op::UTMASTG:
  case Op::UTMAREDG: return &Machine::copyBox;
  case Op::UTMAPF:
  case Op::UTMAPF_GATHER:
  case Op::UTMAPF_W:
  case Op::CCTL_LDCU:
  case Op::UTMAPF_IM2COL:
  case Op::UBLKPF:
  case Op::UTMACCTL:
  case Op::UTMACMDFLUSH: return &Machine::nothing;
  case Op::USTGR:
  case Op::UREDGR: return &Machine::storeUniform;
  case Op::UMEMSETS: return &Machine::clearShared;
  case Op::UGETNEXTWORKID: return &Machine::askForWork;
  case Op::STAS:
  case Op::REDAS: return &Machine::storeRemote;
  case Op::LDGMC:
  case Op::LDGMC_FLOAT:
  case Op::LDGMC_BYTE_FLOAT: return &Machine::loadReduced;

  // Special registers and moves between files.
  case Op::S2R:
  case Op::CS2R: return &Machine::readSpecial;
  case Op::CS2UR: return &Machine::readSpecialUniform;
  case Op::S2UR: return &Machine::readSpecialUniform;
  case Op::R2UR: return &Machine::toUniform;
  case Op::R2UR_OR: return &Machine::orToUniform;
  case Op::P2R: return &Machine::predicatesToRegister;
  case Op::UR2UP: return &Machine::registerToUniformPredicates;
  case Op::UP2UR: return &Machine::uniformPredicatesToRegister;
  case Op::R2P: return &Machine::registerToPredicates;
  case Op::CONV_ALLOC: return &Machine::nothing; // a marker; other lanes may still read the old value of its register
  case Op::COPY:
  case Op::UNDEF: return &Machine::copy;
  case Op::CALL_EXTERN: return &Machine::callExternal;
  case Op::CALL_ABS: return &Machine::callAbsolute;
  case Op::LEPC: return &Machine::codeAddress;

  // Memory is always coherent, and launches are isolated: nothing to wait for.
  case Op::NOP:
  case Op::MEMBAR:
  case Op::ERRBAR:
  case Op::CGAERRBAR:
  case Op::CCTL:
  case Op::CCTLL:
  case Op::CCTL_IVALL:
  case Op::FENCE_VIEW_ASYNC:
  case Op::SYNCS_CCTL_IV:
  case Op::SYNCS_CCTL_IVALL:
  case Op::PMTRIG:
  case Op::PREEXIT:
  case Op::ACQBULK:
  case Op::ENDCOLLECTIVE:
  case Op::KEEP: return &Machine::nothing;
  default: return nullptr;
  }
}

bool isFlow(Op op) {
  switch (op) {
  case Op::BRA:
  case Op::BRA_UNIFORM:
  case Op::BRA_DIV:
  case Op::BRA_CONV:
  case Op::BRX:
  case Op::BRXU:
  case Op::JMX:
  case Op::RET:
  case Op::CALL_REL:
  case Op::CALL_REL_R:
  case Op::CALL_ABS:
  case Op::CALL_ABS_R:
  case Op::EXIT:
  case Op::BSSY:
  case Op::BSYNC:
  case Op::BREAK:
  case Op::WARPSYNC:
  case Op::WARPSYNC_ALL:
  case Op::WARPSYNC_COLLECTIVE:
  case Op::WARPSYNC_COLLECTIVE_ALL:
  case Op::YIELD:
  case Op::NANOSLEEP:
  case Op::BPT:
  case Op::SYNCS_PHASECHK:
  case Op::BAR_SYNC:
  case Op::BAR_SYNC_R:
  case Op::BAR_ARV:
  case Op::BAR_ARV_R:
  case Op::BAR_RED:
  case Op::BAR_RED_R:
  case Op::UCGABAR_ARV:
  case Op::UCGABAR_WAIT: return true;
  default: return false;
  }
}

} // namespace orias::emu
