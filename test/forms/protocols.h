#pragma once

#include "test/forms/writer.h"

// Statements that are steps of a longer sequence: barriers, copies that are waited for, fragments of matrices. A
// protocol is the code around such a statement, up to results in memory. One file per family.

namespace orias::forms {

/// Writes the kernel of a statement that is a step of a protocol. Returns false without writing for other statements.
bool writeProtocol(KernelWriter& w);
bool isProtocol(const Statement& statement);

// The families. Each writes its own statements and returns whether this was one.

bool writeMbarrier(KernelWriter& w);     ///< barriers in shared memory
bool writeCopy(KernelWriter& w);         ///< cp.async and its groups
bool writeBulkCopy(KernelWriter& w);     ///< cp.async.bulk, st.async and similar
bool writeFragment(KernelWriter& w);     ///< wmma
bool writeSparse(KernelWriter& w);       ///< mma.sp
bool writeWarpGroup(KernelWriter& w);    ///< wgmma
bool writeTensor(KernelWriter& w);       ///< copies of boxes of tensors, and changes of their maps
bool writeTensorMemory(KernelWriter& w); ///< tcgen05
bool writeTexture(KernelWriter& w);      ///< textures and surfaces
bool writeMulticast(KernelWriter& w);    ///< multimem
bool writeSync(KernelWriter& w);         ///< barriers of the block and of the cluster
bool writeControl(KernelWriter& w);      ///< branches, calls, exits, the stack
bool writeAddress(KernelWriter& w);      ///< computes addresses, or requires one of a certain kind
bool writeHint(KernelWriter& w);         ///< hints for caches

} // namespace orias::forms
