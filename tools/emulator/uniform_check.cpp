// Checks claims of uniformity (Program::uniformRegisters, uniformBlocks): all lanes that read such a register together
// see the same value, and all lanes of a warp that have not exited execute such a block together. The sources of phis
// are not checked, only the readers of their results.

#include "tools/emulator/machine.h"

#include "ori/function.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::emu {

namespace {
constexpr std::uint32_t kNoClaim = ~0u;
}

void Machine::takeClaims() {
  hasClaims_ = !program_.uniformRegisters.empty() || !program_.uniformBlocks.empty();
  if (!hasClaims_) return;
  claimOfRegister_.assign(code_.rows()[static_cast<std::size_t>(isa::File::R)], kNoClaim);
  claimOfPredicate_.assign(code_.rows()[static_cast<std::size_t>(isa::File::P)], kNoClaim);
  for (ori::VRegId v = 0; v < program_.uniformRegisters.size(); ++v) {
    const ori::VReg& reg = program_.function->vreg(v);
    if (!program_.uniformRegisters[v] || (reg.file != isa::File::R && reg.file != isa::File::P)) continue;
    auto& claims = reg.file == isa::File::R ? claimOfRegister_ : claimOfPredicate_;
    for (unsigned k = 0; k < reg.width; ++k)
      claims.at(program_.rowOfVReg[v] + k) = v;
  }
}

void Machine::checkClaims(const Operation& op, std::uint32_t lanes) {
  if (op.isGuarded && op.guardFrom == From::Predicate) {
    const std::uint32_t mask = path().mask, bits = warp().p[op.guardRow] & mask;
    const std::uint32_t claim = claimOfPredicate_[op.guardRow];
    if (claim != kNoClaim && (mask & (mask - 1)) != 0) {
      ++claimsCompared_;
      if (bits != 0 && bits != mask)
        finding("uniform",
                fmt::format("%r{} is marked uniform; it is true in lanes {:#x} of {:#x} (CTA ({}, {}, {}), warp {})",
                            claim, bits, mask, cta_->id.x, cta_->id.y, cta_->id.z, warp().index));
    }
  }
  if ((lanes & (lanes - 1)) == 0) return; // only one lane
  for (unsigned i = 0; i < op.readCount; ++i)
    checkClaim(op, i, lanes);
}

void Machine::checkClaim(const Operation& op, unsigned index, std::uint32_t lanes) {
  const Read& read = op.reads[index];
  const bool isPredicate = read.from == From::Predicate;
  if (!isPredicate && read.from != From::Lane) return;
  const std::uint32_t claim = isPredicate ? claimOfPredicate_[read.row] : claimOfRegister_[read.row];
  if (claim == kNoClaim) return;
  ++claimsCompared_;
  const auto value = [&](unsigned lane) { return isPredicate ? bits_[index] >> lane & 1 : rows_[index][lane]; };
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  for (std::uint32_t rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (value(lane) == value(first)) continue;
    return finding("uniform",
                   fmt::format("%r{} is marked uniform; lane {} reads {:#x}, lane {} {:#x} (CTA ({}, {}, {}), warp {})",
                               claim, first, value(first), lane, value(lane), cta_->id.x, cta_->id.y, cta_->id.z,
                               warp().index));
  }
}

void Machine::checkBlockClaim(const Operation& op) {
  if (!op.startsBlock || op.block >= program_.uniformBlocks.size() || !program_.uniformBlocks[op.block]) return;
  if (path().mask == warp().live) return;
  finding("uniform",
          fmt::format("the block is marked uniform; lanes {:#x} of {:#x} enter it (CTA ({}, {}, {}), warp {})",
                      path().mask, warp().live, cta_->id.x, cta_->id.y, cta_->id.z, warp().index));
}

} // namespace orias::emu
