#pragma once

#include "phases/phase.h"

// The phases of the pipeline, one function each; pipeline.cpp puts them in order. Each is defined in pNNN_its_name.cpp,
// where its comment says what it does.

namespace orias::phases {

bool oriCheckInitialProgram(ori::Function&, PhaseContext&);
bool analyzeControlFlow(ori::Function&, PhaseContext&);
bool convertUnsupportedOps(ori::Function&, PhaseContext&);
bool setControlFlowOpLastInBB(ori::Function&, PhaseContext&);
bool oriCreateMacroInsts(ori::Function&, PhaseContext&);
bool earlyOriSimpleLiveDead(ori::Function&, PhaseContext&);
bool replaceUniformsWithImm(ori::Function&, PhaseContext&);
bool oriSanitize(ori::Function&, PhaseContext&);
bool generalOptimizeEarly(ori::Function&, PhaseContext&);
bool oriBranchOpt(ori::Function&, PhaseContext&);
bool applyPostRegAllocWars(ori::Function&, PhaseContext&);
bool expandJmxComputation(ori::Function&, PhaseContext&);
bool lateExpansionUnsupportedOps(ori::Function&, PhaseContext&);
bool oriPerformLiveDead(ori::Function&, PhaseContext&);
bool oriLoopSimplification(ori::Function&, PhaseContext&);
bool oriStrengthReduce(ori::Function&, PhaseContext&);
bool oriLoopUnrolling(ori::Function&, PhaseContext&);
bool generateMovPhi(ori::Function&, PhaseContext&);
bool oriRemoveRedundantBarriers(ori::Function&, PhaseContext&);
bool analyzeUniformsForSpeculation(ori::Function&, PhaseContext&);
bool sinkRemat(ori::Function&, PhaseContext&);
bool sinkRematLate(ori::Function&, PhaseContext&);
bool speculativeHoistComInsts(ori::Function&, PhaseContext&);
bool hoistConditions(ori::Function&, PhaseContext&);
bool oriDoPredication(ori::Function&, PhaseContext&);
bool generalOptimize(ori::Function&, PhaseContext&);
bool generalOptimizeMid(ori::Function&, PhaseContext&);
bool convertMemoryToRegisterOrUniform(ori::Function&, PhaseContext&);
bool memorySpaceOptSecondTime(ori::Function&, PhaseContext&);
bool compactLocalMemory(ori::Function&, PhaseContext&);
bool gvnCse(ori::Function&, PhaseContext&);
bool oriReassociateAndCommon(ori::Function&, PhaseContext&);
bool lateOriCommoning(ori::Function&, PhaseContext&);
bool oriHoistInvariantsEarly(ori::Function&, PhaseContext&);
bool oriHoistInvariantsLate(ori::Function&, PhaseContext&);
bool oriHoistInvariantsLate2(ori::Function&, PhaseContext&);
bool oriHoistInvariantsLate3(ori::Function&, PhaseContext&);
bool oriLoopFusion(ori::Function&, PhaseContext&);
bool mergeEquivalentConditionalFlow(ori::Function&, PhaseContext&);
bool lateMergeEquivalentConditionalFlow(ori::Function&, PhaseContext&);
bool tailDuplication(ori::Function&, PhaseContext&);
bool oriReplaceEquivMultiDefMov(ori::Function&, PhaseContext&);
bool oriRemoveRedundantMultiDefMov(ori::Function&, PhaseContext&);
bool oriBackCopyPropagate(ori::Function&, PhaseContext&);
bool lateArchOptimizeFirst(ori::Function&, PhaseContext&);
bool lateArchOptimizeSecond(ori::Function&, PhaseContext&);
bool oriLinearReplacement(ori::Function&, PhaseContext&);
bool doSwitchOpt(ori::Function&, PhaseContext&);
bool oriDoRematEarly(ori::Function&, PhaseContext&);
bool oriDoRemat(ori::Function&, PhaseContext&);
bool simplifyLiveOut(ori::Function&, PhaseContext&);
bool demoteInductionVariables(ori::Function&, PhaseContext&);
bool oriPropagateVarying(ori::Function&, PhaseContext&);
bool optimizeNestedCondBranches(ori::Function&, PhaseContext&);
bool vectorization(ori::Function&, PhaseContext&);
bool ldgXform(ori::Function&, PhaseContext&);
bool optimizeUniformAtomic(ori::Function&, PhaseContext&);
bool midExpansion(ori::Function&, PhaseContext&);
bool lateExpandSyncInstructions(ori::Function&, PhaseContext&);
bool optimizeSyncInstructions(ori::Function&, PhaseContext&);
bool convertAllMovPhiToMov(ori::Function&, PhaseContext&);
bool convertToUniformReg(ori::Function&, PhaseContext&);
bool oriPipelining(ori::Function&, PhaseContext&);
bool insertPseudoUseDefForConvUr(ori::Function&, PhaseContext&);
bool finalInspectionPass(ori::Function&, PhaseContext&);
bool blockRemat(ori::Function&, PhaseContext&);
bool reportBeforeScheduling(ori::Function&, PhaseContext&);
bool oriDoSyncronization(ori::Function&, PhaseContext&);
bool allocateRegisters(ori::Function&, PhaseContext&);
bool get64bRegComponents(ori::Function&, PhaseContext&);
bool oriRemoveNopCode(ori::Function&, PhaseContext&);
bool placeBlocksInSourceOrder(ori::Function&, PhaseContext&);
bool advancedPhasePreSched(ori::Function&, PhaseContext&);
bool postSchedule(ori::Function&, PhaseContext&);
bool advancedScoreboardsAndOpexes(ori::Function&, PhaseContext&);
bool processO0WaitsAndSBs(ori::Function&, PhaseContext&);
bool mercEncodeAndDecode(ori::Function&, PhaseContext&);
bool mercGenerateSassUCode(ori::Function&, PhaseContext&);
bool calcRegisterMap(ori::Function&, PhaseContext&);
bool dumpNVuCodeText(ori::Function&, PhaseContext&);

} // namespace orias::phases
