#pragma once

#include "encoder/isa/target.h"
#include "frontend/check.h"
#include "frontend/lower/lower.h"
#include "frontend/parse.h"
#include "ori/print.h"

#include <string>
#include <string_view>

namespace orias::ptx {

/// The Ori text of the statements, lowered in a kernel with a few registers and the performance directives `bounds`, or
/// the diagnostics.
inline std::string lowered(std::string_view statements, std::string_view items = {}, std::string_view target = "sm_90",
                           std::string_view bounds = {}, const LowerOptions& options = {}) {
  const std::string text =
      ".version 8.8\n.target " + std::string(target) + "\n.address_size 64\n" + std::string(items) +
      ".visible .entry k(.param .u64 a, .param .u32 n) " + std::string(bounds) +
      " {\n"
      ".reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n"
      ".shared .align 16 .b8 sm[256];\n" +
      std::string(statements) + "\nret;\n}\n";
  Diagnostics diagnostics("t.ptx", text);
  auto module = parse(text, diagnostics);
  if (!diagnostics.hasErrors()) check(*module, {}, diagnostics);
  if (diagnostics.hasErrors()) return diagnostics.render();
  const isa::Target* chip = isa::Target::find(target.substr(0, target.find(',')));
  auto out = lower(*module, chip ? *chip : *isa::Target::find("sm_90"), diagnostics, options);
  if (diagnostics.hasErrors()) return diagnostics.render();
  return ori::print(*out, {.notes = false});
}

/// Whether the text contains the parts in this order.
inline bool inOrder(std::string_view text, std::initializer_list<std::string_view> parts) {
  std::size_t at = 0;
  for (std::string_view part : parts) {
    at = text.find(part, at);
    if (at == std::string_view::npos) return false;
    at += part.size();
  }
  return true;
}

} // namespace orias::ptx
