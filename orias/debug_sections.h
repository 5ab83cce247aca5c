#pragma once

#include "orias/line_tables.h"

#include "support/diagnostics.h"

#include <span>

namespace orias {

/// Puts the debug information of a source into the cubin that was made from it: the DWARF sections of the PTX (PTX
/// ISA 9.0, section 11.5) with their labels and symbols resolved, and two tables of where the registers that the DWARF
/// names stand
/// (`.nv_debug_info_reg_sass`, `.nv_debug_info_reg_type`). In a relocatable cubin places in sections are left to the
/// linker; addresses of code and variables always are.
///
/// Locations of variables that lie in the frame become distances from the frame's end (DW_OP_fbreg), those of
/// parameters of kernels places in their constant bank, as ptxas has it. One whose place is not known becomes a piece
/// that is nowhere (DWARF 3, section 2.6.3: a variable without a value). What cannot be told at all is an error at its
/// section. `cubin` has its final layout.
void addDebugSections(cubin::Module& cubin, const LineSource& source, std::span<const CodedFunction> functions,
                      Diagnostics& diagnostics);

} // namespace orias
