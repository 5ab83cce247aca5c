// function_order PROGRAM MAP SCRIPT PTX...: the functions of a program that compilations call, as a linker script that
// puts them together.
//
// A breakpoint stands at the beginning of each function; who comes by for the first time is noted, and the breakpoint
// goes. MAP is the linker's map of PROGRAM: it says which section of which object a function is in. Nothing in SCRIPT
// changes what the program does. Where programs may not be watched, SCRIPT stays empty.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::uint8_t kBreakpoint = 0xcc; // int3
/// Linux maps a piece of a program as one huge page if it fills one in the file, too.
constexpr unsigned kHugePage = 2U << 20;

/// A section that the linker has taken from an object.
struct Section {
  std::uint64_t address, size;
  std::string name, object; ///< object: path, or path of an archive with a member in parentheses
};

std::string contentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The sections of code in a map of GNU ld: " .text.name  0xADDRESS  0xSIZE  OBJECT", the name perhaps in a line of its
/// own.
std::vector<Section> sectionsOf(const std::string& path) {
  std::vector<Section> sections;
  std::istringstream text(contentsOf(path));
  std::string line, name;
  bool isMap = false;
  while (std::getline(text, line)) {
    isMap |= line.starts_with("Linker script and memory map");
    if (!isMap || !line.starts_with(' ')) {
      name.clear();
      continue;
    }
    std::istringstream words(line);
    if (line.size() > 1 && line[1] == '.') {
      words >> name;
    } else if (name.empty() || !line.starts_with("                0x")) {
      name.clear();
      continue;
    }
    Section section{0, 0, name, {}};
    words >> std::hex >> section.address >> section.size >> std::ws;
    if (!words) continue; // the rest is in the next line
    std::getline(words, section.object);
    if (name.starts_with(".text") && section.size != 0) sections.push_back(std::move(section));
    name.clear();
  }
  std::ranges::sort(sections, {}, &Section::address);
  return sections;
}

/// The code of a program at a fixed address.
struct Code {
  std::uint64_t begin = 0;
  std::string bytes;
  std::vector<std::uint64_t> functions; ///< where they begin
};

template <typename T> T at(std::string_view file, std::uint64_t offset) {
  T value{};
  if (offset + sizeof(T) <= file.size()) std::copy_n(file.data() + offset, sizeof(T), reinterpret_cast<char*>(&value));
  return value;
}

Code codeOf(const std::string& path) {
  Code code;
  const std::string file = contentsOf(path);
  const auto header = at<Elf64_Ehdr>(file, 0);
  if (!file.starts_with(ELFMAG) || header.e_type != ET_EXEC) return code;
  for (unsigned i = 0; i < header.e_phnum; ++i)
    if (const auto segment = at<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
        segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      code.begin = segment.p_vaddr;
      code.bytes = file.substr(segment.p_offset, segment.p_filesz);
    }
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto symbols = at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (symbols.sh_type != SHT_SYMTAB) continue;
    for (std::uint64_t offset = 0; offset < symbols.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(file, symbols.sh_offset + offset);
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      const bool isCode = symbol.st_value >= code.begin && symbol.st_value - code.begin < code.bytes.size();
      if ((type == STT_FUNC || type == STT_GNU_IFUNC) && isCode) code.functions.push_back(symbol.st_value);
    }
  }
  return code;
}

/// Runs a command and notes which functions it calls, in order; those that are known already have no breakpoint.
class Watcher {
 public:
  explicit Watcher(const Code& code) : code_(code), isKnown_(code.bytes.size()) {}

