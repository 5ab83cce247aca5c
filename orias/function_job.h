#pragma once

#include "encoder/code.h"
#include "orias/call_order.h"
#include "orias/orias.h"
#include "phases/manager.h"
#include "phases/register_report.h"
#include "phases/remarks.h"
#include "support/diagnostics.h"

#include <string>
#include <string_view>
#include <vector>

namespace orias::cubin {
struct Function;
}

namespace orias {

/// One function on its way through the phases. Jobs share nothing that is written to, so they may run in parallel.
class FunctionJob {
 public:
  /// `fileName` and `text` are those of the input, for diagnostics.
  FunctionJob(ori::Function& function, const Options& options, const phases::Knobs& knobs, std::string fileName,
              std::string_view text);

  /// Asks for registerAccounts().
  void keepAccounts() { keepsAccounts_ = true; }
  const phases::RegisterAccounts& registerAccounts() const { return accounts_; }

  /// Tells the function what calls change of the functions that are compiled already.
  void tellChanges(const KnownChanges& changed, bool isWhole);
  /// Runs the phases. A fault of orias is caught and kept.
  void run(const phases::PipelineOptions& pipeline);

  const ori::Function& function() const { return function_; }
  std::string_view text() const { return text_; } ///< of the input
  const encoder::FunctionCode& code() const { return code_; }
  unsigned maxRegisters() const { return ceiling_; }
  bool finished() const { return finished_; }         ///< there is code
  const std::string& fault() const { return fault_; } ///< empty if all went well
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const phases::Remarks& remarks() const { return remarks_; }
  const std::vector<phases::PhaseTime>& times() const { return times_; }
  const phases::AnalysisUse& analysisUse() const { return analysisUse_; }
  const std::string& dumped() const { return dumped_; }
  FunctionReport report() const;
  /// Adds what a report says of the occupancy to the remarks.
  void tellOccupancy(const FunctionReport& report);
  /// The listing shows the function as it stands in the cubin from now on.
  void showLinked(const cubin::Function& function);
  /// The cubin does not hold the function: no kernel reaches it. There is no listing and no report of it from now on.
  void leaveOut();
  bool isLeftOut() const { return isLeftOut_; }
  /// The listing in the form that the options ask for; empty without code.
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
  unsigned ceiling_;      // that bounds and options leave
  unsigned maxRegisters_; // that are allocated
  bool finished_ = false;
  bool isLeftOut_ = false;
  bool keepsAccounts_ = false;
  phases::RegisterAccounts accounts_;
  double milliseconds_ = 0;
};

} // namespace orias
