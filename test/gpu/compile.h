#pragma once

#include "tools/gpu/suite/case.h"

#include <functional>
#include <string>
#include <string_view>

namespace orias::gpu {

/// How the cubins of a case are made.
struct CompileOptions {
  std::string arch = "sm_90"; ///< as the command lines take it
  unsigned level = 3;         ///< -O
  bool contractFma = true;
  bool withPtxas = true;
};

/// Adds the cubins "orias -ON" and "ptxas -ON" of a PTX module to a case. False, and why in `why`, if orias makes none;
/// a ptxas that makes none is left out.
bool addCandidates(Case& c, std::string_view ptx, const CompileOptions& options, std::string& why);

/// Whether a ptxas can be called, and which: "ptxas V13.0.88"; empty: there is none.
std::string ptxasVersion();

/// Sets the memory that the launch must leave, as the PTX interpreter leaves it. False, and why in `why`, if the
/// interpreter does not get through as the launch says.
bool addMemory(Case& c, std::string_view ptx, std::uint64_t budget, std::string& why);

/// Whether the emulator gets the same memory from the first cubin; if not, why.
bool agreesOnEmulator(const Case& c, std::uint64_t budget, std::string& why);

/// Calls `make(i)` for i from 0 to count - 1 on several threads, and what it returns on this thread, in that order.
/// `make` may return nothing to call.
void inParallel(std::size_t count, unsigned threads, const std::function<std::function<void()>(std::size_t)>& make);

} // namespace orias::gpu
