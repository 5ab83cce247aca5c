#pragma once

#include <span>

#include "encoder/cubin/module.h"

namespace orias::cubin {

/// `.note.nv.tkinfo`: who made the file and how.
Bytes toolkitNote(const Producer& producer);

/// Reads it back; fields that cannot be read stay empty.
Producer readToolkitNote(std::span<const std::byte> note);

/// `.note.nv.cuinfo`: the virtual architecture (the `.target` of the PTX) and the CUDA version.
Bytes cudaNote(const Abi& abi, std::uint16_t virtualArch);

/// `.nv.rel.action`: what the loader of targets before sm_90 does for two relocation types; always the same bytes.
Bytes relocationActions();

} // namespace orias::cubin
