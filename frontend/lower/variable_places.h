#pragma once

#include "encoder/isa/operand.h"
#include "frontend/lower/module_layout.h"
#include "ori/function.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace orias::ptx {

/// The places of parameters, shared variables and local variables in the memory of a function and of the functions
/// inlined into it.
class VariablePlaces {
 public:
  /// `isLinked`: a linker assigns the places of shared variables.
  VariablePlaces(const ModuleLayout& layout, ori::Function& out, bool isLinked);

  void layOutParams(const Function& kernel);
  void layOutVariables(const Function& function);

  /// Whether this is a .param variable of a function or of a call, which is kept in registers; not a kernel parameter.
  bool isCallParam(VariableId id) const;
  /// The offset of a kernel parameter from the start of the parameters.
  std::uint32_t paramOffset(VariableId id) const { return paramOffset_[index(id)]; }
  /// The offset of a shared variable from the start of the CTA's shared memory.
  std::uint32_t sharedOffset(VariableId id) const { return sharedOffset_[index(id)]; }
  /// The frame object of a .local variable, or of a parameter whose address is taken.
  std::optional<std::uint32_t> frameObject(VariableId id) const;
  /// The register that holds the address of a recursive body's own .local variable.
  isa::Operand localBase(VariableId id) const { return localBase_[index(id)]; }
  void setLocalBase(VariableId id, isa::Operand base);

 private:
  const Module& module() const { return *layout_.in; }
  std::uint32_t newFrameObject(const Variable& variable);
  /// Allocates frame memory for parameters whose address is taken, except in recursive bodies.
  void keepInMemory(const Function& body);

  const ModuleLayout& layout_;
  ori::Function& out_;
  const bool isLinked_;
  std::vector<std::uint32_t> paramOffset_;  // by VariableId
  std::vector<std::uint32_t> sharedOffset_; // by VariableId
  std::vector<std::uint32_t> frameObject_;  // by VariableId
  std::vector<isa::Operand> localBase_;     // by VariableId; empty if there are none
};

} // namespace orias::ptx
