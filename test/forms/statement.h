#pragma once

#include "frontend/instr_form.h"
#include "frontend/instr_syntax.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orias::forms {

/// What a statement does with a register.
enum class Role : std::uint8_t { Source, Result, Address };

/// A register of a statement. Its name says its width: %p, %c (8 bits), %h, %r, %d, %q (128 bits).
struct Use {
  std::string name;
  ptx::Type type = ptx::Type::None; ///< as the operand wants it; the register itself is untyped
  Role role = Role::Source;
  std::string_view operand;                      ///< its name in the table: "mask"
  ptx::StateSpace space = ptx::StateSpace::None; ///< of an address; None: generic
};

/// An example of one form of an instruction.
struct Statement {
  std::string opcode; ///< with its modifiers
  std::string text;   ///< with made-up operands and `;`
  ptx::Form form;
  ptx::Since since; ///< the lowest version and target
  std::vector<Use> uses;
  bool hasSamplers = false; ///< it is for a module with samplers apart (texmode_independent)

  std::string target() const;  ///< "sm_90a"
  std::string version() const; ///< "8.0"
};

/// The registers that hold the first address of a statement; the next ones are in those before them. No value is ever
/// in them.
inline constexpr std::string_view kAddress64 = "%d139", kAddress32 = "%r139";
/// The name of the operand that is a sampler's handle.
inline constexpr std::string_view kSampler = "sampler";

/// Of which modules the statements are: of those that have samplers apart there are the ones on textures only.
enum class Samplers : std::uint8_t { InTextures, Apart };

/// Calls `take` with an example of every form of the table of PTX instructions: each row with each of its modifiers
/// once, and with and without the operands that may be missing. They fit test/unit/frontend/instr_preamble.ptx, which
/// declares their registers, `cbuf`, `tm`, `callparam`, `tx`, `sf`, `L1`, `TL` and `fn0`. A row that its own opcode
/// does not match is a fault of the table: orias::InternalError.
void forEachStatement(const std::function<void(Statement)>& take, Samplers samplers = Samplers::InTextures);

} // namespace orias::forms
