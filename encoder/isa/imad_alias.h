#pragma once

#include "encoder/isa/desc.h"

#include <string_view>

namespace orias::isa {

/// The part of the mnemonic that nvdisasm derives from operand values: ".MOV", ".SHL", ".IADD" of an IMAD, or nothing.
std::string_view aliasName(const Inst& inst);

/// "MOV", "SHL", "IADD".
bool isAliasName(std::string_view part);

} // namespace orias::isa
