#pragma once

#include "encoder/isa/desc.h"

#include <span>

namespace orias::isa {

/// A form of a row: desc(op, format).forms[form].
struct FormId {
  Op op;
  std::uint8_t form;
};

/// The forms whose words have these twelve opcode bits, in the order of the rows.
std::span<const FormId> formsOf(unsigned opcode, WordFormat format);

} // namespace orias::isa
