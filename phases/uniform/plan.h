#pragma once

#include "ori/analysis/divergence.h"
#include "phases/phase.h"
#include "phases/uniform/counterpart.h"

#include <optional>
#include <vector>

namespace orias::phases {

/// Which values go to the uniform datapath.
struct UniformPlan {
  std::vector<bool> moves;                       ///< by virtual register (of the files R and P)
  std::vector<std::optional<UniformForm>> forms; ///< by instruction id: what those that write them become
  /// By virtual register: the copy to R or P is after each definition, not before the uses.
  std::vector<bool> spreadsBehindWriters;
  bool isMoving(const isa::Operand& o) const { return o.isReg() && o.isVirtual() && moves[o.reg]; }
  /// All results of the instruction move, so it moves itself.
  bool isMoving(const ori::Instr& instr) const;
};

/// Chooses the values. Each needs the five of the literature at once:
/// 1. it is a virtual register of file R or P, as all that its instructions write besides;
/// 2. each instruction that writes it has a uniform form;
/// 3. its consumers take uniform registers, or bridges to them cost less than the instructions that move;
/// 4. no consumer is of an excluded category: matrices and textures, whose operands stay as they are;
/// 5. cross-file copies can be placed: it is warp-uniform, and so are the sources of its definition, which is in a
///    block that the lanes run together, not under a guard.
/// All that pass 1, 2, 4 and 5 are taken for moved at first. Then values go back without which bridges get so much
/// cheaper that it makes good for their instructions, and at last chains of values that do not pay as a whole. What is
/// left enters three pools, one for each source position, ordered by the bridges needed there; it is taken when it has
/// come up in all of them, while the uniform registers last. Attempts (knob 862) take turns over the blocks. Decisions
/// are remarks.
UniformPlan planUniform(const ori::Function& function, const ori::Divergence& divergence, PhaseContext& context);

} // namespace orias::phases
