#pragma once

#include "orias/line_tables.h"

#include "support/diagnostics.h"

#include <span>

namespace orias {

/// Adds the debug information of a source to its cubin: the DWARF sections of the PTX (PTX ISA 9.0, section 11.5) with
/// labels and symbols resolved, and two tables of the locations of the registers that the DWARF names
/// (`.nv_debug_info_reg_sass`, `.nv_debug_info_reg_type`). In a relocatable cubin the linker resolves offsets in
/// sections; it always resolves addresses of code and variables.
///
/// As in ptxas' files, variables in the frame are described by offsets from the frame's end (DW_OP_fbreg), and kernel
/// parameters by offsets in their constant bank. A variable with an unknown location becomes an empty piece (DWARF 3,
/// section 2.6.3: a variable without a value). A name that cannot be resolved is an error at its section. `cubin` has
/// its final layout, and the functions still have their instructions.
void addDebugSections(cubin::Module& cubin, const LineSource& source, std::span<CodedFunction* const> functions,
                      Diagnostics& diagnostics);

} // namespace orias
