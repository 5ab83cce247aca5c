#pragma once

#include "tools/gpu/suite/case.h"

#include <string>
#include <vector>

namespace orias::gpu {

/// One cubin of one case, the unit of execution.
struct Item {
  std::size_t batch = 0;     ///< index into Plan::batches
  std::size_t number = 0;    ///< of the case, in the batch
  std::size_t candidate = 0; ///< of the case
  std::string group, name, family, candidateName;
  std::string id() const { return group + "/" + name + "/" + candidateName; }
};

/// The contents of a folder of cases, in execution order.
struct Plan {
  std::string made;                 ///< the compilers
  std::string chip;                 ///< of the cubins: "sm_90"
  std::vector<std::string> batches; ///< paths of files of cases
  std::vector<Item> items;
};

/// Reads the index of a folder of cases. Throws orias::Error.
Plan readPlan(const std::string& folder);

/// Writes cases to files in a folder, then the index. Cases are run in the order in which they are added; for a case
/// with several candidates, all of them in turn.
class PlanWriter {
 public:
  PlanWriter(std::string folder, std::string made, std::string chip);
  void add(Case c);
  /// Writes the remaining cases, and the index. Throws orias::Error.
  void finish();
  std::uint64_t bytes() const { return bytes_; } ///< of the written files

 private:
  void writeBatch();

  std::string folder_, made_, chip_;
  std::vector<Case> batch_;
  std::size_t batchBytes_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<std::string> index_; ///< JSON of each batch
};

} // namespace orias::gpu
