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
  /// Can it model latencies? Only words have control words.
  virtual bool canTime() const { return false; }
  /// Throws orias::Error when the launch does not fit the program.
  virtual launch::RunResult run(launch::Device& device, const launch::RunOptions& options) const = 0;
};

/// The engine for a file, by its name: .ptx, .cubin or .ori. With `assemble`, PTX becomes a cubin first. Throws
/// orias::Error for a file that cannot be read or has errors.
std::unique_ptr<Engine> makeEngine(const std::string& path, const std::string& kernel, const Options* assemble);

} // namespace orias::run
