#include "tools/common/files.h"

#include "support/check.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
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

/// Exchanges the names of two files. Some file systems write a file to the disk before rename() over another file
/// returns; this call does not. False: the system or the file system does not support it.
bool exchange([[maybe_unused]] const std::string& one, [[maybe_unused]] const std::string& other) {
#ifdef RENAME_EXCHANGE
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
#else
  return false;
#endif
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
  fs::file_status status = fs::symlink_status(path, error);
  std::string target = path;
  if (fs::is_symlink(status)) {
    // For a link, its target is replaced and the link is kept.
    status = fs::status(path, error);
    if (fs::exists(status)) target = fs::canonical(path, error).string();
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    writeAll(path, path, bytes);
    return;
  }
  TemporaryName temporary(fmt::format("{}.{}.tmp", target, ::getpid()));
  writeAll(path, temporary.name(), bytes);
  if (fs::exists(status) && exchange(temporary.name(), target))
    return; // the old content is deleted with the temporary
            // name
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
  // A pipe has no size, and a file may have grown.
  std::size_t room = 65536, length = 0;
  if (struct stat status{}; ::fstat(::fileno(file), &status) == 0 && S_ISREG(status.st_mode))
    room = static_cast<std::size_t>(status.st_size) + 1;
  std::string text(room, '\0');
  while (std::size_t got = std::fread(text.data() + length, 1, text.size() - length, file)) {
    length += got;
    if (length == text.size()) text.resize(2 * length);
  }
  text.resize(length);
  if (std::ferror(file)) throw Error(fmt::format("'{}' cannot be read: {}", path, std::strerror(errno)));
  return text;
}

} // namespace orias::tools
