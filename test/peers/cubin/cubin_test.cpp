#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "encoder/cubin/cubin.h"
#include "encoder/cubin/elf_file.h"

using namespace orias::cubin;
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kTypeRela = 4;
constexpr std::uint32_t kTypeRel = 9;

/// A program of ORIAS_PEERS_DIR or on the PATH, or an empty path.
fs::path findPeer(const std::string& name) {
  std::string folders;
  if (const char* peers = std::getenv("ORIAS_PEERS_DIR")) folders = std::string(peers) + ":" + peers + "/bin:";
  if (const char* path = std::getenv("PATH")) folders += path;
  std::istringstream list(folders);
  for (std::string folder; std::getline(list, folder, ':');)
    if (!folder.empty() && fs::exists(fs::path(folder) / name)) return fs::path(folder) / name;
  return {};
}

std::string textOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::byte> bytesOf(const fs::path& path) {
  const std::string text = textOf(path);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void store(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

/// The output of a program for a file; fails the test if the program fails.
std::string outputOf(const fs::path& program, const std::string& options, const fs::path& file) {
  const fs::path output = file.string() + ".out";
  const std::string command =
      "\"" + program.string() + "\" " + options + " \"" + file.string() + "\" > \"" + output.string() + "\" 2>&1";
  CHECK_MESSAGE(std::system(command.c_str()) == 0, command << "\n" << textOf(output));
  std::string text = textOf(output);
  // Both tools print the name of the file.
  for (std::size_t at; (at = text.find(file.string())) != std::string::npos;)
    text.erase(at, file.string().size());
  return text;
}

/// A temporary folder for the test.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "orias-cubin-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    path_ = name;
  }
  ~Scratch() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// ptxas emits empty relocation sections; the writer does not.
std::vector<ElfSection> sectionsThatSay(const ElfFile& file) {
  std::vector<ElfSection> sections;
  std::copy_if(file.sections.begin(), file.sections.end(), std::back_inserter(sections),
               [](const ElfSection& s) { return !((s.type == kTypeRel || s.type == kTypeRela) && s.data.empty()); });
  return sections;
}

void checkSame(const ElfFile& theirs, const ElfFile& ours) {
  CHECK(ours.flags == theirs.flags);
  const auto expected = sectionsThatSay(theirs);
  REQUIRE(ours.sections.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ElfSection& a = expected[i];
    const ElfSection& b = ours.sections[i];
    CAPTURE(a.name);
    CHECK(b.name == a.name);
    CHECK(b.type == a.type);
    CHECK(b.flags == a.flags);
    CHECK(b.alignment == a.alignment);
    CHECK(b.entrySize == a.entrySize);
    if (a.name == ".strtab" || a.name == ".shstrtab" || a.name == ".symtab") continue; // names are at other offsets
    CHECK(b.size == a.size);
    CHECK_MESSAGE(b.data == a.data, a.name);
  }
  REQUIRE(ours.symbols.size() == theirs.symbols.size());
  for (std::size_t i = 0; i < theirs.symbols.size(); ++i) {
    const ElfSymbol& a = theirs.symbols[i];
    const ElfSymbol& b = ours.symbols[i];
    CAPTURE(a.name);
    CHECK(b.name == a.name);
    CHECK(b.type == a.type);
    CHECK(b.binding == a.binding);
    CHECK(b.other == a.other);
    CHECK(b.value == a.value);
    CHECK(b.size == a.size);
    CHECK((b.section == 0) == (a.section == 0));
    if (b.section != 0) CHECK(ours.sections[b.section].name == theirs.sections[a.section].name);
  }
}

} // namespace

TEST_CASE("ptxas' cubins come through reader and writer unchanged") {
  const fs::path ptxas = findPeer("ptxas");
  if (ptxas.empty()) {
    MESSAGE("skipped, no peer: ptxas is not there");
    return;
  }
  const fs::path nvdisasm = findPeer("nvdisasm");
  const fs::path cuobjdump = findPeer("cuobjdump");
  if (nvdisasm.empty() || cuobjdump.empty()) MESSAGE("skipped in part, no peer: nvdisasm or cuobjdump is not there");
  const Scratch scratch;
  const auto compare = [&](const std::string& chip, const std::string& source) {
    CAPTURE(chip);
    CAPTURE(source);
    const fs::path theirs = scratch.path() / "ptxas.cubin";
    const fs::path ours = scratch.path() / "orias.cubin";
    const std::string command = "\"" + ptxas.string() + "\" -arch sm_" + chip + " \"" ORIAS_SOURCE_DIR "/test/" +
                                source + "\" -o \"" + theirs.string() + "\"";
    REQUIRE(std::system(command.c_str()) == 0);
    const auto original = bytesOf(theirs);
    const auto written = write(read(original));
    store(ours, written);
    CHECK(read(written) == read(original));
    checkSame(decodeElf(original), decodeElf(written));
    if (!nvdisasm.empty()) CHECK(outputOf(nvdisasm, "-hex -gi", ours) == outputOf(nvdisasm, "-hex -gi", theirs));
    if (!cuobjdump.empty()) CHECK(outputOf(cuobjdump, "-sass", ours) == outputOf(cuobjdump, "-sass", theirs));
    if (!cuobjdump.empty()) CHECK(outputOf(cuobjdump, "-elf", ours).find("EIATTR_REGCOUNT") != std::string::npos);
  };
  for (const std::string chip : {"75", "80", "86", "89", "90"})
    compare(chip, "peers/cubin/kernels.ptx");
  compare("90", "cli/lines.ptx"); // with line tables
}
