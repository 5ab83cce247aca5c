#include "tools/common/files.h"

#include "support/check.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

namespace orias::tools {

namespace fs = std::filesystem;

namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

/// Removes the temporary file unless it has been renamed.
class TemporaryName {
 public:
  explicit TemporaryName(std::string name) : name_(std::move(name)) {}
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  const std::string& name() const { return name_; }
  void release() { name_.clear(); }

 private:
  std::string name_;
};

[[noreturn]] void failWrite(const std::string& path) {
  throw Error(fmt::format("'{}' cannot be written: {}", path, std::strerror(errno)));
}

void writeAll(const std::string& shown, const std::string& path, std::span<const std::byte> bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) failWrite(shown);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) failWrite(shown);
  if (std::fclose(file.release()) != 0) failWrite(shown);
}

} // namespace

void writeWholeFile(const std::string& path, std::span<const std::byte> bytes) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    writeAll(path, path, bytes);
    return;
  }
  // A link stays a link: what it points to is replaced.
  std::string target = fs::exists(status) ? fs::canonical(path, error).string() : path;
  TemporaryName temporary(fmt::format("{}.{}.tmp", target, ::getpid()));
  writeAll(path, temporary.name(), bytes);
  if (std::rename(temporary.name().c_str(), target.c_str()) != 0) failWrite(path);
  temporary.release();
}

void writeWholeFile(const std::string& path, std::string_view text) {
  writeWholeFile(path, std::as_bytes(std::span(text.data(), text.size())));
}

std::string readWholeFile(const std::string& path) {
  File opened(path == "-" ? nullptr : std::fopen(path.c_str(), "rb"));
  std::FILE* file = path == "-" ? stdin : opened.get();
  if (!file) throw Error(fmt::format("'{}' cannot be read: {}", path, std::strerror(errno)));
  std::string text;
  char buffer[65536];
  while (std::size_t got = std::fread(buffer, 1, sizeof buffer, file))
    text.append(buffer, got);
  if (std::ferror(file)) throw Error(fmt::format("'{}' cannot be read: {}", path, std::strerror(errno)));
  return text;
}

} // namespace orias::tools
