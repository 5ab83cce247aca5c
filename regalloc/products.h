#pragma once

#include "ori/function.h"

#include <functional>
#include <string>

namespace orias::regalloc {

/// Products of warp groups (wgmma) run on while their warp does. Up to allocation their sums are taken to be there at
/// once; from then on nobody may touch their registers until WARPGROUP.DEPBAR has waited for their group.

/// Is the operand what a product reads from registers besides the old sum? It reads them to its end: the new sum may
/// not take them.
bool isFactor(const ori::Instr& instr, const ori::Operand& operand);

/// Before allocation: factors keep their registers until the block waits for the product, or ends. True where there are
/// any.
bool keepFactors(ori::Function& function);
/// Takes that back: without registers to spare, products are waited for earlier.
void letFactorsGo(ori::Function& function);

/// Of an allocated function: closes groups with the last product of each, puts WARPGROUP.ARRIVE in front of products
/// whose registers the warp has written, and WARPGROUP.DEPBAR in front of whatever touches the registers of a product
/// that is under way still, be it the program's doing or the allocator's. `tell` hears of each wait that the program
/// does not ask for. ptxas does the same (observed), and says so.
void orderProducts(ori::Function& function, const std::function<void(const ori::Instr&, std::string)>& tell);

} // namespace orias::regalloc
