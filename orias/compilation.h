#pragma once

#include "orias/orias.h"
#include "support/diagnostics.h"

#include <chrono>
#include <memory>
#include <vector>

namespace orias {

namespace isa {
class Target;
}
namespace ptx {
struct Module;
}

/// One run of the assembler: all that it knows, from the texts to the cubin. Nothing is kept anywhere else.
class Compilation {
 public:
  /// `inputs` and `options` must outlive this object. Throws orias::Error for an unknown architecture.
  Compilation(std::span<const Input> inputs, const Options& options);
  ~Compilation();
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  /// The whole road, once.
  Result run();

 private:
  struct Source {
    const Input* input;
    Diagnostics diags;
    std::unique_ptr<ptx::Module> module;
  };

  /// Adds the time that `work` takes to Result::times.
  template <typename Work> void stage(const char* name, Work&& work);

  void parse(Source& source);
  bool allFine() const;
  void collectDiagnostics();

  const Options& options_;
  const isa::Target* target_ = nullptr;
  bool checkOnly_ = false;
  std::vector<Source> sources_;
  Result result_;
};

} // namespace orias
