#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <cstddef>
#include <memory>

namespace orias::ptx {

/// The forms of a module whose opcodes become more. The table is built anew only if there are more than before.
class GrowingForms {
 public:
  explicit GrowingForms(const Module& module) : module_(module) {}

  /// Valid until the next call with a new opcode.
  const FormTable& table() {
    if (!table_ || size_ != module_.opcodes.size()) {
      table_ = std::make_unique<FormTable>(module_);
      size_ = module_.opcodes.size();
    }
    return *table_;
  }

 private:
  const Module& module_;
  std::unique_ptr<FormTable> table_;
  std::size_t size_ = 0;
};

} // namespace orias::ptx
