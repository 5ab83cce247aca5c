#pragma once

#include "frontend/lower/call_graph.h"
#include "frontend/lower/lower.h"

#include <cstdint>
#include <string>
#include <vector>

namespace orias::ptx {

/// Decides which calls are replaced by the body of the callee and which functions keep code of their own, called by the
/// ABI.
///
/// If all calls can be inlined within the budget of the module, they are. Otherwise functions are visited callees
/// first. A function is inlined if it has a single call site, if its body (with everything inlined into it) is small,
/// or if the ABI cannot express its calls. All others keep code of their own. "Small" grows as far as the budget
/// allows. A large body with several call sites is never copied to each, because the cost of its calls is relatively
/// low. So code size and compile time stay proportional to the size of the text. Where possible, each kernel gets one
/// copy of such a body, which its calls share (shared_calls.h). This requires that no call is in a loop and that no
/// thread waits for another.
///
/// In an object the same applies to functions whose calls always reach this body: those that are not weak, have no
/// alias and are not recursive. A function that another object can call, that has its address taken, or that nothing
/// calls also keeps code of its own in addition to the inlined copies.
class InlinePlan {
 public:
  InlinePlan(const Module& module, const FormTable& forms, const CallGraph& calls, const InlineLimits& limits,
             InlineScope scope);

  /// Whether any function has code of its own. Pointers to functions then hold addresses.
  bool hasFunctions() const { return hasFunctions_; }
  /// Whether the function (not a kernel) is lowered as a function of its own.
  bool hasCode(FunctionId id) const { return hasCode_[index(id)]; }
  /// Whether direct calls of the function become copies of its body.
  bool isInlined(FunctionId id) const { return isInlined_[index(id)]; }
  /// Whether the calls of an inlined function in a kernel share one copy of its body.
  bool isShared(FunctionId id) const { return isShared_[index(id)]; }
  /// Whether the code of a kernel or function calls others by the ABI. In an object this is assumed for all code.
  bool callsFunctions(FunctionId id) const { return callsFunctions_[index(id)]; }

  /// The callees of the direct calls of a function, one for each call; aliases are resolved.
  const std::vector<FunctionId>& directCallees(FunctionId id) const { return bodies_[index(id)].direct; }

  /// One remark for each direct call of a function with a body.
  std::vector<InlineRemark> remarks() const;

 private:
  /// Why a function keeps code of its own, or must not.
  enum class Reason : std::uint8_t {
    None,
    Scope,       ///< nothing is inlined
    Shown,       ///< debuggers show its name
    Replaceable, ///< another object may have the body that runs
    Abi,         ///< its calls are errors in an object
    Recursion,
    Large,
    Budget,
    Depth
  };
  struct Body {
    std::uint64_t own = 1; ///< instructions, without those that pass parameters
    std::vector<FunctionId> direct;
    std::vector<std::uint32_t> calls;              ///< the direct calls, as indices of instructions
    std::vector<std::vector<FunctionId>> indirect; ///< the targets of each call through a pointer
    unsigned sites = 0;                            ///< direct calls of this function in all reachable code
    bool mustInline = false;
    bool actsAlone = true; ///< none of its instructions depends on other threads
    bool isReachable = false;
    bool isExported = false; ///< in an object: has code even if all calls are inlined
  };

  void readBodies();
  void readBody(FunctionId id);
  void markReachable();
  void markMustInline();
  void keepRecursive();
  void keepShown();
  void keepInObject();
  bool fitsAbi(const Function& function) const;
  bool reachesStack(FunctionId id) const;
  bool takesStack(const Function& function) const;
  std::vector<FunctionId> reachableFrom(FunctionId root) const;
  bool inlinesEverything();
  void chooseWithinBudget();
  std::uint64_t keepLargerThan(std::uint64_t most);
  bool canShare(FunctionId id) const;
  void shareLarge();
  void settle();
  bool canKeep(FunctionId id) const;
  std::string whyInlined(FunctionId id) const;

  const Module& module_;
  const FormTable& forms_;
  const CallGraph& calls_;
  InlineLimits limits_;
  InlineScope scope_;
  std::vector<Body> bodies_;             // by FunctionId, like all below
  std::vector<FunctionId> calleesFirst_; // all functions; mutually recursive ones are adjacent
  std::vector<Reason> mustKeep_;
  std::vector<Reason> kept_;
  std::vector<std::uint64_t> size_; // of a body including what is inlined into it
  std::vector<bool> hasCode_, isInlined_, isShared_, callsFunctions_;
  std::uint64_t budget_ = 0, sizeOfAll_ = 0; // of the module; with all calls inlined
  bool hasFunctions_ = false;
};

} // namespace orias::ptx
