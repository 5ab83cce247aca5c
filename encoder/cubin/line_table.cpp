#include "encoder/cubin/line_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "encoder/cubin/byte_io.h"
#include "support/check.h"
#include "support/hash.h"

namespace orias::cubin {
namespace {

/// Whether there is DWARF other than the tables that the writer generates.
bool hasDebugInfo(const Module& module) {
  return std::ranges::any_of(module.debugSections, [](const DebugSection& s) { return s.name == ".debug_info"; });
}

// The constants of the header and the opcodes, as in ptxas' files.
constexpr std::uint16_t kVersion = 2;
constexpr std::uint8_t kMinInstruction = 1, kLineRange = 14, kFirstSpecial = 10;
constexpr std::int8_t kLineBase = -5;
/// The operand counts of the opcodes 1 .. 9.
constexpr std::array<std::uint8_t, kFirstSpecial - 1> kOperandCounts = {0, 1, 1, 1, 1, 0, 0, 0, 1};
constexpr std::size_t kUnitHead = 10; // length, version, length of the header

enum Opcode : std::uint8_t {
  Extended = 0,
  Copy = 1,
  AdvanceAddress = 2,
  AdvanceLine = 3,
  SetFile = 4,
  FixedAdvance = 9,
};
enum ExtendedOpcode : std::uint8_t { EndOfSequence = 1, SetAddress = 2, InlinedCall = 0x90 };

// --- writing

void appendSleb(Bytes& bytes, std::int64_t value) {
  for (;;) {
    const auto low = static_cast<std::uint8_t>(value & 0x7f);
    value >>= 7;
    const bool isLast = (value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40) != 0);
    append(bytes, static_cast<std::uint8_t>(isLast ? low : low | 0x80));
    if (isLast) return;
  }
}

void appendString(Bytes& bytes, std::string_view text) {
  for (char c : text)
    append(bytes, static_cast<std::uint8_t>(c));
  append(bytes, std::uint8_t{0});
}

Bytes ulebBytes(std::uint64_t value) {
  Bytes bytes;
  appendUleb(bytes, value);
  return bytes;
}

/// Leaves room for length and version, which finishUnit() fills in.
void beginUnit(Bytes& bytes, std::span<const SourceFile> files, bool hasStrings) {
  bytes.resize(kUnitHead);
  append(bytes, kMinInstruction);
  append(bytes, std::uint8_t{1}); // rows are statements
  append(bytes, static_cast<std::uint8_t>(kLineBase));
  append(bytes, kLineRange);
  append(bytes, kFirstSpecial);
  for (std::uint8_t count : kOperandCounts)
    append(bytes, count);
  std::vector<std::string_view> directories;
  Bytes names;
  for (const SourceFile& file : files) {
    const std::string_view path = file.path;
    const std::size_t slash = path.rfind('/');
    std::size_t directory = 0; // the compilation directory
    const bool hasDirectory = slash != std::string_view::npos && slash != 0;
    if (hasDirectory) {
      const std::string_view name = path.substr(0, slash);
      auto at = std::ranges::find(directories, name);
      if (at == directories.end()) at = directories.insert(directories.end(), name);
      directory = static_cast<std::size_t>(at - directories.begin()) + 1;
    }
    appendString(names, hasDirectory ? path.substr(slash + 1) : path);
    appendUleb(names, directory);
    appendUleb(names, file.timestamp);
    appendUleb(names, file.size);
  }
  for (std::string_view directory : directories)
    appendString(bytes, directory);
  append(bytes, std::uint8_t{0});
  bytes.insert(bytes.end(), names.begin(), names.end());
  append(bytes, std::uint8_t{0});
  // The offset of the names of inlined functions in .debug_str. Without that section the field must be absent: cuda-gdb
  // takes any remaining bytes of the header for it, and rejects the file. With the section it must be present: without
  // it nvdisasm 13.0 rejects the names.
  if (hasStrings) bytes.resize(bytes.size() + 4);
  store(std::span(bytes), 6, static_cast<std::uint32_t>(bytes.size() - kUnitHead));
}

void finishUnit(Bytes& bytes) {
  store(std::span(bytes), 0, static_cast<std::uint32_t>(bytes.size() - 4));
  store(std::span(bytes), 4, kVersion);
}

/// Writes the rows of one function, by ascending address.
class SequenceWriter {
 public:
  SequenceWriter(LineTable& table, const Function& function, bool isObject)
      : bytes_(table.bytes), function_(function), isObject_(isObject) {
    appendExtended(SetAddress, Bytes(8));
    table.relocations.push_back({RelocationType::Abs64, bytes_.size() - 8, function.name, 0});
  }

