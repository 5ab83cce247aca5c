#include "phases/phases.h"

namespace orias::phases {

namespace {

constexpr bool kNeeded = false, kOptional = true;
using S = Stage;

// The whole list, in the order in which the phases run. Numbers and names follow the public inventory of ptxas 13.0. A
// line: number, name, stage, lowest -O, highest -O, may be disabled, function, why it stands here.
constexpr PhaseInfo kPipeline[] = {
    {"0", "OriCheckInitialProgram", S::Setup, 0, 4, kOptional, oriCheckInitialProgram,
     "faults of lowering show before anything builds on them"},
    {"3", "AnalyzeControlFlow", S::Setup, 0, 4, kNeeded, analyzeControlFlow,
     "everything behind it assumes reachable blocks and known loop depths"},
    {"5", "ConvertUnsupportedOps", S::Setup, 0, 4, kNeeded, convertUnsupportedOps,
     "the optimiser sees what divisions and roots are made of"},
    {"6", "SetControlFlowOpLastInBB", S::Setup, 0, 4, kNeeded, setControlFlowOpLastInBB,
     "analyses see control flow at block ends only"},
    {"8", "OriCreateMacroInsts", S::Setup, 0, 4, kNeeded, oriCreateMacroInsts,
     "the approximate functions of PTX; from here on there are machine instructions and 64-bit pairs only"},
    {"10", "EarlyOriSimpleLiveDead", S::Setup, 0, 4, kOptional, earlyOriSimpleLiveDead,
     "drops what lowering made for nobody, so that the optimiser does not look at it"},
    {"11", "ReplaceUniformsWithImm", S::Setup, 1, 4, kOptional, replaceUniformsWithImm,
     "numbers known whatever the launch are there before the first look for constants"},
    {"12", "OriSanitize", S::Setup, 0, 4, kOptional, oriSanitize, "the expansions above are checked once"},
    {"13", "GeneralOptimizeEarly", S::Setup, 0, 4, kOptional, generalOptimizeEarly,
     "constants and copies of lowering go, which makes branches decidable and the way into SSA form shorter"},
    {"15", "OriBranchOpt", S::EarlyOptimisation, 1, 4, kOptional, oriBranchOpt,
     "PTX branches around branches; fewer blocks make everything behind cheaper"},
    {"16", "OriPerformLiveDeadFirst", S::EarlyOptimisation, 0, 4, kOptional, oriPerformLiveDead,
     "removes what only a full liveness analysis shows to be dead"},
    {"23", "GenerateMovPhi", S::EarlyOptimisation, 1, 4, kNeeded, generateMovPhi,
     "one definition per value: what the middle of the pipeline works on"},
    {"27", "AnalyzeUniformsForSpeculation", S::EarlyOptimisation, 1, 4, kOptional, analyzeUniformsForSpeculation,
     "constant loads are still instructions of their own; tells which of them 28, 56 and 63 may run early"},
    {"28", "SinkRemat", S::EarlyOptimisation, 2, 4, kOptional, sinkRemat,
     "PTX loads parameters at the top, often for one side of a branch only"},
    {"29", "GeneralOptimize", S::EarlyOptimisation, 1, 4, kOptional, generalOptimize,
     "lowering leaves many copies and constants; every phase behind sees through them then"},
    {"37", "GeneralOptimizeMid", S::Middle, 1, 4, kOptional, generalOptimizeMid,
     "64-bit sums are whole here for the last time, and single uses are known"},
    {"44", "OptimizeUniformAtomic", S::Middle, 1, 4, kOptional, optimizeUniformAtomic,
     "in SSA form it is known which addresses all lanes share; addresses are still pairs"},
    {"45", "MidExpansion", S::Middle, 0, 4, kNeeded, midExpansion,
     "64-bit arithmetic has been folded as a whole by now; its words are optimised from here on"},
    {"46", "GeneralOptimizeMid2", S::Middle, 1, 4, kOptional, generalOptimizeMid,
     "the words of expanded arithmetic have zeros and copies among them"},
    {"49", "GvnCse", S::Middle, 1, 4, kOptional, gvnCse,
     "equal operations look equal once their operands are simplified"},
    {"53", "OriPropagateVaryingFirst", S::LateOptimisation, 1, 4, kOptional, oriPropagateVarying,
     "late optimisation may ask which values differ between lanes"},
    {"56", "SpeculativeHoistComInsts", S::LateOptimisation, 2, 4, kOptional, speculativeHoistComInsts,
     "value numbering has made equal operations of both sides look equal"},
    {"58", "GeneralOptimizeLate", S::LateOptimisation, 1, 4, kOptional, generalOptimizeMid,
     "the copies that value numbering made go"},
    {"61", "OriPerformLiveDeadThird", S::LateOptimisation, 1, 4, kOptional, oriPerformLiveDead,
     "the halves of expanded pairs that nobody reads go"},
    {"63", "OriDoPredication", S::LateOptimisation, 2, 4, kOptional, oriDoPredication,
     "sides of branches are as short as they get, and phis say which values they choose between"},
    {"65", "GeneralOptimizeLate2", S::LateOptimisation, 1, 4, kOptional, generalOptimizeMid,
     "values with one reader left can be combined with it"},
    {"70", "OriPropagateVaryingSecond", S::LateOptimisation, 1, 4, kOptional, oriPropagateVarying,
     "the last snapshot in SSA form, where merges can be seen"},
    {"73", "ConvertAllMovPhiToMov", S::LateOptimisation, 1, 4, kNeeded, convertAllMovPhiToMov,
     "scheduling and allocation want real moves"},
    {"74", "ConvertToUniformReg", S::LateOptimisation, 1, 4, kOptional, convertToUniformReg,
     "copies stand for the phis now, and registers for the lanes are still to be given out"},
    {"84", "OriPerformLiveDeadFourth", S::LateOptimisation, 1, 4, kOptional, oriPerformLiveDead,
     "copies made when leaving SSA form may be dead"},
    {"94", "FinalInspectionPass", S::Legalisation, 0, 4, kNeeded, finalInspectionPass,
     "the last check before the function stops being virtual"},
    {"97", "AdvancedPhasePreSched", S::SchedulingAndRegisters, 1, 4, kOptional, advancedPhasePreSched,
     "the last chance to spread loads and their users while registers are still free to choose"},
    {"99", "OriDoSyncronization", S::SchedulingAndRegisters, 0, 4, kOptional, oriDoSyncronization,
     "control flow is final; the barriers it adds need registers"},
    {"101", "AllocateRegisters", S::SchedulingAndRegisters, 0, 4, kNeeded, allocateRegisters,
     "virtual registers end here"},
    {"103", "Get64bRegComponents", S::SchedulingAndRegisters, 0, 4, kNeeded, get64bRegComponents,
     "wide copies can only be ordered once their registers are known"},
    {"107", "OriRemoveNopCode", S::PostAllocation, 0, 4, kOptional, oriRemoveNopCode,
     "allocation turns copies into moves onto themselves"},
    {"110", "PostSchedule", S::PostAllocation, 1, 4, kOptional, postSchedule,
     "registers are known, and nothing but control words comes behind it"},
    {"112", "PlaceBlocksInSourceOrder", S::Layout, 0, 4, kNeeded, placeBlocksInSourceOrder,
     "the machine falls through to the next word only"},
    {"115", "AdvancedScoreboardsAndOpexes", S::Control, 1, 4, kNeeded, advancedScoreboardsAndOpexes,
     "the order of instructions is final; nobody moves one behind it"},
    {"116", "ProcessO0WaitsAndSBs", S::Control, 0, 0, kNeeded, processO0WaitsAndSBs,
     "the same without cleverness, for -O0"},
    {"142", "MercEncodeAndDecode", S::Words, 0, 4, kNeeded, mercEncodeAndDecode,
     "words, read back and compared: a wrong row of the table ends the compilation"},
    {"147", "MercGenerateSassUCode", S::Words, 0, 4, kNeeded, mercGenerateSassUCode,
     "every word is known to read back; the text can be closed"},
    {"149", "CalcRegisterMap", S::Words, 0, 4, kOptional, calcRegisterMap,
     "counts what is live behind each final word"},
    {"155", "DumpNVuCodeText", S::Words, 0, 4, kOptional, dumpNVuCodeText,
     "the listing shows the words as they are now"},
};

} // namespace

std::span<const PhaseInfo> pipeline() {
  return kPipeline;
}

} // namespace orias::phases
