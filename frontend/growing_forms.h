#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <optional>

namespace orias::ptx {

/// The forms of a module that gets new opcodes. Built on the first request; each request adds the forms of new opcodes.
class GrowingForms {
 public:
  explicit GrowingForms(const Module& module) : module_(module) {}

  /// The reference and its entries remain valid.
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
