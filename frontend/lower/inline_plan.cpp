#include "frontend/lower/inline_plan.h"

#include "frontend/lower/shared_calls.h"
#include "frontend/tensor_guard_names.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

namespace {

/// Sizes saturate here, far above any budget.
constexpr std::uint64_t kHuge = std::uint64_t{1} << 40;

/// Operations on registers that calls do not preserve: warp-group products continue asynchronously, and setmaxnreg
/// changes the number of registers.
bool bindsRegisters(Op op) {
  return op == Op::WgmmaMmaAsync || op == Op::WgmmaFence || op == Op::WgmmaCommitGroup || op == Op::WgmmaWaitGroup ||
         op == Op::Setmaxnreg;
}

} // namespace

InlinePlan::InlinePlan(const Module& module, const FormTable& forms, const CallGraph& calls, const InlineLimits& limits,
                       InlineScope scope)
    : module_(module), forms_(forms), calls_(calls), limits_(limits), scope_(scope), bodies_(module.functions.size()),
      mustKeep_(module.functions.size(), Reason::None), kept_(module.functions.size(), Reason::None),
      size_(module.functions.size(), 1), hasCode_(module.functions.size(), scope != InlineScope::Program),
      isInlined_(module.functions.size(), scope == InlineScope::Program), isShared_(module.functions.size(), false),
      callsFunctions_(module.functions.size(), scope != InlineScope::Program),
      hasFunctions_(scope != InlineScope::Program) {
  readBodies();
  markReachable();
  if (scope == InlineScope::Nothing) {
    for (std::uint32_t id = 0; id < bodies_.size(); ++id)
      if (module.functions[id].hasBody && !module.functions[id].isEntry) kept_[id] = Reason::Scope;
    return;
  }
  markMustInline();
  if (scope == InlineScope::Object)
    keepInObject();
  else
    keepRecursive();
  keepShown();
  if (inlinesEverything() && scope == InlineScope::Program) return;
  chooseWithinBudget();
  shareLarge();
  const bool keepsAny = std::ranges::any_of(kept_, [](Reason why) { return why != Reason::None; });
  if (keepsAny || scope != InlineScope::Program) settle();
}

void InlinePlan::readBodies() {
  for (std::uint32_t id = 0; id < bodies_.size(); ++id)
    readBody(FunctionId(id));
  calleesFirst_.resize(bodies_.size());
  for (std::uint32_t id = 0; id < bodies_.size(); ++id)
    calleesFirst_[id] = FunctionId(id);
  std::stable_sort(calleesFirst_.begin(), calleesFirst_.end(),
                   [&](FunctionId a, FunctionId b) { return calls_.component(a) < calls_.component(b); });
}

void InlinePlan::readBody(FunctionId id) {
  const Function& function = module_.function(id);
  Body& body = bodies_[index(id)];
  for (const Instruction& i : function.instructions) {
    const Form& form = forms_.form(i);
    const bool passesParameter = (form.op == Op::Ld || form.op == Op::St) && form.space() == StateSpace::Param;
    if (form.op == Op::Call) {
      const std::vector<FunctionId> targets = calls_.targets(function, i);
      if (callParts(function, i).callee->is(OperandKind::Function)) {
        body.direct.push_back(targets.front());
        body.calls.push_back(static_cast<std::uint32_t>(&i - function.instructions.data()));
      } else {
        body.indirect.push_back(targets);
      }
    } else if (!passesParameter && form.op != Op::Ret) {
      ++body.own;
    }
    body.mustInline |= bindsRegisters(form.op);
    body.actsAlone &= actsAlone(form);
  }
}

void InlinePlan::markReachable() {
  std::vector<FunctionId> work;
  const auto add = [&](FunctionId id) {
    if (bodies_[index(id)].isReachable) return;
    bodies_[index(id)].isReachable = true;
    work.push_back(id);
  };
  for (std::uint32_t id = 0; id < bodies_.size(); ++id)
    if (module_.functions[id].isEntry || scope_ != InlineScope::Program) add(FunctionId(id));
  // Functions whose address is taken may be called from anywhere.
  for (const FunctionId id : calls_.addressTaken())
    add(calls_.resolved(id));
  while (!work.empty()) {
    const FunctionId id = work.back();
    work.pop_back();
    for (const FunctionId callee : bodies_[index(id)].direct) {
      ++bodies_[index(callee)].sites;
      add(callee);
    }
    for (const std::vector<FunctionId>& targets : bodies_[index(id)].indirect)
      std::ranges::for_each(targets, add);
  }
}

