#pragma once

#include <string>
#include <vector>

namespace orias::lab {

/// One side of a comparison: a cubin, or PTX with the options that make one. Options that begin with "ptxas" are
/// ptxas'.
struct DiffSide {
  std::string file;
  std::vector<std::string> options;
};

struct DiffOptions {
  DiffSide left, right;
  std::string chip;   ///< for PTX
  std::string kernel; ///< only this one; empty: all
};

/// Two versions of the same kernels, as text: figures, counts of instructions by mnemonic, the instructions side by
/// side, and, if orias makes both from PTX, the first phase after which they differ. Instructions are aligned by what
/// they do and by the line of the PTX that they come from, whatever their registers. Throws orias::Error.
std::string diff(const DiffOptions& options);

} // namespace orias::lab
