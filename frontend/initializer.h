#pragma once

#include "frontend/constant.h"
#include "frontend/module.h"

#include <cstdint>
#include <vector>

namespace orias::ptx {

/// Converts the initializer of a variable to its bytes and addresses while the parser reads it.
class InitializerBuilder {
 public:
  InitializerBuilder(Module& module, Diagnostics& diags) : module_(module), diags_(diags) {}

  void begin(const Variable& variable);
  void openList(SourceLoc loc);
  void closeList();
  void value(Constant constant, SourceLoc loc);
  /// Sets `address.at` and `address.size`. `mask` is the mask before the parenthesis, or 0.
  void address(InitAddress address, std::uint64_t mask, SourceLoc loc);
  /// Stores the initializer in the variable; completes an open first dimension.
  void end(Variable& variable);

 private:
  /// The position of the next scalar; false (and an error) if there is no room for it or the braces do not match.
  bool place(SourceLoc loc, std::uint64_t& at);
  void write(std::uint64_t at, std::uint64_t bits);
  void error(SourceLoc loc, std::string message, std::string hint = {});

  Module& module_;
  Diagnostics& diags_;
  Type type_ = Type::None;
  bool open_ = false;                 ///< the first dimension is open
  std::vector<std::uint64_t> sizes_;  ///< dimensions, the components of a vector last; 0 for an open one
  std::vector<std::uint64_t> counts_; ///< elements read so far of each open list
  bool failed_ = false;               ///< one error per initializer
  std::uint64_t rows_ = 0;            ///< elements of the outermost list
  std::vector<std::uint8_t> bytes_;
  std::vector<InitAddress> addresses_;
};

} // namespace orias::ptx