  void row(const LineRow& row) {
    ORIAS_CHECK(row.offset >= address_, function_.name);
    if (isFirst_ || row.file != file_) {
      append(bytes_, std::uint8_t{SetFile});
      // In objects the section of the text is the only file; linked files have none.
      appendUleb(bytes_, row.file == LineRow::kPtx && isObject_ ? 1u : row.file + 1u);
      file_ = row.file;
      isFirst_ = false;
    }
    if (row.caller != caller_ || row.calleeName != calleeName_) {
      Bytes place = ulebBytes(row.caller);
      appendUleb(place, row.calleeName);
      appendExtended(InlinedCall, place);
      caller_ = row.caller;
      calleeName_ = row.calleeName;
    }
    const std::int64_t lines = std::int64_t{row.line} - line_;
    const std::uint64_t bytes = row.offset - address_;
    const std::int64_t special = lines - kLineBase + static_cast<std::int64_t>(kLineRange * bytes) + kFirstSpecial;
    if (bytes != 0 && lines >= kLineBase && lines < kLineBase + kLineRange && special <= 0xff) {
      append(bytes_, static_cast<std::uint8_t>(special));
    } else {
      if (lines != 0) {
        append(bytes_, std::uint8_t{AdvanceLine});
        appendSleb(bytes_, lines);
      }
      advance(bytes);
      append(bytes_, std::uint8_t{Copy});
    }
    line_ = row.line;
    address_ = row.offset;
  }

  void end() {
    advance(function_.code.size() - address_);
    appendExtended(EndOfSequence, {});
  }

 private:
  void advance(std::uint64_t bytes) {
    if (bytes == 0) return;
    append(bytes_, std::uint8_t{AdvanceAddress});
    appendSleb(bytes_, static_cast<std::int64_t>(bytes)); // as in ptxas: signed LEB128, which may be a byte longer
  }

  void appendExtended(ExtendedOpcode opcode, const Bytes& operands) {
    append(bytes_, std::uint8_t{Extended});
    appendUleb(bytes_, operands.size() + 1);
    append(bytes_, static_cast<std::uint8_t>(opcode));
    bytes_.insert(bytes_.end(), operands.begin(), operands.end());
  }

  Bytes& bytes_;
  const Function& function_;
  const bool isObject_;
  std::uint32_t address_ = 0, line_ = 1, file_ = 0, caller_ = 0, calleeName_ = 0;
  bool isFirst_ = true;
};

// --- reading

/// A part of a table, read sequentially.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> table) : Cursor(table, 0, table.size()) {}

  bool atEnd() const { return at_ == end_; }
  std::size_t position() const { return at_; } ///< offset in the table
  /// A cursor over the next `count` bytes, which this cursor skips.
  Cursor part(std::size_t count) {
    take(count);
    return {table_, at_ - count, at_};
  }
  std::span<const std::byte> take(std::size_t count) {
    if (count > end_ - at_) throw Error("cubin: a line table is cut off");
    at_ += count;
    return table_.subspan(at_ - count, count);
  }
  template <std::unsigned_integral T> T number() { return load<T>(take(sizeof(T)), 0); }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = number<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = number<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) != 0) continue;
      if (shift + 7 < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << (shift + 7);
      return static_cast<std::int64_t>(value);
    }
  }
  std::string string() {
    std::string text;
    while (const auto c = number<std::uint8_t>())
      text += static_cast<char>(c);
    return text;
  }

 private:
  Cursor(std::span<const std::byte> table, std::size_t begin, std::size_t end) : table_(table), at_(begin), end_(end) {}

  std::span<const std::byte> table_;
  std::size_t at_, end_;
};

/// The contents of a table: files, and the rows of the functions by name. The file of a row without one is ~0.
struct Program {
  std::vector<SourceFile> files;
  std::map<std::string, std::vector<LineRow>> rows;
};

class ProgramReader {
 public:
  ProgramReader(std::span<const std::byte> table, std::span<const Relocation> addresses) : table_(table) {
    for (const Relocation& relocation : addresses)
      starts_[relocation.offset] = &relocation;
  }

  Program run() {
    Cursor cursor(table_);
    while (!cursor.atEnd()) {
      const auto length = cursor.number<std::uint32_t>();
      unit(cursor.part(length));
    }
    return std::move(program_);
  }

 private:
  void unit(Cursor cursor) {
    if (cursor.number<std::uint16_t>() != kVersion) throw Error("cubin: unsupported version of a line table");
    const auto headerLength = cursor.number<std::uint32_t>();
    Cursor header = cursor.part(headerLength);
    header.take(2); // minimum instruction length, default of the statement flag
    lineBase_ = static_cast<std::int8_t>(header.number<std::uint8_t>());
    lineRange_ = header.number<std::uint8_t>();
    firstSpecial_ = header.number<std::uint8_t>();
    if (lineRange_ == 0 || firstSpecial_ == 0) throw Error("cubin: a line table has no range of lines");
    operandCounts_.clear();
    for (unsigned opcode = 1; opcode < firstSpecial_; ++opcode)
      operandCounts_.push_back(header.number<std::uint8_t>());
    std::vector<std::string> directories = {""};
    for (std::string name = header.string(); !name.empty(); name = header.string())
      directories.push_back(name);
    firstFile_ = program_.files.size();
    for (std::string name = header.string(); !name.empty(); name = header.string()) {
      const std::uint64_t directory = header.uleb();
      if (directory >= directories.size()) throw Error("cubin: a line table refers to a missing directory");
      SourceFile file;
      const std::string& in = directories[directory];
      file.path = in.empty() ? name : in + "/" + name;
      file.timestamp = header.uleb();
      file.size = header.uleb();
      program_.files.push_back(std::move(file));
    }
    while (!cursor.atEnd())
      sequence(cursor);
  }

