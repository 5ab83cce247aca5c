#pragma once

#include <span>
#include <vector>

#include "encoder/cubin/module.h"

/// Tables from addresses to lines: the line number programs (DWARF 2, section 6.2) of the functions' `lines` and
/// `ptxLines`. Two extensions are not in DWARF but were observed: the extended opcode 0x90 of inlined calls (cuda-gdb
/// calls it DW_LNE_inlined_call), and the table that maps to the text of the PTX.
namespace orias::cubin {

/// A line number program and the addresses in it that the loader fills in.
struct LineTable {
  Bytes bytes;
  std::vector<Relocation> relocations;
};

/// Whether there is a `.debug_line`: if there are source files, or a `.debug_info` that refers to it.
bool hasSourceLines(const Module& module);

/// `.debug_line`: maps to lines of the source files. Empty without hasSourceLines().
LineTable sourceLineTable(const Module& module);

/// `.nv_debug_line_sass`: maps to lines of the PTX in `.nv_debug_ptx_txt`. Empty without that text.
LineTable ptxLineTable(const Module& module);

/// The name of the section with the text of the PTX. A linked file has one for each of its objects, so the names in
/// objects end with a number, a hash of the text.
std::string ptxTextSection(const Module& module);

/// Reads a `.debug_line` or a `.nv_debug_line_sass` into a module that already has its functions. Throws orias::Error
/// if a program is truncated or of another version.
void readSourceLines(std::span<const std::byte> table, std::span<const Relocation> addresses, Module& module);
void readPtxLines(std::span<const std::byte> table, std::span<const Relocation> addresses, Module& module);

} // namespace orias::cubin
