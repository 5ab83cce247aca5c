#pragma once

#include "encoder/code.h"
#include "orias/call_order.h"
#include "orias/cubin_module.h"
#include "orias/orias.h"
#include "phases/manager.h"
#include "phases/register_report.h"
#include "phases/remarks.h"
#include "support/diagnostics.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orias {

/// The compilation of one function. Jobs share only read-only data, so they may run in parallel.
class FunctionJob {
 public:
  /// `fileName` and `text` are those of the input, for diagnostics.
  FunctionJob(ori::Function& function, const Options& options, const phases::Knobs& knobs, std::string fileName,
              std::string_view text);

  /// Requests registerAccounts().
  void keepAccounts() { keepsAccounts_ = true; }
  const phases::RegisterAccounts& registerAccounts() const { return accounts_; }

  /// The instructions are not freed after the phases.
  void keepCode() { keepsCode_ = true; }

  /// Sets the registers that calls of already compiled functions change.
  void tellChanges(const KnownChanges& changed, bool isWhole);
  /// Requests changes().
  void keepChanges() { keepsChanges_ = true; }
  /// The registers that a call changes; none without machine code.
  const std::optional<ori::RegisterSet>& changes() const { return changes_; }
  /// Runs the phases, then frees the instructions. Catches and stores internal errors.
  void run(const phases::PipelineOptions& pipeline);

  const ori::Function& function() const { return function_; }
  std::string_view text() const { return text_; }             ///< of the input
  const encoder::FunctionCode& code() const { return code_; } ///< `origin` is empty if the instructions are freed
  CodedFunction& coded() { return coded_; }                   ///< if finished()
  bool finished() const { return finished_; }                 ///< the machine code is complete
  const std::string& fault() const { return fault_; }         ///< an internal error; empty if there was none
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const phases::Remarks& remarks() const { return remarks_; }
  const std::vector<phases::PhaseTime>& times() const { return times_; }
  const phases::AnalysisUse& analysisUse() const { return analysisUse_; }
  const std::string& dumped() const { return dumped_; }
  FunctionReport report() const;
  /// Adds the occupancy of a report to the remarks.
  void tellOccupancy(const FunctionReport& report);
  /// From now on the listing shows the function of the cubin.
  void showLinked(const cubin::Function& function);
  /// The cubin does not contain the function, because no kernel reaches it. It then has no listing and no report.
  void leaveOut();
  bool isLeftOut() const { return isLeftOut_; }
  /// The listing in the requested form; empty without code.
  std::string listing() const;

 private:
  ori::Function& function_;
  const Options& options_;
  const phases::Knobs& knobs_;
  std::string_view text_;
  Diagnostics diagnostics_;
  phases::Remarks remarks_;
  encoder::FunctionCode code_;
  std::vector<phases::PhaseTime> times_;
  phases::AnalysisUse analysisUse_;
  std::string dumped_;
  std::string fault_;
  unsigned ceiling_;      // the maximum that bounds and options allow
  unsigned maxRegisters_; // the limit of the allocator
  bool finished_ = false;
  bool isLeftOut_ = false;
  bool keepsAccounts_ = false;
  bool keepsChanges_ = false;
  bool keepsCode_ = false;
  CodedFunction coded_;
  std::optional<ori::RegisterSet> changes_;
  phases::RegisterAccounts accounts_;
  double milliseconds_ = 0;
};

} // namespace orias
