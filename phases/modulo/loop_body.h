#pragma once

// A loop of one block for modulo scheduling: its values, and the dependences between iterations.

#include "ori/analysis/analyses.h"
#include "phases/modulo/loop_graph.h"

#include <string>
#include <vector>

namespace orias::phases::modulo {

/// The most stages that a schedule may have. Memory accesses are compared over this many iterations.
inline constexpr unsigned kMaxStages = 8;

/// A value written in one iteration and read in the same or the next one. Each gets separate registers when iterations
/// overlap, except for values in place.
struct Value {
  enum class Kind : std::uint8_t {
    Local,   ///< written and read in one iteration
    Carried, ///< written in one iteration, for the next one
    InPlace  ///< a register that is changed by component or under guards: one for all iterations
  };
  ori::VRegId reg = ori::kNoId;
  Kind kind = Kind::Local;
  bool keepsRegister = false; ///< its first copy is in `reg`, as in the original loop
  bool isLiveOut = false;     ///< used after the loop
};

/// An operand that refers to a value. Instance `i + shift` of a value belongs to iteration i.
struct ValueRef {
  std::uint32_t value = ori::kNoId;
  std::uint8_t shift = 0;
};

/// A loop that can be pipelined: one block with one entry edge, and a conditional branch at its end.
struct LoopBody {
  ori::Block* block = nullptr;
  ori::Block* entry = nullptr; ///< the only block outside that leads to it
  ori::BlockId exit = ori::kNoId;
  std::vector<ori::Instr*> instrs;         ///< the branch is the last one; they are the nodes of the graph
  std::vector<std::vector<ValueRef>> refs; ///< by instruction: of the guard, then of the operands
  std::vector<Value> values;
  LoopGraph graph;
  bool exitsTogether = false; ///< all lanes of the warp leave at once

  std::uint32_t branch() const { return static_cast<std::uint32_t>(instrs.size() - 1); }
};

/// The analyses needed for finding a body, of the current function.
struct LoopFacts {
  explicit LoopFacts(const ori::Function& function)
      : cfg(function.analyses().cfg()), loops(function.analyses().loops()), liveness(function.analyses().liveness()),
        divergence(function.analyses().divergence()) {}

  const ori::Cfg& cfg;
  const ori::Loops& loops;
  const ori::Liveness& liveness;
  const ori::Divergence& divergence;
};

/// Returns the body of a loop. If the loop cannot be pipelined, `whyNot` is set and the body has no block.
LoopBody findBody(ori::Function& function, const LoopFacts& facts, ori::LoopId loop, const isa::Target& target,
                  std::string& whyNot);

} // namespace orias::phases::modulo
