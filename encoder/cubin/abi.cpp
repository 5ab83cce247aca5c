#include "encoder/cubin/abi.h"

#include <string>
#include <vector>

#include "encoder/isa/target.h"
#include "support/check.h"

namespace orias::cubin {
namespace {

Abi describe(const isa::Target& target) {
  const isa::CubinFacts& facts = target.chip().cubin;
  Abi abi;
  abi.smArch = static_cast<std::uint16_t>(target.smVersion());
  abi.elfFlags = (facts.elfFlags & ~kCodeKinds) | kPlainCode;
  abi.paramBase = target.bank0().params;
  abi.largeParamBase = target.bank0().largeParams;
  abi.reservedShared = target.sharedBase();
  abi.softwareWorkarounds = facts.softwareWorkarounds;
  abi.stackCheckWorkaround = facts.stackCheckWorkaround;
  abi.driverShared = facts.reservedShared;
  abi.systemShared = facts.systemShared;
  abi.ctaInitCount = abi.alwaysWorkarounds = abi.marksAccelerated = facts.layout == isa::CubinLayout::RelaOfBlackwell;
  const bool isNewer = facts.layout != isa::CubinLayout::Rel;
  if (!isNewer) abi.mercuryIsaVersion = 0;
  abi.sharedAlias = abi.compatSection = abi.addends = abi.constant0AfterText = isNewer;
  abi.sparseMmaMask = abi.parametersLast = isNewer;
  abi.relocationActions = abi.registersInTextInfo = !isNewer;
  return abi;
}

} // namespace

const Abi& abiOf(unsigned smArch) {
  static const std::vector<Abi> kAbis = [] {
    std::vector<Abi> all;
    for (const isa::Target& target : isa::Target::known())
      all.push_back(describe(target));
    return all;
  }();
  for (const Abi& abi : kAbis)
    if (abi.smArch == smArch) return abi;
  throw Error("unknown cubin layout for sm_" + std::to_string(smArch));
}

void markCapsules(Abi& abi) {
  for (const isa::Target& target : isa::Target::known()) {
    if (target.smVersion() != abi.smArch) continue;
    abi.elfFlags = target.elfFlags();
    abi.fastPath = target.chip().cubin.fastPath;
  }
}

} // namespace orias::cubin
