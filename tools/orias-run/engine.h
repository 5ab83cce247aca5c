#pragma once

#include "orias/options.h"
#include "tools/launch/launch.h"

#include <memory>
#include <string>

namespace orias::run {

/// A program and the engine that runs it.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Whether it can model latencies. Only machine code has control words.
  virtual bool canTime() const { return false; }
  /// Throws orias::Error if the launch does not match the program.
  virtual launch::RunResult run(launch::Device& device, const launch::RunOptions& options) const = 0;
};

/// The engine for a file, by its extension: .ptx, .cubin or .ori. With `assemble`, PTX is assembled to a cubin first.
/// Throws orias::Error for a file that cannot be read or has errors.
std::unique_ptr<Engine> makeEngine(const std::string& path, const std::string& kernel, const Options* assemble);

} // namespace orias::run
