#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <cstdint>
#include <vector>

namespace orias::ptx {

/// The call graph of a module. An indirect call may reach every function whose address is taken somewhere
/// and that has the parameters and results of its prototype, or those of its list of targets.
class CallGraph {
 public:
  CallGraph(const Module& module, const FormTable& forms);

  /// The functions that a call may reach; aliases are resolved.
  std::vector<FunctionId> targets(const Function& caller, const Instruction& call) const;
  /// Those that the calls in a function may reach, each once.
  const std::vector<FunctionId>& callees(FunctionId id) const { return callees_[index(id)]; }
  /// Those whose address is taken somewhere, as they are named there.
  const std::vector<FunctionId>& addressTaken() const { return addressTaken_; }
  /// Functions that may call each other, at once or through others, have one component; those of callees are lower.
  int component(FunctionId id) const { return component_[index(id)]; }
  /// Whether the function may be recursive.
  bool isRecursive(FunctionId id) const { return isRecursive_[index(id)]; }
  /// Two recursive functions that may call each other, at once or through others.
  bool areMutual(FunctionId a, FunctionId b) const { return component_[index(a)] == component_[index(b)]; }
  /// A recursive function whose recursion has more than one call in the code.
  bool recursesFromSeveralPlaces(FunctionId id) const { return isRecursive(id) && recursiveCalls_[index(id)] > 1; }
  /// A function itself, or the target of an alias.
  FunctionId resolved(FunctionId id) const;

 private:
  bool fits(const Function& callee, const Prototype& prototype) const;

  const Module& module_;
  std::vector<FunctionId> addressTaken_;
  std::vector<std::vector<FunctionId>> callees_; // by FunctionId
  std::vector<int> component_;                   // by FunctionId
  std::vector<bool> isRecursive_;                // by FunctionId
  std::vector<unsigned> recursiveCalls_;         // by FunctionId: direct calls among those that call one another
};

/// The value of a function pointer: an ID of the function in this module, even, and never 0. Calls through
/// pointers compare; functions have no code of their own that could be jumped to.
constexpr std::uint64_t functionAddress(FunctionId id) {
  return (std::uint64_t{index(id)} + 1) * 16;
}

} // namespace orias::ptx