std::vector<FunctionId> InlinePlan::reachableFrom(FunctionId root) const {
  std::vector<bool> seen(bodies_.size(), false);
  std::vector<FunctionId> all{root};
  seen[index(root)] = true;
  for (std::size_t at = 0; at < all.size(); ++at)
    for (const FunctionId callee : calls_.callees(all[at]))
      if (!seen[index(callee)]) {
        seen[index(callee)] = true;
        all.push_back(callee);
      }
  return all;
}

void InlinePlan::markMustInline() {
  // A body that inlines such a body is such a body, too.
  for (const FunctionId id : calleesFirst_)
    for (const FunctionId callee : bodies_[index(id)].direct)
      bodies_[index(id)].mustInline |= bodies_[index(callee)].mustInline;
  for (std::uint32_t id = 0; id < bodies_.size(); ++id) {
    const Function& kernel = module_.functions[id];
    const bool changesCount = kernel.isEntry && std::ranges::any_of(kernel.instructions, [&](const Instruction& i) {
                                return forms_.form(i).op == Op::Setmaxnreg;
                              });
    if (!changesCount) continue;
    for (const FunctionId callee : reachableFrom(FunctionId(id)))
      bodies_[index(callee)].mustInline = true;
  }
  for (std::uint32_t id = 0; id < bodies_.size(); ++id)
    bodies_[id].mustInline |= !fitsAbi(module_.functions[id]);
}

bool InlinePlan::fitsAbi(const Function& function) const {
  const auto isPredicate = [&](const Parameter& p) { return module_.variable(p.variable).type == Type::Pred; };
  return function.returns.size() <= 1 && std::ranges::none_of(function.params, isPredicate) &&
         std::ranges::none_of(function.returns, isPredicate);
}

bool InlinePlan::takesStack(const Function& function) const {
  return std::ranges::any_of(function.instructions,
                             [&](const Instruction& i) { return forms_.form(i).op == Op::Alloca; });
}

/// Inlined recursion keeps its registers below the stack pointer. It therefore can neither use alloca nor call driver
/// functions, except the one that never returns.
bool InlinePlan::reachesStack(FunctionId id) const {
  return std::ranges::any_of(reachableFrom(id), [&](FunctionId callee) {
    const Function& f = module_.function(callee);
    return f.hasBody ? takesStack(f) : module_.text(f.name) != "__assertfail";
  });
}

bool InlinePlan::canKeep(FunctionId id) const {
  const Function& f = module_.function(id);
  return f.hasBody && !f.isEntry && !bodies_[index(id)].mustInline;
}

/// If recursion is inlined, lanes at different calls of it execute one after the other. If it is a function, they
/// reconverge after its calls.
void InlinePlan::keepRecursive() {
  for (std::uint32_t id = 0; id < bodies_.size(); ++id) {
    if (!bodies_[id].isReachable || !calls_.isRecursive(FunctionId(id))) continue;
    if (reachesStack(FunctionId(id)) || (canKeep(FunctionId(id)) && calls_.recursesFromSeveralPlaces(FunctionId(id))))
      mustKeep_[id] = Reason::Recursion;
  }
}

void InlinePlan::keepShown() {
  for (std::uint32_t id = 0; id < bodies_.size(); ++id)
    if (bodies_[id].isReachable && isTensorGuard(module_.text(module_.functions[id].name)))
      mustKeep_[id] = Reason::Shown;
}

void InlinePlan::keepInObject() {
  for (const FunctionId id : calls_.addressTaken())
    bodies_[index(calls_.resolved(id))].isExported = true;
  for (std::uint32_t id = 0; id < bodies_.size(); ++id) {
    const Function& f = module_.functions[id];
    if (f.aliasee != FunctionId::None) mustKeep_[index(calls_.resolved(FunctionId(id)))] = Reason::Replaceable;
    if (!f.hasBody || f.isEntry) continue;
    bodies_[id].isExported |= f.linkage != Linkage::None || bodies_[id].sites == 0;
    if (f.linkage == Linkage::Weak)
      mustKeep_[id] = Reason::Replaceable;
    else if (calls_.isRecursive(FunctionId(id)))
      mustKeep_[id] = Reason::Recursion;
    else if (!fitsAbi(f))
      mustKeep_[id] = Reason::Abi;
  }
}

