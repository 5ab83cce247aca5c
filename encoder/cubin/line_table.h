#pragma once

#include <span>
#include <vector>

#include "encoder/cubin/module.h"

/// Tables from addresses to lines: line number programs of DWARF 2 (section 6.2), which the functions' `lines` and
/// `ptxLines` become and are read from. What is not in DWARF was observed: the extended opcode 0x90 of inlined calls
/// (cuda-gdb calls it DW_LNE_inlined_call), and the table that leads to the text of the PTX.
namespace orias::cubin {

/// A line number program and the addresses in it that the loader fills.
struct LineTable {
  Bytes bytes;
  std::vector<Relocation> relocations;
};

/// Is there a `.debug_line`? Where there are source files, or a `.debug_info` that says where its lines are.
bool hasSourceLines(const Module& module);

/// `.debug_line`: to lines of the source files. Empty without hasSourceLines().
LineTable sourceLineTable(const Module& module);

/// `.nv_debug_line_sass`: to lines of the PTX, which `.nv_debug_ptx_txt` holds. Empty when there is no such text.
LineTable ptxLineTable(const Module& module);

/// The section that holds the text of the PTX. A linked file has one for each object that it comes from, so those of
/// objects have a number after the name, a hash of the text.
std::string ptxTextSection(const Module& module);

/// Reads a `.debug_line` or a `.nv_debug_line_sass` into a module whose functions are there already. Throws
/// orias::Error when a program is cut off or of another version.
void readSourceLines(std::span<const std::byte> table, std::span<const Relocation> addresses, Module& module);
void readPtxLines(std::span<const std::byte> table, std::span<const Relocation> addresses, Module& module);

} // namespace orias::cubin
