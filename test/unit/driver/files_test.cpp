#include "support/check.h"
#include "tools/common/files.h"

#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <unistd.h>

using namespace orias::tools;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("orias-files-" + std::to_string(::getpid()));
  Folder() { fs::create_directory(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

} // namespace

TEST_CASE("a file is written whole, and replaced whole") {
  Folder folder;
  writeWholeFile(folder / "a", std::string_view("one"));
  writeWholeFile(folder / "a", std::string_view("two\0three", 9));
  CHECK(readWholeFile(folder / "a") == std::string("two\0three", 9));
  CHECK(folder.count() == 1); // no temporary files remain
}

TEST_CASE("a link stays a link") {
  Folder folder;
  writeWholeFile(folder / "target", std::string_view("old"));
  fs::create_symlink(folder / "target", folder / "link");
  writeWholeFile(folder / "link", std::string_view("new"));
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(readWholeFile(folder / "target") == "new");
}

TEST_CASE("devices are written in place") {
  CHECK_NOTHROW(writeWholeFile("/dev/null", std::string_view("gone")));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("what cannot be written or read is an error, and leaves nothing") {
  Folder folder;
  CHECK_THROWS_AS(writeWholeFile(folder / "none/a", std::string_view("x")), orias::Error);
  CHECK_THROWS_AS(writeWholeFile(folder.path.string(), std::string_view("x")), orias::Error);
  CHECK_THROWS_AS(readWholeFile(folder / "none"), orias::Error);
  CHECK(folder.count() == 0);
}
