#pragma once

#include "ori/analysis/divergence.h"
#include "phases/phase.h"
#include "phases/uniform/uniform_form.h"

#include <optional>
#include <vector>

namespace orias::phases {

/// The values that move to the uniform datapath.
struct UniformPlan {
  std::vector<bool> moves;                       ///< by virtual register (of the files R and P)
  std::vector<std::optional<UniformForm>> forms; ///< by instruction id: the uniform forms of their writers
  /// By virtual register: the copy to R or P is after each definition, not before the uses.
  std::vector<bool> spreadsAfterWriters;
  bool isMoving(const isa::Operand& o) const { return o.isReg() && o.isVirtual() && moves[o.reg]; }
  /// Whether all results of the instruction move, so that it moves itself.
  bool isMoving(const ori::Instr& instr) const;
};

/// Chooses the values. Each must satisfy all five conditions of the literature:
/// 1. it is a virtual register of file R or P, and so are the other results of its instructions;
/// 2. each instruction that writes it has a uniform form;
/// 3. its consumers take uniform registers, or cross-file copies to them cost less than the instructions that move;
/// 4. no consumer is of an excluded category: matrices and textures, whose operands do not change;
/// 5. cross-file copies can be placed: it is warp-uniform, and so are the sources of its definition, which is in a
///    convergent block and not under a guard.
/// First all values that satisfy 1, 2, 4 and 5 are assumed to move. Then values are dropped if this saves more on
/// cross-file copies than their instructions gain, and finally chains of values that do not pay as a whole. The
/// remaining ones enter three pools, one per source position, sorted by the cross-file copies needed there. A value is
/// taken when it has been drawn from all of them, while uniform registers last. Attempts (knob 862) cycle through the
/// blocks. Decisions are reported as remarks.
UniformPlan planUniform(const ori::Function& function, const ori::Divergence& divergence, PhaseContext& context);

} // namespace orias::phases
