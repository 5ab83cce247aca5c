#pragma once

#include "ori/function.h"

#include <functional>
#include <string>

namespace orias::regalloc {

/// wgmma instructions are asynchronous. Until allocation their accumulators are treated as available at once;
/// afterwards no instruction may access their registers until WARPGROUP.DEPBAR has waited for their group.

/// Whether the operand is a wgmma input in registers (not the accumulator). The wgmma reads it until it ends, so the
/// result must not share its registers.
bool isWgmmaInput(const ori::Instr& instr, const ori::Operand& operand);

/// Before allocation: wgmma inputs keep their registers until the block waits for the wgmma, or ends. True if there are
/// any.
bool pinWgmmaInputs(ori::Function& function);
/// Reverts pinWgmmaInputs(): under register pressure, wgmma waits are inserted earlier.
void unpinWgmmaInputs(ori::Function& function);

/// For an allocated function: commits groups with the last wgmma of each, inserts WARPGROUP.ARRIVE before
/// wgmma whose registers the warp has written, and WARPGROUP.DEPBAR before each access to registers of a wgmma
/// in flight, caused by the program or by the allocator. `tell` gets a note for each wait that the program
/// does not have. ptxas does the same (observed), with a note.
void insertWgmmaWaits(ori::Function& function, const std::function<void(const ori::Instr&, std::string)>& tell);

} // namespace orias::regalloc
