#pragma once

#include <span>

#include "encoder/cubin/module.h"

namespace orias::cubin {

/// `.note.nv.tkinfo`: the producer of the file and its options.
Bytes toolkitNote(const Producer& producer);

/// Reads `.note.nv.tkinfo`; fields that cannot be read stay empty.
Producer readToolkitNote(std::span<const std::byte> note);

/// `.note.nv.cuinfo`: the virtual architecture (the `.target` of the PTX) and the CUDA version.
Bytes cudaNote(const Abi& abi, std::uint16_t virtualArch);

/// `.nv.rel.action`: actions of the loader for two relocation types, before sm_90; always the same bytes.
Bytes relocationActions();

} // namespace orias::cubin
