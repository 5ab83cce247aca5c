#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <optional>

namespace orias::ptx {

/// The forms of a module whose opcodes become more. Built when somebody asks; the new ones are added then.
class GrowingForms {
 public:
  explicit GrowingForms(const Module& module) : module_(module) {}

  /// Stays valid, and the entries stay in their places.
  const FormTable& table() {
    if (!table_) table_.emplace(module_);
    table_->extend(module_);
    return *table_;
  }

 private:
  const Module& module_;
  std::optional<FormTable> table_;
};

} // namespace orias::ptx