  /// False if the command cannot be watched.
  bool run(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
      const int nothing = open("/dev/null", O_RDWR);
      dup2(nothing, 1);
      dup2(nothing, 2);
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) execv(arguments[0], arguments.data());
      _exit(1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return false;
    ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL);
    const bool isWatched = prepare(child) && watch(child);
    if (!isWatched) kill(child, SIGKILL);
    while (!isWatched && waitpid(child, &status, 0) == child && !WIFEXITED(status) && !WIFSIGNALED(status)) {
    }
    return isWatched;
  }

  const std::vector<std::uint64_t>& called() const { return called_; }

 private:
  bool prepare(pid_t child) {
    std::string bytes = code_.bytes;
    for (const std::uint64_t function : code_.functions)
      if (!isKnown_[function - code_.begin]) bytes[function - code_.begin] = static_cast<char>(kBreakpoint);
    memory_ = open(("/proc/" + std::to_string(child) + "/mem").c_str(), O_RDWR);
    return memory_ >= 0 && write(code_.begin, bytes);
  }

  bool write(std::uint64_t address, std::string_view bytes) const {
    return pwrite(memory_, bytes.data(), bytes.size(), static_cast<off_t>(address)) ==
           static_cast<ssize_t>(bytes.size());
  }

  bool watch(pid_t child) {
    int status = 0;
    for (int signal = 0;;) {
      if (ptrace(PTRACE_CONT, child, nullptr, signal) != 0 || waitpid(child, &status, 0) != child) return false;
      if (WIFEXITED(status) || WIFSIGNALED(status)) break;
      signal = WSTOPSIG(status);
      if (signal != SIGTRAP) continue;
      signal = 0;
      user_regs_struct registers{};
      if (ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) return false;
      const std::uint64_t function = registers.rip - 1, offset = function - code_.begin;
      if (offset >= code_.bytes.size()) return false;
      if (!isKnown_[offset]) called_.push_back(function);
      isKnown_[offset] = true;
      registers.rip = function;
      if (!write(function, std::string_view(code_.bytes).substr(offset, 1)) ||
          ptrace(PTRACE_SETREGS, child, nullptr, &registers) != 0)
        return false;
    }
    close(memory_);
    return true;
  }

  const Code& code_;
  std::vector<bool> isKnown_; ///< by offset
  std::vector<std::uint64_t> called_;
  int memory_ = -1;
};

/// What a linker script calls the section: with the file where the name says little.
std::string patternOf(const Section& section) {
  const std::string& object = section.object;
  if (section.name.starts_with(".text._Z") || section.name.starts_with(".text.unlikely._Z"))
    return "*(" + section.name + ")";
  const std::size_t open = object.rfind('(');
  const std::string file = object.substr(0, open).substr(object.substr(0, open).rfind('/') + 1);
  if (open == std::string::npos) return "*" + file + "(" + section.name + ")";
  const std::string member = object.substr(open + 1, object.size() - open - 2);
  return "*" + file + ":" + member + "(" + section.name + ")";
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: function_order PROGRAM MAP SCRIPT PTX...\n";
    return 1;
  }
  const std::string program = argv[1], script = argv[3];
  const Code code = codeOf(program);
  const std::vector<Section> sections = sectionsOf(argv[2]);
  Watcher watcher(code);
  std::vector<std::string> patterns;
  if (!code.functions.empty()) {
    bool isWatched = true;
    for (int i = 4; i < argc && isWatched; ++i)
      for (const char* arch : {"-arch=sm_90a", "-arch=sm_120a", "-arch=sm_80"})
        isWatched = isWatched && watcher.run({program, arch, argv[i], "-o", script + ".cubin"});
    if (!isWatched) std::cerr << "function_order: the program cannot be watched\n";
    std::vector<bool> isTaken(sections.size());
    for (const std::uint64_t function : watcher.called()) {
      const auto after = std::ranges::upper_bound(sections, function, {}, &Section::address);
      if (after == sections.begin()) continue;
      const auto section = after - 1;
      const auto index = static_cast<std::size_t>(section - sections.begin());
      if (function - section->address >= section->size || isTaken[index]) continue;
      isTaken[index] = true;
      patterns.push_back(patternOf(*section));
    }
    std::remove((script + ".cubin").c_str());
  }
  std::ofstream out(script);
  out << "SECTIONS {\n  .text.called : ALIGN(" << kHugePage << ") {\n";
  for (const std::string& pattern : patterns)
    out << "    " << pattern << "\n";
  out << "  }\n} INSERT AFTER .text;\n";
  return out.flush() ? 0 : 1;
}
