#pragma once

#include "encoder/isa/operand.h"
#include "frontend/ids.h"
#include "frontend/lower/value.h"
#include "frontend/module.h"
#include "ori/function.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orias::ptx {

class FunctionLowering;

/// The arguments and results of a call, in terms of the caller.
struct CallValues {
  std::vector<std::vector<Value>> args; ///< words
  std::vector<isa::Operand> direct;     ///< the registers of results that are returned directly; else none
  std::span<const Operand> results;
};

/// The .param variables of functions and calls (VariablePlaces::isCallParam), which are kept in registers: their loads
/// and stores, and the transfer of arguments and results between caller and callee.
class CallParams {
 public:
  explicit CallParams(FunctionLowering& f) : f_(f) {}

  /// The register of one 32-bit word of such a variable.
  isa::Operand word(VariableId id, std::size_t word);
  /// A load or store; `type` and the offset select a component.
  void load(isa::Operand destination, VariableId id, std::int64_t offset, Type type);
  void store(VariableId id, std::int64_t offset, Type type, const Value& value);
  /// The words of an argument for `param`; none if it cannot be passed, which is reported.
  std::vector<Value> argument(const Operand& argument, VariableId param);
  /// Copies arguments to the parameters of the callee, whose registers are `vregOf`.
  void pass(const Function& callee, std::span<const ori::VRegId> vregOf, std::span<const std::vector<Value>> values);
  /// Stores the parameters that are also in frame memory, because their address is taken.
  void storeInMemory(const Function& body);
  /// The registers that contain the results of the callee, by word.
  std::vector<std::vector<isa::Operand>> results(const Function& callee, std::span<const ori::VRegId> vregOf);
  /// Copies these to the results of the call.
  void take(const CallValues& call, std::span<const std::vector<isa::Operand>> returned);

 private:
  FunctionLowering& f_;
  std::vector<std::vector<ori::VRegId>> words_; // by VariableId
};

} // namespace orias::ptx
