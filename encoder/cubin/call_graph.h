#pragma once

#include <functional>

#include "encoder/cubin/module.h"
#include "encoder/cubin/nv_info.h"

namespace orias::cubin {

struct CallTables {
  Bytes graph;      ///< `.nv.callgraph`
  Bytes prototypes; ///< `.nv.prototype`, of relocatable files
};

/// The call graph, from which a linker computes stack sizes and register counts. `text` returns the offset of a
/// prototype in the string table. Observed in `ptxas -c`, and in the output of `nvlink -dump-callgraph`: pairs of words
/// in four sections, each starting with a marker.
/// 1. caller and callee, an alias and its target;
/// 2. functions whose address is taken, with their prototypes;
/// 3. callers through a pointer, with the prototypes of the calls;
/// 4. functions, and those whose addresses they refer to in code or in their variables.
/// Prototypes of functions whose address is not taken are in a separate table.
CallTables callTables(const Module& module, const SymbolIndex& symbol,
                      const std::function<std::uint32_t(const std::string&)>& text);

} // namespace orias::cubin
