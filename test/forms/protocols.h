#pragma once

#include "test/forms/writer.h"

// Statements that mean something only as a step of something longer: barriers, copies that are waited for, fragments of
// matrices. A protocol is the code around such a statement, up to what can be seen in memory. One file a family.

namespace orias::forms {

/// Writes the kernel of a statement that is one step of a protocol; false, and nothing written, if it is none.
bool writeProtocol(KernelWriter& w);
bool isProtocol(const Statement& statement);

// The families. Each writes its own statements and says whether this was one.

bool writeMbarrier(KernelWriter& w);     ///< barriers in shared memory
bool writeCopy(KernelWriter& w);         ///< cp.async and its groups
bool writeBulkCopy(KernelWriter& w);     ///< cp.async.bulk, st.async and the like
bool writeFragment(KernelWriter& w);     ///< wmma
bool writeSparse(KernelWriter& w);       ///< mma.sp
bool writeWarpGroup(KernelWriter& w);    ///< wgmma
bool writeTensor(KernelWriter& w);       ///< copies of boxes of tensors, and what changes their maps
bool writeTensorMemory(KernelWriter& w); ///< tcgen05
bool writeTexture(KernelWriter& w);      ///< textures and surfaces
bool writeMulticast(KernelWriter& w);    ///< multimem
bool writeSync(KernelWriter& w);         ///< barriers of the block and of the cluster
bool writeControl(KernelWriter& w);      ///< branches, calls, ends, the stack
bool writeAddress(KernelWriter& w);      ///< what makes addresses, or wants one of a certain kind
bool writeHint(KernelWriter& w);         ///< what tells the caches something

} // namespace orias::forms
