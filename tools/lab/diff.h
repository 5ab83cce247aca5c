#pragma once

#include <string>
#include <vector>

namespace orias::lab {

/// One side of a comparison: a cubin, or PTX with the options to compile it. Options that begin with "ptxas" are for
/// ptxas.
struct DiffSide {
  std::string file;
  std::vector<std::string> options;
};

struct DiffOptions {
  DiffSide left, right;
  std::string chip;   ///< for PTX
  std::string kernel; ///< only this kernel; empty: all
};

/// Compares two versions of the same kernels, as text: figures, counts of instructions by mnemonic, the instructions
/// side by side, and, if orias compiles both from PTX, the first phase after which they differ. Instructions are
/// aligned by operation and PTX line, regardless of their registers. Throws orias::Error.
std::string diff(const DiffOptions& options);

} // namespace orias::lab
