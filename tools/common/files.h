#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace orias::tools {

/// Writes a file atomically: into a temporary file next to it, which is then renamed. A target that is not a regular
/// file (`/dev/null`, a pipe) is written in place. Throws orias::Error.
void writeWholeFile(const std::string& path, std::span<const std::byte> bytes);
void writeWholeFile(const std::string& path, std::string_view text);

/// Reads all of a file, or of standard input for `-`. Throws orias::Error.
std::string readWholeFile(const std::string& path);

} // namespace orias::tools
