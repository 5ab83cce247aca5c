#pragma once

#include "frontend/check.h"
#include "frontend/parse.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Helpers of the front end's tests.

namespace orias::ptx {

inline constexpr std::string_view kHeader = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A module from its text, with its diagnostics.
struct Parsed {
  // `diags` refers to `text`: no copies, no moves.
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;
  explicit Parsed(std::string source) : text(std::move(source)), diags("t.ptx", text), module(parse(text, diags)) {}

  Parsed& checked(CheckOptions options = {}) {
    checkDeclarations(*module, options, diags);
    return *this;
  }
  bool ok() const { return !diags.hasErrors(); }
  /// `line:column message` of every diagnostic, one per line, in the order of the text.
  std::string errors() const {
    std::string all;
    std::vector<Diagnostic> sorted = diags.all();
    std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
      return a.loc.line != b.loc.line ? a.loc.line < b.loc.line : a.loc.column < b.loc.column;
    });
    for (const Diagnostic& d : sorted)
      all += std::to_string(d.loc.line) + ":" + std::to_string(d.loc.column) + " " + d.message + "\n";
    return all;
  }
  const Function& function(std::string_view name) const {
    for (const Function& f : module->functions) {
      if (module->text(f.name) == name) return f;
    }
    throw std::string(name) + " is missing";
  }
  const Variable& variable(std::string_view name) const {
    for (const Variable& v : module->variables) {
      if (module->text(v.name) == name) return v;
    }
    throw std::string(name) + " is missing";
  }

  std::string text;
  Diagnostics diags;
  std::unique_ptr<Module> module;
};

/// Items of module scope; the first is in line 4.
inline Parsed parseModule(std::string_view items) {
  return Parsed(std::string(kHeader) + std::string(items));
}

/// Statements in an entry with a few registers declared; the first is in line 6.
inline Parsed parseBody(std::string_view statements) {
  return Parsed(std::string(kHeader) +
                ".entry k(.param .u64 a, .param .u32 n) {\n"
                ".reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .pred %p<4>; .reg .f32 %f<4>;\n" +
                std::string(statements) + "\n}\n");
}

/// The first operand list of the body's instruction `at`.
inline std::span<const Operand> operandsAt(const Parsed& p, std::size_t at = 0) {
  const Function& f = p.function("k");
  return f.operandsOf(f.instructions.at(at));
}

} // namespace orias::ptx
