#pragma once

#include "orias/options.h"
#include "tools/engines/engines.h"

#include <string>

namespace orias::reduce {

/// Says whether a smaller program still fails in the way that is looked for.
class Oracle {
 public:
  virtual ~Oracle() = default;
  virtual bool fails(const std::string& ptx, const launch::Launch& launch) = 0;
};

/// Who runs a program.
enum class Engine : std::uint8_t { Ours, Ptxas, Interpreter };

/// Two engines, one of which is believed.
struct Trial {
  Engine subject = Engine::Ours;
  Engine reference = Engine::Interpreter;
  Options options; ///< for Engine::Ours; the chip for Engine::Ptxas, too
  std::uint64_t budget = 50'000'000;
};

/// Fails where the subject does: it leaves another memory than the reference, faults, deadlocks, cannot be assembled.
/// Programs that the reference does not get through do not fail, however different their results: they mean nothing.
/// Nor do those in which the interpreter's checkers find something: reads of what nobody wrote or of lanes that take no
/// part, races. Nor do different bits of two NaNs count.
class EngineOracle final : public Oracle {
 public:
  explicit EngineOracle(Trial trial) : trial_(std::move(trial)) {}

  /// How the program fails, in words that small changes to it do not change; empty when it does not.
  std::string failure(const std::string& ptx, const launch::Launch& launch) const;
  /// Sets what is looked for: this program's failure. Returns it.
  const std::string& aim(const std::string& ptx, const launch::Launch& launch);
  bool fails(const std::string& ptx, const launch::Launch& launch) override;

 private:
  engines::Verdict run(Engine engine, const std::string& ptx, launch::Device& device) const;

  Trial trial_;
  std::string wanted_;
};

/// Asks a command, with `{}` replaced by the path of the PTX file and `{launch}` by that of the launch file: status 0
/// says that it still fails.
class CommandOracle final : public Oracle {
 public:
  /// The files are made in a folder of their own, which goes with this object. Throws orias::Error if it cannot be
  /// made.
  explicit CommandOracle(std::string command);
  ~CommandOracle() override;
  bool fails(const std::string& ptx, const launch::Launch& launch) override;

 private:
  std::string command_, folder_;
};

} // namespace orias::reduce
