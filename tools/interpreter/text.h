#pragma once

#include "frontend/module.h"

#include <string>

namespace orias::interp {

/// An instruction as PTX text, without the semicolon: "@%p1 ld.global.u32 %r1, [%rd1+4]". Constants are printed from
/// their values.
std::string instructionText(const ptx::Module& module, const ptx::Function& function,
                            const ptx::Instruction& instruction);

} // namespace orias::interp
