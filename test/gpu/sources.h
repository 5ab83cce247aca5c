#pragma once

#include "tools/gpu/suite/case.h"

#include <functional>
#include <string>
#include <vector>

// Where cases come from. Each source makes the cases of one or more groups.

namespace orias::gpu {

struct SourceOptions {
  bool withPtxas = true;
  unsigned threads = 1;
  unsigned stride = 1; ///< only every so many of the forms and latency kernels
};

/// Takes a finished case, or is told why one was left out.
struct Sink {
  std::function<void(Case)> take;
  std::function<void(const std::string& group, const std::string& name, const std::string& why)> leave;
};

/// "trivial": a kernel that stores one number; for sm_90 and sm_90a, at -O3 and -O0.
void trivialCases(const SourceOptions& options, const Sink& sink);

/// Every form of every PTX instruction (test/forms). `firstOnly`: of each instruction one form, as the group
/// "families"; otherwise all the others as "forms", those that must stop as "stops", and those whose objects have a
/// layout of ours as "doubtful".
void formCases(const SourceOptions& options, bool firstOnly, const Sink& sink);

/// The launch files of a folder, as "GROUP" at -O3, or as "GROUP-O0". Launches on which no two machines need agree, or
/// that wait for ever, go to "doubtful".
void launchCases(const SourceOptions& options, const std::string& group, const std::string& folder, unsigned level,
                 const Sink& sink);

/// Random programs of every profile, `count` of each: "random" or "random-O0".
void randomCases(const SourceOptions& options, unsigned count, unsigned level, const Sink& sink);

/// "latency": the kernels of latency_kernels.h.
void latencyCases(const SourceOptions& options, const Sink& sink);

} // namespace orias::gpu
