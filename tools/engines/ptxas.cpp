#include "tools/engines/engines.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace orias::engines {

namespace {

namespace fs = std::filesystem;

/// The path of ptxas; its bare name, for the PATH, if it is not in the folder of the peers.
std::string ptxasPath() {
  const char* folder = std::getenv("ORIAS_PEERS_DIR");
  if (folder && fs::exists(fs::path(folder) / "ptxas")) return (fs::path(folder) / "ptxas").string();
  return "ptxas";
}

std::string readFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The private files of one call; the destructor deletes them.
class Files {
 public:
  Files() {
    static std::atomic<unsigned> calls{0};
    base_ = (fs::temp_directory_path() / fmt::format("orias-ptxas-{}-{}", ::getpid(), calls++)).string();
  }
  ~Files() {
    std::error_code ignored;
    for (const std::string& file : {ptx(), cubin(), messages()})
      fs::remove(file, ignored);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  std::string ptx() const { return base_ + ".ptx"; }
  std::string cubin() const { return base_ + ".cubin"; }
  std::string messages() const { return base_ + ".txt"; }

 private:
  std::string base_;
};

} // namespace

Compiled assembleWithPtxas(std::string_view ptx, const std::string& options) {
  constexpr int kNotFound = 127; // a shell's status for a program that it cannot find
  const Files files;
  std::ofstream(files.ptx(), std::ios::binary) << ptx;
  const std::string command = fmt::format("'{}' {} '{}' -o '{}' >'{}' 2>&1", ptxasPath(), options, files.ptx(),
                                          files.cubin(), files.messages());
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotFound) return {{Outcome::Fault, "ptxas is not installed"}, {}};
  if (status != 0) {
    const std::string messages = readFile(files.messages());
    const std::size_t error = messages.find("error");
    const std::size_t begin = error == std::string::npos ? 0 : error;
    return {{Outcome::Rejected, messages.substr(begin, messages.find('\n', begin) - begin)}, {}};
  }
  const std::string bytes = readFile(files.cubin());
  const auto view = std::as_bytes(std::span(bytes));
  return {{}, {view.begin(), view.end()}};
}

std::string ptxasVersion() {
  const Files files;
  const std::string command = fmt::format("'{}' --version >'{}' 2>/dev/null", ptxasPath(), files.messages());
  return std::system(command.c_str()) == 0 ? readFile(files.messages()) : std::string();
}

} // namespace orias::engines
