#pragma once

#include "frontend/check.h"
#include "frontend/parse.h"

#include <doctest/doctest.h>
#include <memory>
#include <string>

namespace orias::ptx {

/// A valid PTX module, and its diagnostics with the same lifetime.
struct Checked {
  explicit Checked(const std::string& text) : diagnostics("a.ptx", text), module(parse(text, diagnostics)) {
    check(*module, {}, diagnostics);
    REQUIRE_MESSAGE(!diagnostics.hasErrors(), diagnostics.render());
  }

  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
};

} // namespace orias::ptx
