#pragma once

#include "ori/module.h"

#include <string>

namespace orias::ori {

/// What the text of an instruction shows in addition to the instruction. Without `notes`, parse() cannot restore
/// everything.
struct PrintOptions {
  bool notes = true; ///< `# line 12 loc 3 by 0<5`: PTX line, .loc entry, phases
};

/// The text form, described in ori/README.md. parse() of the result gives a module that prints the same text.
std::string print(const Module& module, const PrintOptions& options = {});
std::string print(const Function& function, const PrintOptions& options = {});

/// One instruction without notes, control fields included: "@!%p3 IADD3 %r4, %r5, 0x1, RZ".
std::string print(const Function& function, const Instr& instr);
std::string printOperand(const Function& function, const isa::Operand& operand);

} // namespace orias::ori
