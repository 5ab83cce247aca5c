#pragma once

#include "encoder/isa/desc.h"

#include <string_view>

namespace orias::isa {

/// The part of the mnemonic that nvdisasm derives from operand values: ".MOV", ".SHL", ".IADD" of an IMAD, or nothing.
std::string_view aliasName(const Inst& inst);

} // namespace orias::isa