bool InlinePlan::inlinesEverything() {
  std::vector<unsigned> depths(bodies_.size(), 0);
  unsigned deepest = 0;
  std::uint64_t text = 0;
  for (std::size_t first = 0, end = 0; first < calleesFirst_.size(); first = end) {
    const int component = calls_.component(calleesFirst_[first]);
    std::uint64_t size = 0;
    unsigned depth = 0;
    const auto add = [&](FunctionId callee) {
      if (calls_.component(callee) == component) return; // the body exists once
      size += size_[index(callee)];
      depth = std::max(depth, depths[index(callee)] + 1);
    };
    for (end = first; end < calleesFirst_.size() && calls_.component(calleesFirst_[end]) == component; ++end) {
      const Body& body = bodies_[index(calleesFirst_[end])];
      size += body.own;
      text += body.isReachable ? body.own : 0;
      std::ranges::for_each(body.direct, add);
      for (const std::vector<FunctionId>& targets : body.indirect)
        std::ranges::for_each(targets, add);
    }
    for (std::size_t at = first; at < end; ++at) {
      const FunctionId id = calleesFirst_[at];
      size_[index(id)] = std::min(size, kHuge);
      depths[index(id)] = depth;
      if (!module_.function(id).isEntry) continue;
      sizeOfAll_ = std::min(sizeOfAll_ + size, kHuge);
      deepest = std::max(deepest, depth);
    }
  }
  budget_ = std::max(limits_.budget, text * limits_.growthPercent / 100);
  bool hasLarge = false;
  for (std::uint32_t id = 0; id < bodies_.size(); ++id)
    hasLarge |= bodies_[id].sites > 1 && size_[id] > limits_.large && canKeep(FunctionId(id));
  return !hasLarge && sizeOfAll_ <= budget_ && deepest <= limits_.depth &&
         std::ranges::all_of(mustKeep_, [](Reason why) { return why == Reason::None; });
}

void InlinePlan::chooseWithinBudget() {
  std::uint64_t most = limits_.small;
  while (most < limits_.large) {
    const std::uint64_t next = std::clamp<std::uint64_t>(2 * most, 1, limits_.large);
    if (keepLargerThan(next) > budget_) break;
    most = next;
  }
  keepLargerThan(most);
}

/// Keeps the bodies of more than `most` instructions with several calls. Returns the size of all code.
std::uint64_t InlinePlan::keepLargerThan(std::uint64_t most) {
  std::vector<unsigned> depths(bodies_.size(), 0);
  std::uint64_t all = 0;
  for (std::size_t first = 0, end = 0; first < calleesFirst_.size(); first = end) {
    const int component = calls_.component(calleesFirst_[first]);
    const bool isRecursive = calls_.isRecursive(calleesFirst_[first]);
    std::uint64_t size = 0;
    unsigned depth = 0, copies = 0;
    bool canBeKept = true;
    Reason mustBeKept = Reason::None;
    for (end = first; end < calleesFirst_.size() && calls_.component(calleesFirst_[end]) == component; ++end) {
      const FunctionId id = calleesFirst_[end];
      const Body& body = bodies_[index(id)];
      canBeKept &= canKeep(id);
      mustBeKept = std::max(mustBeKept, mustKeep_[index(id)]);
      copies += body.sites + body.isExported;
      size += body.own + limits_.callCost * body.indirect.size();
      for (const FunctionId callee : body.direct) {
        if (calls_.component(callee) == component) continue;
        const bool isCalled = kept_[index(callee)] != Reason::None || !module_.function(callee).hasBody;
        size += isCalled ? limits_.callCost : size_[index(callee)];
        if (!isCalled) depth = std::max(depth, depths[index(callee)] + 1);
      }
    }
    const bool isLarge = copies > 1 && size > most;
    const Reason reason = mustBeKept != Reason::None        ? mustBeKept
                          : !canBeKept                      ? Reason::None
                          : isRecursive                     ? Reason::Recursion
                          : depth > limits_.depth           ? Reason::Depth
                          : isLarge && size > limits_.large ? Reason::Large
                          : isLarge                         ? Reason::Budget
                                                            : Reason::None;
    for (std::size_t at = first; at < end; ++at) {
      const FunctionId id = calleesFirst_[at];
      kept_[index(id)] = reason;
      size_[index(id)] = std::min(size, kHuge);
      depths[index(id)] = depth;
    }
    const FunctionId id = calleesFirst_[first];
    const bool hasCode = module_.function(id).isEntry || reason != Reason::None || bodies_[index(id)].isExported;
    if (bodies_[index(id)].isReachable && hasCode) all = std::min(all + size, kHuge);
  }
  return all;
}

