#include "encoder/cubin/abi.h"

#include <array>
#include <string>

#include "support/check.h"

namespace orias::cubin {
namespace {

Abi ampere(unsigned smArch, std::uint32_t elfFlags, bool stackCheckWorkaround) {
  Abi abi;
  abi.smArch = static_cast<std::uint16_t>(smArch);
  abi.elfFlags = elfFlags;
  abi.mercuryIsaVersion = 0;
  abi.paramBase = 0x160;
  abi.largeParamBase = 0x1a80;
  abi.reservedShared = 0;
  abi.softwareWorkarounds = 0;
  abi.sharedAlias = false;
  abi.compatSection = false;
  abi.relocationActions = true;
  abi.addends = false;
  abi.constant0AfterText = false;
  abi.registersInTextInfo = true;
  abi.sparseMmaMask = false;
  abi.stackCheckWorkaround = stackCheckWorkaround;
  abi.parametersLast = false;
  return abi;
}

Abi turing() {
  Abi abi = ampere(75, 0x6004b04, false);
  abi.softwareWorkarounds = 1;
  return abi;
}

/// ptxas has the kernels of this chip set up their convergence barriers, and says so.
Abi orin() {
  Abi abi = ampere(87, 0x6005704, true);
  abi.softwareWorkarounds = 2;
  return abi;
}

} // namespace

const Abi& abiOf(unsigned smArch) {
  static const std::array kAbis{turing(), ampere(80, 0x6005004, true),  ampere(86, 0x6005604, true),
                                orin(),   ampere(89, 0x6005904, false), Abi{}};
  for (const Abi& abi : kAbis)
    if (abi.smArch == smArch) return abi;
  throw Error("no cubin layout is known for sm_" + std::to_string(smArch));
}

} // namespace orias::cubin