  void sequence(Cursor& cursor) {
    LineRow now;
    now.file = static_cast<std::uint32_t>(firstFile_);
    std::int64_t line = 1;
    std::uint64_t address = 0;
    std::vector<LineRow>* rows = nullptr;
    const auto emit = [&] {
      now.offset = static_cast<std::uint32_t>(address);
      now.line = static_cast<std::uint32_t>(line);
      if (rows) rows->push_back(now);
    };
    for (;;) {
      const auto opcode = cursor.number<std::uint8_t>();
      if (opcode >= firstSpecial_) {
        const unsigned step = opcode - firstSpecial_;
        address += step / lineRange_;
        line += lineBase_ + static_cast<int>(step % lineRange_);
        emit();
        continue;
      }
      switch (opcode) {
      case Extended: {
        const std::size_t length = cursor.uleb();
        Cursor operands = cursor.part(length);
        switch (operands.number<std::uint8_t>()) {
        case EndOfSequence: return;
        case SetAddress:
          if (const auto found = starts_.find(operands.position()); found != starts_.end()) {
            rows = &program_.rows[found->second->symbol];
            address = static_cast<std::uint64_t>(found->second->addend);
          }
          break;
        case InlinedCall:
          now.caller = static_cast<std::uint32_t>(operands.uleb());
          now.calleeName = static_cast<std::uint32_t>(operands.uleb());
          break;
        default: break;
        }
        break;
      }
      case Copy: emit(); break;
      case AdvanceAddress: address += cursor.uleb(); break;
      case AdvanceLine: line += cursor.sleb(); break;
      case SetFile: now.file = static_cast<std::uint32_t>(firstFile_ + cursor.uleb() - 1); break;
      case FixedAdvance: address += cursor.number<std::uint16_t>(); break;
      default:
        for (unsigned operand = 0; operand < operandCounts_[opcode - 1u]; ++operand)
          cursor.uleb();
      }
    }
  }

  std::span<const std::byte> table_;
  std::map<std::uint64_t, const Relocation*> starts_;
  Program program_;
  std::int8_t lineBase_ = 0;
  std::uint8_t lineRange_ = 1, firstSpecial_ = 1;
  std::vector<std::uint8_t> operandCounts_;
  std::size_t firstFile_ = 0;
};

LineTable writeTable(const Module& module, std::span<const SourceFile> files,
                     const std::vector<LineRow> Function::*lines, bool hasStrings) {
  LineTable table;
  beginUnit(table.bytes, files, hasStrings);
  // In reverse, the order of the functions in the file.
  for (auto function = module.functions.rbegin(); function != module.functions.rend(); ++function) {
    if (((*function).*lines).empty()) continue;
    SequenceWriter writer(table, *function, module.relocatable);
    for (const LineRow& row : (*function).*lines)
      writer.row(row);
    writer.end();
  }
  finishUnit(table.bytes);
  return table;
}

void giveRows(Program& program, Module& module, std::vector<LineRow> Function::*lines) {
  for (Function& function : module.functions)
    if (const auto found = program.rows.find(function.name); found != program.rows.end())
      function.*lines = std::move(found->second);
}

} // namespace

bool hasSourceLines(const Module& module) {
  return !module.sourceFiles.empty() || hasDebugInfo(module);
}

LineTable sourceLineTable(const Module& module) {
  if (!hasSourceLines(module)) return {};
  return writeTable(module, module.sourceFiles, &Function::lines,
                    !module.debugStrings.empty() && !hasDebugInfo(module));
}

LineTable ptxLineTable(const Module& module) {
  if (module.ptxText.empty()) return {};
  std::vector<SourceFile> files;
  if (module.relocatable) files.push_back({ptxTextSection(module)});
  return writeTable(module, files, &Function::ptxLines, false);
}

std::string ptxTextSection(const Module& module) {
  constexpr std::string_view kName = ".nv_debug_ptx_txt";
  if (!module.relocatable) return std::string(kName);
  return std::string(kName) + "." + std::to_string(fnv1a(module.ptxText));
}

void readSourceLines(std::span<const std::byte> table, std::span<const Relocation> addresses, Module& module) {
  Program program = ProgramReader(table, addresses).run();
  giveRows(program, module, &Function::lines);
  module.sourceFiles = std::move(program.files);
}

void readPtxLines(std::span<const std::byte> table, std::span<const Relocation> addresses, Module& module) {
  Program program = ProgramReader(table, addresses).run();
  for (auto& [name, rows] : program.rows)
    for (LineRow& row : rows)
      row.file = LineRow::kPtx; // regardless of the file in an object
  giveRows(program, module, &Function::ptxLines);
}

} // namespace orias::cubin