bool InlinePlan::canShare(FunctionId id) const {
  const Body& body = bodies_[index(id)];
  const Reason why = kept_[index(id)];
  return (why == Reason::Large || why == Reason::Budget) && body.isReachable && !body.isExported &&
         !module_.function(id).noreturn && !takesStack(module_.function(id)) &&
         std::ranges::none_of(calls_.addressTaken(), [&](FunctionId taken) { return calls_.resolved(taken) == id; });
}

/// Decides for callers before callees, because a caller that keeps code of its own also has its own copies. A body with
/// calls in a loop would make that loop irreducible. Lanes of different calls may reconverge in the body, so none may
/// wait there for an action of another.
void InlinePlan::shareLarge() {
  if (limits_.sharedCalls == 0) return;
  if (std::ranges::none_of(calleesFirst_, [&](FunctionId id) { return canShare(id); })) return;
  struct Uses {
    std::vector<std::pair<FunctionId, std::uint64_t>> calls{}; ///< in the code of each kernel or function
    bool isRejected = false;
    void add(FunctionId root, std::uint64_t count) {
      const auto found = std::ranges::find(calls, root, [](const auto& use) { return use.first; });
      if (found == calls.end())
        calls.emplace_back(root, count);
      else
        found->second = std::min(found->second + count, kHuge);
    }
  };
  std::vector<Uses> uses(bodies_.size());
  std::vector<bool> isAlone(bodies_.size(), false); // together with all functions that it reaches
  for (std::uint32_t id = 0; id < bodies_.size(); ++id)
    isAlone[id] =
        module_.functions[id].isEntry && std::ranges::all_of(reachableFrom(FunctionId(id)), [&](FunctionId callee) {
          return bodies_[index(callee)].actsAlone && module_.function(callee).hasBody;
        });
  std::uint64_t added = 0;
  for (std::size_t n = calleesFirst_.size(); n-- > 0;) {
    const FunctionId id = calleesFirst_[n];
    const Body& body = bodies_[index(id)];
    Uses& own = uses[index(id)];
    const std::uint64_t copies = std::max<std::size_t>(own.calls.size(), 1) - 1;
    const bool isShared = canShare(id) && !own.isRejected && added + copies * size_[index(id)] <= budget_ &&
                          std::ranges::all_of(own.calls, [&](const auto& use) {
                            return isAlone[index(use.first)] && use.second <= limits_.sharedCalls;
                          });
    if (isShared) {
      added += copies * size_[index(id)];
      kept_[index(id)] = Reason::None;
      isShared_[index(id)] = true;
      for (auto& use : own.calls)
        use.second = 1;
    } else if (module_.function(id).isEntry || kept_[index(id)] != Reason::None || body.isExported) {
      own = Uses{{{id, 1}}, false};
    }
    const std::vector<bool> inLoop =
        body.calls.empty() ? std::vector<bool>() : instructionsInLoops(module_.function(id), forms_);
    for (std::size_t call = 0; call < body.direct.size(); ++call) {
      Uses& callee = uses[index(body.direct[call])];
      callee.isRejected |= own.isRejected || inLoop[body.calls[call]] || calls_.isRecursive(id);
      for (const auto& [root, count] : own.calls)
        callee.add(root, count);
    }
  }
}

