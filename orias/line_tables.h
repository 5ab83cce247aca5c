#pragma once

#include "frontend/module.h"
#include "orias/cubin_module.h"

#include <span>
#include <string_view>

namespace orias {

/// An input and its modules.
struct LineSource {
  const ptx::Module* ptx = nullptr;
  const ori::Module* ori = nullptr;
  std::string_view text;
};

/// Adds line tables to the cubin: for the source files that the `.loc` directives name, with inlined calls (PTX
/// ISA 9.0, section 11.5), and for the PTX, whose text is also added. `functions` are those of `cubin`. As in ptxas,
/// inputs with a `.loc` always have tables, others if `isWanted` is set (-lineinfo).
void addLineTables(cubin::Module& cubin, std::span<const LineSource> sources, std::span<CodedFunction* const> functions,
                   bool isWanted);

} // namespace orias
