#pragma once

// Rules of the text form that the printer and the parser share.

#include "encoder/isa/desc.h"
#include "ori/instr.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias::ori::text {

using Mods = std::array<std::uint8_t, isa::kMaxMods>;

/// "LDG.E.64": the row's mnemonic and the names of the modifiers, in the order of the table.
std::string mnemonic(Op op, const Mods& mods);

struct Resolved {
  Op op{};
  Mods mods{};
};
/// All instructions that a mnemonic with modifiers can denote, in the order of the table. Modifiers that are not
/// written have their default value.
std::vector<Resolved> resolve(std::string_view mnemonic);

/// An operand in the text: brackets distinguish `desc[..]` and `[..]` from others.
struct Written {
  isa::Operand operand;
  isa::Bracket bracket = isa::Bracket::None;
};

/// The operand slot of each written operand, if default operands are omitted. Operands past the slots
/// of a variadic instruction get consecutive numbers. Nothing when the operands do not fit.
std::optional<std::vector<unsigned>> matchSlots(Op op, std::span<const Written> written);

/// Whether the operand slot may be omitted if it has its default.
bool isOmittable(const isa::InstrDesc& desc, unsigned slot);

} // namespace orias::ori::text
