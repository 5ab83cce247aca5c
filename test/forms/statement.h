#pragma once

#include "frontend/instr_form.h"
#include "frontend/instr_syntax.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orias::forms {

/// The use of a register in a statement.
enum class Role : std::uint8_t { Source, Result, Address };

/// A register of a statement. The name determines the width: %p, %c (8 bits), %h, %r, %d, %q (128 bits).
struct Use {
  std::string name;
  ptx::Type type = ptx::Type::None; ///< the type of the operand; the register itself is untyped
  Role role = Role::Source;
  std::string_view operand;                      ///< its name in the table: "mask"
  ptx::StateSpace space = ptx::StateSpace::None; ///< of an address; None: generic
};

/// An example of one form of an instruction.
struct Statement {
  std::string opcode; ///< with its modifiers
  std::string text;   ///< with generated operands and `;`
  ptx::Form form;
  ptx::Since since; ///< the lowest version and target
  std::vector<Use> uses;
  bool hasSamplers = false; ///< for a module with separate samplers (texmode_independent)

  std::string target() const;  ///< "sm_90a"
  std::string version() const; ///< "8.0"
};

/// The registers of the first address of a statement; the next addresses are in lower registers. They never hold
/// values.
inline constexpr std::string_view kAddress64 = "%d139", kAddress32 = "%r139";
/// The name of the operand that is a sampler's handle.
inline constexpr std::string_view kSampler = "sampler";

/// The kind of module of the statements. For modules with separate samplers there are only texture statements.
enum class Samplers : std::uint8_t { InTextures, Apart };

/// Calls `take` with an example of every form of the table of PTX instructions: each row with each of its modifiers
/// once, and with and without optional operands. Their names are declared in test/unit/frontend/instr_preamble.ptx:
/// registers, `cbuf`, `tm`, `callparam`, `tx`, `sf`, `L1`, `TL` and `fn0`. A row that does not match its own opcode is
/// an error in the table: orias::InternalError.
void forEachStatement(const std::function<void(Statement)>& take, Samplers samplers = Samplers::InTextures);

} // namespace orias::forms