void InlinePlan::settle() {
  hasFunctions_ = true;
  for (std::uint32_t id = 0; id < bodies_.size(); ++id) {
    isInlined_[id] = kept_[id] == Reason::None && (module_.functions[id].hasBody || scope_ == InlineScope::Program);
    hasCode_[id] = bodies_[id].isReachable && (!isInlined_[id] || bodies_[id].isExported);
  }
  for (const FunctionId taken : calls_.addressTaken()) {
    const FunctionId id = calls_.resolved(taken);
    if (const Function& f = module_.function(id); f.hasBody && !f.isEntry) hasCode_[index(id)] = true;
  }
  if (scope_ != InlineScope::Program) return;
  for (std::size_t first = 0, end = 0; first < calleesFirst_.size(); first = end) {
    const int component = calls_.component(calleesFirst_[first]);
    bool callsAny = false;
    for (end = first; end < calleesFirst_.size() && calls_.component(calleesFirst_[end]) == component; ++end) {
      const FunctionId id = calleesFirst_[end];
      callsAny |= !bodies_[index(id)].indirect.empty();
      for (const FunctionId callee : bodies_[index(id)].direct)
        callsAny |= !isInlined_[index(callee)] || callsFunctions_[index(callee)];
    }
    for (std::size_t at = first; at < end; ++at)
      callsFunctions_[index(calleesFirst_[at])] = callsAny;
  }
}

std::string InlinePlan::whyInlined(FunctionId id) const {
  const Body& body = bodies_[index(id)];
  if (body.mustInline) return "calls cannot carry what it works on";
  if (isShared_[index(id)])
    return fmt::format("the calls in a kernel share one copy of its body of {} instructions", size_[index(id)]);
  if (body.sites == 1) return "this is its only call";
  if (size_[index(id)] <= limits_.small)
    return fmt::format("its body has {} instructions, at most {} (InlineSmallInstructions)", size_[index(id)],
                       limits_.small);
  return fmt::format("its body of {} instructions is within the budget of the module, {} instructions",
                     size_[index(id)], budget_);
}

std::vector<InlineRemark> InlinePlan::remarks() const {
  std::vector<InlineRemark> all;
  for (std::uint32_t id = 0; id < bodies_.size(); ++id) {
    const Body& body = bodies_[id];
    if (!body.isReachable) continue;
    for (std::size_t n = 0; n < body.direct.size(); ++n) {
      const FunctionId callee = body.direct[n];
      const std::string_view caller = module_.text(module_.functions[id].name),
                             name = module_.text(module_.function(callee).name);
      const std::uint32_t line = module_.functions[id].instructions[body.calls[n]].loc.line;
      std::string why;
      switch (kept_[index(callee)]) {
      case Reason::None:
        if (isInlined_[index(callee)] && module_.function(callee).hasBody)
          all.push_back({std::string(caller), line, true,
                         fmt::format("the call of '{}' is inlined: {}", name, whyInlined(callee)),
                         static_cast<std::int64_t>(size_[index(callee)])});
        continue;
      case Reason::Scope:
        why = "no call is inlined with -g, and none in objects at -O0 or with InlineInObjects=0";
        break;
      case Reason::Shown: why = "debuggers show its name"; break;
      case Reason::Replaceable: why = "it is weak or has an alias, so another object may define it"; break;
      case Reason::Abi: why = "the ABI cannot pass its parameters and results"; break;
      case Reason::Recursion: why = "it is recursive"; break;
      case Reason::Depth:
        why = fmt::format("more than {} inlined calls would be nested (InlineMaxDepth)", limits_.depth);
        break;
      case Reason::Large:
        why = fmt::format("its body of {} instructions has {} calls; the limit for several calls is {} instructions "
                          "(InlineLargeInstructions)",
                          size_[index(callee)], bodies_[index(callee)].sites, limits_.large);
        break;
      case Reason::Budget:
        why = fmt::format("its body of {} instructions has {} calls; with all calls inlined the module would have {} "
                          "instructions, its budget is {} (InlineModuleInstructions, InlineGrowthPercent)",
                          size_[index(callee)], bodies_[index(callee)].sites, sizeOfAll_, budget_);
        break;
      }
      // LLVM's wording, for functions that should have no code of their own.
      const std::string must =
          bodies_[index(callee)].mustInline ? fmt::format("not AlwaysInline into {}: ", caller) : std::string();
      all.push_back({std::string(caller), line, false,
                     fmt::format("{}the call of '{}' is not inlined: {}", must, name, why),
                     static_cast<std::int64_t>(size_[index(callee)])});
    }
  }
  return all;
}

} // namespace orias::ptx
