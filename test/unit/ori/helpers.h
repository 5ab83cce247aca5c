#pragma once

#include "encoder/isa/target.h"
#include "ori/module.h"
#include "ori/parse.h"
#include "ori/print.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>

namespace orias::ori::test {

/// A module from text that must be valid.
inline std::unique_ptr<Module> parsed(std::string_view text) {
  Diagnostics diagnostics("test.ori", text);
  auto module = parse(text, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.render());
  return module;
}

/// A module with one kernel with this body.
inline std::unique_ptr<Module> kernel(std::string_view body, std::string_view chip = "sm_90") {
  return parsed("module " + std::string(chip) + " ptx 8 5;\nkernel \"k\" {\n" + std::string(body) + "}\n");
}

inline std::unique_ptr<Module> emptyModule() {
  return std::make_unique<Module>(*isa::Target::find("sm_90"));
}

} // namespace orias::ori::test
