#pragma once

#include <span>
#include <string>

namespace orias::reduce {

/// The program orias-reduce: reads the files, reduces, writes. Returns the exit status: 0 done, 1 if the program does
/// not fail (or has errors), 2 for an invalid command line.
int runDriver(std::span<const std::string> words);

} // namespace orias::reduce
