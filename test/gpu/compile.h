#pragma once

#include "tools/gpu/suite/case.h"

#include <functional>
#include <string>
#include <string_view>

namespace orias::gpu {

/// Options for the cubins of a case.
struct CompileOptions {
  std::string arch = "sm_90"; ///< as on the command line
  unsigned level = 3;         ///< -O
  bool contractFma = true;
  bool withPtxas = true;
};

/// Adds the cubins "orias -ON" and "ptxas -ON" of a PTX module to a case. Returns false, with the reason in `why`, if
/// orias fails. If ptxas fails, its cubin is omitted.
bool addCandidates(Case& c, std::string_view ptx, const CompileOptions& options, std::string& why);

/// The version of the available ptxas: "ptxas V13.0.88"; empty: none.
std::string ptxasVersion();

/// Sets the expected memory after the launch, from the PTX interpreter. Returns false, with the reason in `why`, if the
/// interpreter does not end as the launch requires.
bool addMemory(Case& c, std::string_view ptx, std::uint64_t budget, std::string& why);

/// Whether the emulator gets the same memory from the first cubin; if not, the reason is in `why`.
bool agreesOnEmulator(const Case& c, std::uint64_t budget, std::string& why);

/// Calls `make(i)` for i from 0 to count - 1 on several threads, and the functions that it returns on this thread, in
/// that order. `make` may return an empty function.
void inParallel(std::size_t count, unsigned threads, const std::function<std::function<void()>(std::size_t)>& make);

} // namespace orias::gpu
