#pragma once

#include "frontend/module.h"
#include "orias/cubin_module.h"

#include <span>
#include <string_view>

namespace orias {

/// An input, and what became of it.
struct LineSource {
  const ptx::Module* ptx = nullptr;
  const ori::Module* ori = nullptr;
  std::string_view text;
};

/// Says in the cubin which lines its code comes from: those of the source files that the `.loc` directives name, with
/// the calls that were inlined (PTX ISA 9.0, section 11.5), and those of the PTX itself, whose text goes into the cubin
/// as well. `functions` are those that `cubin` was made from. As ptxas does it, an input with a `.loc` is
/// described in any case, another one when `isWanted` (-lineinfo).
void addLineTables(cubin::Module& cubin, std::span<const LineSource> sources, std::span<const CodedFunction> functions,
                   bool isWanted);

} // namespace orias
