#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <cstdint>
#include <vector>

namespace orias::ptx {

/// The call graph of a module. An indirect call may reach every function whose address is taken and that has the
/// parameters and results of its prototype, or the functions in its list of targets.
class CallGraph {
 public:
  CallGraph(const Module& module, const FormTable& forms);

  /// The functions that a call may reach; aliases are resolved.
  std::vector<FunctionId> targets(const Function& caller, const Instruction& call) const;
  /// The functions that the calls in a function may reach, each once.
  const std::vector<FunctionId>& callees(FunctionId id) const { return callees_[index(id)]; }
  /// The functions whose address is taken, by the names used there (possibly aliases).
  const std::vector<FunctionId>& addressTaken() const { return addressTaken_; }
  /// The strongly connected component of a function. Callees have lower components.
  int component(FunctionId id) const { return component_[index(id)]; }
  /// Whether the function may be recursive.
  bool isRecursive(FunctionId id) const { return isRecursive_[index(id)]; }
  /// Whether both functions are recursive and may call each other, directly or through others.
  bool areMutual(FunctionId a, FunctionId b) const { return component_[index(a)] == component_[index(b)]; }
  /// Whether the function is recursive and its recursion has several call sites.
  bool recursesFromSeveralPlaces(FunctionId id) const { return isRecursive(id) && recursiveCalls_[index(id)] > 1; }
  /// The function, or the target if it is an alias.
  FunctionId resolved(FunctionId id) const;

 private:
  bool fits(const Function& callee, const Prototype& prototype) const;

  const Module& module_;
  std::vector<FunctionId> addressTaken_;
  std::vector<std::vector<FunctionId>> callees_; // by FunctionId
  std::vector<int> component_;                   // by FunctionId
  std::vector<bool> isRecursive_;                // by FunctionId
  std::vector<unsigned> recursiveCalls_;         // by FunctionId: direct calls within the component
};

/// The value of a function pointer: a module-wide ID of the function, even and never 0. Calls through pointers compare
/// it. Such functions have no code of their own to jump to.
constexpr std::uint64_t functionAddress(FunctionId id) {
  return (std::uint64_t{index(id)} + 1) * 16;
}

} // namespace orias::ptx
