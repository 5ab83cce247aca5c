#pragma once

#include "tools/gpu/suite/case.h"

#include <functional>
#include <string>
#include <vector>

// The sources of cases. Each generates the cases of one or more groups.

namespace orias::gpu {

struct SourceOptions {
  bool withPtxas = true;
  unsigned threads = 1;
  unsigned stride = 1; ///< use only every `stride`-th of the forms and latency kernels
};

/// Accepts a finished case, or the reason why one was omitted.
struct Sink {
  std::function<void(Case)> take;
  std::function<void(const std::string& group, const std::string& name, const std::string& why)> leave;
};

/// "trivial": a kernel that stores one number; for sm_90 and sm_90a, at -O3 and -O0.
void trivialCases(const SourceOptions& options, const Sink& sink);

/// Every form of every PTX instruction (test/forms). `firstOnly`: one form of each instruction, as the group
/// "families". Otherwise all other forms as "forms", those that must stop as "stops", and those with objects of an
/// assumed layout as "doubtful".
void formCases(const SourceOptions& options, bool firstOnly, const Sink& sink);

/// The launch files of a folder, as "GROUP" at -O3, or as "GROUP-O0". Launches with machine-specific results, or that
/// wait forever, are in the group "doubtful".
void launchCases(const SourceOptions& options, const std::string& group, const std::string& folder, unsigned level,
                 const Sink& sink);

/// Random programs of every profile, `count` of each: "random" or "random-O0".
void randomCases(const SourceOptions& options, unsigned count, unsigned level, const Sink& sink);

/// "latency": the kernels of latency_kernels.h.
void latencyCases(const SourceOptions& options, const Sink& sink);

} // namespace orias::gpu
