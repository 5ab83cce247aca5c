#include "orias/line_tables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace orias {

namespace {

using ptx::DebugLocId;

void append(cubin::Bytes& bytes, std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), begin, begin + text.size());
}

/// The lines of a PTX file as in ptxas' cubins, each with a final zero byte: without comments, indentation, the
/// directives that the tables replace, and the data of debug sections, whose lines begin with a type.
void appendPtxText(cubin::Bytes& bytes, std::string_view text) {
  std::string line; // without its comments
  bool isInComment = false;
  const auto finish = [&](std::string_view kept) {
    const std::size_t first = kept.find_first_not_of(" \t\r"), last = kept.find_last_not_of(" \t\r");
    kept = first == std::string_view::npos ? "" : kept.substr(first, last + 1 - first);
    const auto isDirective = [&](std::string_view name) {
      return kept.starts_with(name) && kept.size() > name.size() &&
             (kept[name.size()] == ' ' || kept[name.size()] == '\t');
    };
    static constexpr std::string_view kLeft[] = {".loc", ".file", ".b8", ".b16", ".b32", ".b64"};
    if (!kept.starts_with('.') || std::ranges::none_of(kLeft, isDirective)) append(bytes, kept);
    bytes.push_back(std::byte{0});
  };
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view all = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!isInComment && all.find('/') == std::string_view::npos) {
      if (!all.empty() || end != std::string_view::npos) finish(all);
      continue;
    }
    line.clear();
    for (std::string_view rest = all; !rest.empty();) {
      if (isInComment) {
        const std::size_t close = rest.find("*/");
        if (close == std::string_view::npos) break;
        isInComment = false;
        rest.remove_prefix(close + 2);
        continue;
      }
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      line += rest.substr(0, slash);
      rest.remove_prefix(slash);
      if (rest.empty() || rest.starts_with("//")) break;
      isInComment = rest.starts_with("/*");
      if (!isInComment) line += '/';
      rest.remove_prefix(isInComment ? 2 : 1);
    }
    if (!line.empty() || end != std::string_view::npos) finish(line);
  }
}

/// Adds the files, names and text of an input to the cubin, and translates its `.loc` directives.
class SourceMap {
 public:
  SourceMap(const LineSource& source, cubin::Module& cubin) : ptx_(*source.ptx) {
    for (const ptx::DebugFile& file : ptx_.files) {
      fileOf_.emplace(file.index, static_cast<std::uint32_t>(cubin.sourceFiles.size()));
      cubin.sourceFiles.push_back({std::string(ptx_.text(file.name)), file.timestamp, file.size});
    }
    for (const ptx::DebugSection& section : ptx_.sections)
      if (ptx_.text(section.name) == ".debug_str") {
        for (const ptx::SectionLabel& label : section.labels)
          nameAt_.emplace(label.name, static_cast<std::uint32_t>(cubin.debugStrings.size() + label.at));
        for (std::uint8_t byte : section.bytes)
          cubin.debugStrings.push_back(std::byte{byte});
      }
    firstLine_ = static_cast<std::uint32_t>(std::ranges::count(cubin.ptxText, std::byte{0}));
    appendPtxText(cubin.ptxText, source.text);
    findCallers();
  }

  const ptx::DebugLoc& loc(DebugLocId id) const { return ptx_.debugLocs[index(id)]; }
  const ptx::Function* function(std::string_view name) const {
    for (const ptx::Function& function : ptx_.functions)
      if (ptx_.text(function.name) == name) return &function;
    return nullptr;
  }
  /// A line of the input, in the cubin's text.
  std::uint32_t lineInText(std::uint32_t ptxLine) const { return firstLine_ + ptxLine; }

  /// The call of an inlined location: the last `.loc` before it with the location that it names.
  DebugLocId callerOf(DebugLocId id) const { return callers_[index(id)]; }

  /// The row without its location and caller; nothing if the file was not declared.
  std::optional<cubin::LineRow> rowOf(DebugLocId id) const {
    const ptx::DebugLoc& loc = this->loc(id);
    const auto file = fileOf_.find(loc.file);
    // Line 0 is no line: the code belongs to the previous one, as in ptxas.
    if (file == fileOf_.end() || loc.line == 0) return std::nullopt;
    cubin::LineRow row;
    row.file = file->second;
    row.line = loc.line;
    if (const auto name = nameAt_.find(loc.functionName); name != nameAt_.end())
      row.calleeName = name->second + loc.functionNameOffset;
    return row;
  }

