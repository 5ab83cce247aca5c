#pragma once

#include "orias/options.h"
#include "tools/engines/engines.h"

#include <string>

namespace orias::reduce {

/// Decides whether a smaller program still has the failure in question.
class Oracle {
 public:
  virtual ~Oracle() = default;
  virtual bool fails(const std::string& ptx, const launch::Launch& launch) = 0;
};

/// The engine that runs a program.
enum class Engine : std::uint8_t { Ours, Ptxas, Interpreter };

/// Two engines; the reference is trusted.
struct Trial {
  Engine subject = Engine::Ours;
  Engine reference = Engine::Interpreter;
  Options options; ///< for Engine::Ours; the chip for Engine::Ptxas, too
  std::uint64_t budget = 50'000'000;
};

/// A program fails if the subject leaves other memory than the reference, faults, deadlocks, or cannot be assembled. A
/// program that the reference does not complete does not count as failing, because it is meaningless. The same applies
/// if the interpreter's checkers have findings: reads of uninitialized memory or of lanes that do not participate,
/// races. Different bits of two NaNs do not count.
class EngineOracle final : public Oracle {
 public:
  explicit EngineOracle(Trial trial) : trial_(std::move(trial)) {}

  /// How the program fails, in words that are stable under small changes; empty if it does not.
  std::string failure(const std::string& ptx, const launch::Launch& launch) const;
  /// Sets the failure to look for: that of this program. Returns it.
  const std::string& aim(const std::string& ptx, const launch::Launch& launch);
  bool fails(const std::string& ptx, const launch::Launch& launch) override;

 private:
  engines::Verdict run(Engine engine, const std::string& ptx, launch::Device& device) const;

  Trial trial_;
  std::string wanted_;
};

/// Runs a command, with `{}` replaced by the path of the PTX file and `{launch}` by that of the launch file. Status 0
/// means that it still fails.
class CommandOracle final : public Oracle {
 public:
  /// The files are in a separate folder, which the destructor deletes. Throws orias::Error if it cannot be created.
  explicit CommandOracle(std::string command);
  ~CommandOracle() override;
  bool fails(const std::string& ptx, const launch::Launch& launch) override;

 private:
  std::string command_, folder_;
};

} // namespace orias::reduce
