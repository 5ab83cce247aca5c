#pragma once

namespace orias::lab {

/// The jobs of all plans, with the figures of each function; also a view of each store, `results`. Jobs of earlier
/// versions of the programs are not included.
inline constexpr const char* kExportQuery = R"(
SELECT p.plan, j.assembler, j.ptx, j.launch, j.chip, j.options, j.knobs, j.disabled, j.swapped, j.state, j.message, f.name AS function,
       f.registers, f.uniform_registers, f.barriers, f.instructions, f.code_bytes, f.shared_bytes, f.frame_bytes,
       f.spill_bytes, j.seconds, j.kilobytes, j.executed, j.cycles, j.full_cycles, j.warps
FROM plans p JOIN jobs j ON j.id = p.job LEFT JOIN functions f ON f.job = j.id
ORDER BY p.plan, p.position, f.rowid)";

} // namespace orias::lab
