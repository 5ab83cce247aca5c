#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"
#include "frontend/module_phases/space_mask.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace orias::ptx {

/// What the analysis may assume. The defaults assume only what PTX guarantees.
struct SpaceAssumptions {
  bool paramsAreGlobal = false;        ///< kernel parameters are addresses in global memory
  bool constPointersAreGlobal = false; ///< 64-bit values in constant variables are, too
  bool tracksLocals = true;            ///< addresses are tracked through local variables
  bool isWholeProgram = true;          ///< no other module stores values or calls functions
  bool followsCalls = false;           ///< addresses are tracked into functions and back (phase M7)
  bool usesWorkList = true;            ///< otherwise all functions are analyzed again until nothing changes
  bool tracksIntegers = true;          ///< addresses are tracked through integer operations other than additions
  bool localsAreLocal = true;          ///< the result of cvta.local is an address in local memory
};

/// The address of a variable plus a number.
struct Place {
  VariableId variable = VariableId::None; ///< None: not known
  std::int64_t offset = 0;
  bool isGeneric = false; ///< otherwise an address in the space of the variable
  friend bool operator==(const Place&, const Place&) = default;
};

/// The arguments of a direct call, by parameter.
struct CallFacts {
  std::uint32_t instruction = 0;
  FunctionId callee = FunctionId::None;
  std::vector<SpaceMask> passed;
};

/// The values of the 64-bit registers of one function, flow-insensitive: all definitions of a register together.
struct PointerFacts {
  std::vector<SpaceMask> masks; ///< by RegisterId
  std::vector<Place> places;    ///< by RegisterId
  std::vector<CallFacts> calls; ///< if calls are followed
};

/// Computes the spaces of generic addresses in all functions of a module: the union over all definitions of a register,
/// tracked through moves, additions, selects, and stores to and loads from local variables whose address does not
/// escape.
///
/// Kernel parameters are unknown without `.ptr .global`. PTX says that a parameter without `.ptr`, and one with `.ptr`
/// and no space, may be a generic address in any space (PTX ISA, "Kernel Function Parameter Attribute: .ptr").
///
/// With SpaceAssumptions::followsCalls, parameters and results of functions are the union over all calls, computed by a
/// work list to a fixed point. A function is analyzed again when the mask of a parameter grows, its callers when that
/// of a result does. Masks have eight bits, so each parameter puts a function on the list at most eight times. The
/// alternate algorithm (usesWorkList = false) gives the same masks by iterating over all functions.
class PointerSpaces {
 public:
  /// `trace`, if not null, receives a line for each step across calls.
  PointerSpaces(const Module& module, const FormTable& forms, const SpaceAssumptions& assumptions,
                std::string* trace = nullptr);

  const PointerFacts& facts(FunctionId id) const { return facts_[index(id)]; }
  /// Whether only direct calls of this module reach the function. False if calls are not followed.
  bool isClosed(FunctionId id) const { return isClosed_[index(id)]; }

  /// The definitions of each register of a function, by RegisterId: indices of instructions.
  std::vector<std::vector<std::uint32_t>> definitions(const Function& function) const;

  /// Describes for users the origin of a value whose mask is not an address ("kernel parameter 'p'", "loaded from
  /// memory in line 7"). `function` is the one that was analyzed, `definitions` are its definitions.
  std::string origin(FunctionId id, const Function& function, RegisterId reg,
                     const std::vector<std::vector<std::uint32_t>>& definitions) const;

 private:
  friend class FunctionSpaces;

  void findClosedFunctions();
  bool analyzeAll();
  /// The mask of a parameter or result of a function, as far as it is known. If it grows, the function must be analyzed
  /// again.
  SpaceMask passed(VariableId parameter) const;
  void pass(FunctionId function, VariableId parameter, SpaceMask mask, bool isResult);
  void trace(std::string_view line);

  const Module& module_;
  const FormTable& forms_;
  SpaceAssumptions assumptions_;
  std::string* trace_;
  /// By FunctionId: functions that only direct calls of this module reach. All false if calls are not followed.
  std::vector<bool> isClosed_;
  std::vector<std::vector<FunctionId>> callers_; // by FunctionId, with closed callees only
  std::map<VariableId, SpaceMask> passed_;       // of parameters and results of closed functions
  std::vector<FunctionId> work_;
  std::vector<bool> isInWork_;      // by FunctionId: whether it is on the work list
  std::vector<PointerFacts> facts_; // by FunctionId
  /// Some code stores or passes the difference of two generic addresses, so a loaded value may be one.
  bool storesDifferences_ = false;
};

} // namespace orias::ptx