 private:
  void findCallers() {
    using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
    std::map<Place, DebugLocId> last;
    for (std::uint32_t i = 0; i < ptx_.debugLocs.size(); ++i) {
      const ptx::DebugLoc& loc = ptx_.debugLocs[i];
      const auto caller = last.find({loc.inlinedFile, loc.inlinedLine, loc.inlinedColumn});
      callers_.push_back(loc.inlinedLine == 0 || caller == last.end() ? DebugLocId::None : caller->second);
      last[{loc.file, loc.line, loc.column}] = DebugLocId(i);
    }
  }

  const ptx::Module& ptx_;
  std::vector<DebugLocId> callers_;                         ///< by `.loc`
  std::unordered_map<std::uint32_t, std::uint32_t> fileOf_; ///< by the number in the PTX
  std::unordered_map<ptx::NameId, std::uint32_t> nameAt_;   ///< labels in .debug_str
  std::uint32_t firstLine_ = 0;                             ///< of the input, in the text
};

/// The rows of one function for the source files.
class RowWriter {
 public:
  RowWriter(const SourceMap& map, cubin::Function& function) : map_(map), rows_(function.lines) {}

  /// From `offset` on, the code has this location.
  void enter(DebugLocId id, std::uint32_t offset) {
    if (id == DebugLocId::None || id == current_) return;
    current_ = id;
    add(id, offset);
  }

 private:
  /// The number of a row for the location; 0 if there is none. As in ptxas, a row of an inlined location follows the
  /// row of its call.
  std::uint32_t add(DebugLocId id, std::uint32_t offset) {
    std::optional<cubin::LineRow> row = map_.rowOf(id);
    if (!row) return 0;
    row->offset = offset;
    if (const DebugLocId caller = map_.callerOf(id); caller != DebugLocId::None) {
      if (const auto open = std::ranges::find(open_, caller, &Open::id); open != open_.end()) {
        row->caller = open->row;
        open_.erase(open + 1, open_.end());
      } else {
        row->caller = add(caller, offset);
      }
    } else {
      open_.clear();
    }
    if (row->caller == 0) row->calleeName = 0;
    if (!isLast(*row)) rows_.push_back(*row);
    open_.push_back({id, static_cast<std::uint32_t>(rows_.size())});
    return open_.back().row;
  }

  /// Whether it equals the last row.
  bool isLast(cubin::LineRow row) const {
    if (rows_.empty()) return false;
    row.offset = rows_.back().offset;
    return row == rows_.back();
  }

  /// The current locations: the call, and the inlined code.
  struct Open {
    DebugLocId id;
    std::uint32_t row;
  };

  const SourceMap& map_;
  std::vector<cubin::LineRow>& rows_;
  std::vector<Open> open_;
  DebugLocId current_ = DebugLocId::None;
};

void describeRows(const SourceMap& map, const CodedFunction& coded, cubin::Function& out) {
  RowWriter source(map, out);
  std::uint32_t ptxLine = 0;
  const auto enter = [&](std::uint32_t line, DebugLocId loc, std::uint32_t offset) {
    source.enter(loc, offset);
    if (line == 0 || line == ptxLine) return;
    ptxLine = line;
    out.ptxLines.push_back({offset, cubin::LineRow::kPtx, map.lineInText(line)});
  };
  // The set-up of the frame belongs to the start of the function.
  const bool startsElsewhere = !coded.sources.empty() && coded.sources[0].ptxLine != 0;
  if (const ptx::Function* function = map.function(out.name); function && !startsElsewhere)
    enter(function->loc.line, function->instructions.empty() ? DebugLocId::None : function->instructions[0].debugLoc,
          0);
  std::uint32_t offset = 0;
  for (const ori::Source& at : coded.sources) {
    enter(at.ptxLine, at.loc == 0 ? DebugLocId::None : DebugLocId(at.loc - 1), offset);
    offset += encoder::kWordBytes;
  }
}

} // namespace

void addLineTables(cubin::Module& cubin, std::span<const LineSource> sources, std::span<CodedFunction* const> functions,
                   bool isWanted) {
  for (const LineSource& source : sources) {
    if (!isWanted && source.ptx->debugLocs.empty()) continue;
    const SourceMap map(source, cubin);
    for (std::size_t i = 0; i < functions.size(); ++i)
      if (&functions[i]->function->module() == source.ori) describeRows(map, *functions[i], cubin.functions[i]);
  }
}

} // namespace orias
