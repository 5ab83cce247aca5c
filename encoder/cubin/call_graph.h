#pragma once

#include <functional>

#include "encoder/cubin/module.h"
#include "encoder/cubin/nv_info.h"

namespace orias::cubin {

struct CallTables {
  Bytes graph;      ///< `.nv.callgraph`
  Bytes prototypes; ///< `.nv.prototype`, of relocatable files
};

/// Who may call whom: what a linker finds stacks and register counts from. `text` gives prototypes their places in the
/// string table. Observed in `ptxas -c`, and in what `nvlink -dump-callgraph` makes of it: pairs of words in four
/// parts, of which each begins with a marker.
/// 1. caller and callee, an alias and what it stands for;
/// 2. functions whose address is taken, with their prototypes;
/// 3. callers through a pointer, with the prototypes of the calls;
/// 4. functions and those whose addresses they come across, in code or in the variables that they name.
/// Of functions whose address nobody takes the prototypes stand in a table of their own.
CallTables callTables(const Module& module, const SymbolIndex& symbol,
                      const std::function<std::uint32_t(const std::string&)>& text);

} // namespace orias::cubin
