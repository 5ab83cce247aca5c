#include "encoder/isa/latency/tables.h"

#include "support/check.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace orias::isa {

namespace {

/// A data file, embedded at build time.
struct LatencyFile {
  std::string_view model;
  std::string_view text;
};
constexpr LatencyFile kFiles[] = {
#include "latency_data.inc" // by EmbedText.cmake
};

constexpr std::array<std::string_view, kLatencyClassCount> kClassNames = {
    "None",       "Alu",         "Select",       "Alu64",      "PredLogic",   "PredMove",     "Vote",      "Dispatch",
    "Fma",        "Imad",        "ImadWide",     "Fp16",       "Fp16Alu",     "Hfma2Mma",     "Fp64",      "Clmad",
    "Hmma",       "Imma",        "MmaShort",     "ImmaShort",  "MmaTiny",     "Dmma",         "Xu",        "ConstLoad",
    "SharedLoad", "SharedStore", "SharedAtomic", "Load",       "Store",       "Atomic",       "Reduce",    "Shuffle",
    "Match",      "SpecialRead", "SpaceQuery",   "Barrier",    "Fence",       "CacheControl", "AsyncCopy", "Syncs",
    "Gmma",       "WarpGroup",   "Texture",      "TensorLoad", "TensorStore", "Nop",          "Depbar",    "Branch",
    "Cbu",        "Bssy",        "Bmov",         "Udp",        "Umov",        "Uldc",         "Voteu",     "R2ur",
    "S2ur",       "Tma",         "SetMaxReg"};

constexpr std::array<std::string_view, 4> kPortNames = {"Main", "Addend", "High", "Guard"};
constexpr std::array<std::string_view, 7> kModelNames = {
    "sm_75", "sm_80", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120"}; ///< in the order of LatencyModel
constexpr std::array<std::string_view, kFileCount> kFileNames = {"R", "UR", "P", "UP", "B"};

/// Calls `take` for each part of a text. Parts are a few characters long.
constexpr void forEachPart(std::string_view text, char separator, auto&& take) {
  for (;;) {
    std::size_t end = 0;
    while (end < text.size() && text[end] != separator)
      ++end;
    take(text.substr(0, end));
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

constexpr std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  forEachPart(text, separator, [&](std::string_view part) { parts.push_back(part); });
  return parts;
}

template <std::size_t N>
constexpr std::optional<unsigned> indexOf(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<unsigned>(at - names.begin());
}

constexpr std::uint8_t kImpossible = 255; ///< a pair marked `-`

/// The hash of a class name: the index of the class is in kClassAt there, or at the next free place. The current names
/// have no collisions.
constexpr std::size_t kHashed = 256;
constexpr std::size_t placeOf(std::string_view name) {
  if (name.size() < 3) return 0;
  const auto letter = [&](std::size_t i) { return static_cast<unsigned char>(name[i]); };
  return (letter(0) + 15u * letter(2) + 17u * letter(name.size() - 1) + 101u * name.size()) % kHashed;
}
constexpr std::uint8_t kNoClass = 255;
constexpr auto kClassAt = [] {
  std::array<std::uint8_t, kHashed> classes{};
  classes.fill(kNoClass);
  for (std::size_t i = 0; i < kClassNames.size(); ++i) {
    std::size_t at = placeOf(kClassNames[i]);
    while (classes[at] != kNoClass)
      at = (at + 1) % kHashed;
    classes[at] = static_cast<std::uint8_t>(i);
  }
  return classes;
}();

} // namespace

std::string_view nameOf(LatencyClass latencyClass) {
  return kClassNames[static_cast<unsigned>(latencyClass)];
}

/// Parses a data file into tables. The embedded files are parsed at compile time; at run time this would make the
/// start of the program a twentieth slower.
class LatencyParser {
 public:
  constexpr explicit LatencyParser(std::string_view text) : text_(text) {}

  constexpr LatencyTables run() {
    read(text_);
    for (const auto* family : {&tables_.raw, &tables_.waw, &tables_.war})
      for (const LatencyMatrix& matrix : *family)
        tables_.largestFixed = std::max(tables_.largestFixed, matrix.largest());
    return std::move(tables_);
  }

 private:
  enum class Section { None, Like, Sets, Classes, Matrix };

  constexpr void read(std::string_view text) {
    const unsigned before = std::exchange(line_, 0);
    std::vector<std::string_view> cells;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      ++line_;
      if (line.empty() || line.front() == '#') continue;
      if (line.front() == '[') {
        enterSection(line);
        continue;
      }
      cells.clear();
      forEachPart(line, ',', [&](std::string_view cell) { cells.push_back(cell); });
      switch (section_) {
      case Section::None: fail("text before the first section");
      case Section::Like: takeOver(line); break;
      case Section::Sets: addSet(cells); break;
      case Section::Classes: addClass(cells); break;
      case Section::Matrix: addMatrixLine(cells); break;
      }
    }
    line_ = before;
  }

  /// Reads the file of another model first; this file only has the differences.
  constexpr void takeOver(std::string_view model) {
    const auto* file = std::ranges::find(kFiles, model, &LatencyFile::model);
    if (file == std::end(kFiles)) fail("no latencies of " + std::string(model));
    read(file->text);
    section_ = Section::None;
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw InternalError("latency data, line " + std::to_string(line_) + ": " + message);
  }

  constexpr void enterSection(std::string_view line) {
    if (line.back() != ']') fail("a section is written [name]");
    const std::string_view name = line.substr(1, line.size() - 2);
    inHeader_ = true;
    if (name == "like") {
      section_ = Section::Like;
    } else if (name == "sets") {
      section_ = Section::Sets;
    } else if (name == "classes") {
      section_ = Section::Classes;
    } else {
      section_ = Section::Matrix;
      const auto words = split(name, ' ');
      const auto file = words.size() == 2 ? indexOf(kFileNames, words[1]) : std::nullopt;
      if (!file) fail("a matrix is [raw R], [waw UP], ...");
      auto* family = words[0] == "raw" ? &tables_.raw : words[0] == "waw" ? &tables_.waw : &tables_.war;
      if (words[0] != "raw" && words[0] != "waw" && words[0] != "war") fail("unknown kind of matrix");
      matrix_ = &(*family)[*file];
      matrix_->size_ = 0;
      matrix_->largest_ = 0;
      for (auto& ports : matrix_->rows_)
        ports.fill(LatencyMatrix::kNone);
      for (auto& ports : matrix_->columns_)
        ports.fill(LatencyMatrix::kNone);
    }
  }

  constexpr void addSet(const std::vector<std::string_view>& cells) {
    if (cells.size() != 2) fail("a set is NAME,members");
    std::vector<LatencyClass> members;
    for (std::string_view word : split(cells[1], ' '))
      members.push_back(classNamed(word));
    if (const auto known = std::ranges::find(sets_, cells[0], &Set::name); known != sets_.end())
      known->members = std::move(members);
    else
      sets_.push_back({cells[0], std::move(members)});
  }

  constexpr void addClass(const std::vector<std::string_view>& cells) {
    if (std::exchange(inHeader_, false)) return;
    if (cells.size() != 9) fail("a class has 9 columns");
    LatencyTables::ClassInfo& info = tables_.classes[static_cast<unsigned>(classNamed(cells[0]))];
    if (cells[1] != "fixed" && cells[1] != "variable") fail("kind is fixed or variable");
    info.isVariable = cells[1] == "variable";
    info.minStall = static_cast<std::uint8_t>(number(cells[2]));
    info.pipe = queue(cells[3]);
    info.issueCycles = static_cast<std::uint8_t>(number(cells[4]));
    info.expected = static_cast<std::uint16_t>(number(cells[5]));
    info.completionQueue = queue(cells[6]);
    info.readQueue = queue(cells[7]);
    evidence(cells[8]);
  }

  constexpr void addMatrixLine(const std::vector<std::string_view>& cells) {
    LatencyMatrix& m = *matrix_;
    if (std::exchange(inHeader_, false)) {
      if (cells.size() < 3 || cells.back() != "evidence")
        fail("a matrix starts with its columns and ends with `evidence`");
      m.width_ = static_cast<unsigned>(cells.size() - 2);
      for (unsigned i = 0; i < m.width_; ++i)
        addToAxis(m.columns_, cells[i + 1], i);
      return;
    }
    if (cells.size() != m.width_ + 2) fail("wrong number of columns");
    addToAxis(m.rows_, cells[0], m.size_ / m.width_);
    const Evidence ofRow = evidence(cells.back());
    if (m.size_ + m.width_ > m.cells_.size()) fail("too large a matrix");
    for (unsigned i = 0; i < m.width_; ++i) {
      const Latency cell = latency(cells[i + 1], ofRow);
      if (cell.cycles != kImpossible) m.largest_ = std::max<unsigned>(m.largest_, cell.cycles);
      m.cells_[m.size_++] = cell;
    }
  }

  /// Enters `index` for all classes in `words`. `*` only fills classes without an entry.
  constexpr void addToAxis(LatencyMatrix::Axis& axis, std::string_view words, unsigned index) {
    forEachPart(words, ' ', [&](std::string_view word) {
      const std::size_t colon = word.find(':');
      const std::string_view name = word.substr(0, colon);
      const auto port = colon == std::string_view::npos ? 0u : indexOf(kPortNames, word.substr(colon + 1));
      if (!port) fail("unknown port in " + std::string(word));
      if (name == "*") {
        for (auto& ports : axis)
          if (ports[*port] == LatencyMatrix::kNone) ports[*port] = static_cast<std::uint8_t>(index);
        return;
      }
      const auto enter = [&](LatencyClass member) {
        axis[static_cast<unsigned>(member)][*port] = static_cast<std::uint8_t>(index);
      };
      if (const auto set = std::ranges::find(sets_, name, &Set::name); set != sets_.end())
        std::ranges::for_each(set->members, enter);
      else
        enter(classNamed(name));
    });
  }

  constexpr Latency latency(std::string_view cell, Evidence ofRow) const {
    if (cell == "-") return {kImpossible, ofRow};
    Evidence known = ofRow;
    if (!cell.empty() && (cell.back() < '0' || cell.back() > '9')) {
      known = cell.back() == 'o'   ? Evidence::Observed
              : cell.back() == 't' ? Evidence::Table
              : cell.back() == 'a' ? Evidence::Assumed
                                   : (fail("unknown evidence letter"), Evidence::Assumed);
      cell.remove_suffix(1);
    }
    const unsigned cycles = number(cell);
    if (cycles >= kImpossible) fail("a latency is below 255");
    return {static_cast<std::uint8_t>(cycles), known};
  }

  constexpr unsigned number(std::string_view text) const {
    unsigned value = 0;
    bool isNumber = !text.empty() && text.size() < 9;
    for (const char digit : text) {
      isNumber &= digit >= '0' && digit <= '9';
      value = value * 10 + static_cast<unsigned>(digit - '0');
    }
    if (!isNumber) fail("not a number: " + std::string(text));
    return value;
  }

  constexpr Evidence evidence(std::string_view word) const {
    if (word == "observed") return Evidence::Observed;
    if (word == "table") return Evidence::Table;
    if (word == "assumed") return Evidence::Assumed;
    fail("evidence is observed, table or assumed");
  }

  constexpr LatencyClass classNamed(std::string_view name) const {
    for (std::size_t at = placeOf(name); kClassAt[at] != kNoClass; at = (at + 1) % kHashed)
      if (kClassNames[kClassAt[at]] == name) return static_cast<LatencyClass>(kClassAt[at]);
    fail("no latency class " + std::string(name));
  }

  constexpr std::uint8_t queue(std::string_view name) {
    if (name.empty()) return 0;
    const auto known = std::ranges::find(queues_, name);
    const auto number = static_cast<std::uint8_t>(known - queues_.begin() + 1);
    if (known == queues_.end()) queues_.push_back(name);
    return number;
  }

  std::string_view text_;
  unsigned line_ = 0;
  Section section_ = Section::None;
  bool inHeader_ = false;
  LatencyTables tables_;
  LatencyMatrix* matrix_ = nullptr;
  struct Set {
    std::string_view name;
    std::vector<LatencyClass> members;
  };
  std::vector<Set> sets_;
  std::vector<std::string_view> queues_; ///< the first has number 1
};

std::uint8_t LatencyMatrix::indexOn(const Axis& axis, Access access) {
  const auto& ports = axis[static_cast<unsigned>(access.latencyClass)];
  const std::uint8_t exact = ports[static_cast<unsigned>(access.port)];
  return exact != kNone ? exact : ports[0];
}

Latency LatencyMatrix::at(Access first, Access second) const {
  if (empty()) return {1, Evidence::Assumed};
  const std::uint8_t row = indexOn(rows_, first);
  const std::uint8_t column = indexOn(columns_, second);
  if (row == kNone || column == kNone) return {static_cast<std::uint8_t>(largest_), Evidence::Assumed};
  const Latency cell = cells_[row * width_ + column];
  ORIAS_CHECK(cell.cycles != kImpossible, std::string("no such dependence: ") +
                                              std::string(nameOf(first.latencyClass)) + " to " +
                                              std::string(nameOf(second.latencyClass)));
  return cell;
}

LatencyTables LatencyTables::parse(std::string_view text) {
  return LatencyParser(text).run();
}

namespace {

constexpr LatencyTables tablesOf(std::string_view model) {
  return LatencyParser(std::ranges::find(kFiles, model, &LatencyFile::model)->text).run();
}
template <std::size_t index> constexpr LatencyTables kTables = tablesOf(kModelNames[index]);
template <std::size_t... indices> constexpr auto pointersToTables(std::index_sequence<indices...>) {
  return std::array{&kTables<indices>...};
}
constexpr auto kTablesOfModel = pointersToTables(std::make_index_sequence<kModelNames.size()>());

} // namespace

const LatencyTables& LatencyTables::ofModel(LatencyModel model) {
  return *kTablesOfModel[static_cast<unsigned>(model)];
}

// --- members of Target -----------------------------------------------------------------------------------------------

namespace {

const LatencyTables::ClassInfo& info(const LatencyTables& tables, LatencyClass latencyClass) {
  return tables.classes[static_cast<unsigned>(latencyClass)];
}

} // namespace

const LatencyTables& Target::latencies() const {
  return LatencyTables::ofModel(chip_.latencyModel);
}

bool Target::isScoreboarded(LatencyClass latencyClass) const {
  return info(latencies(), latencyClass).isVariable;
}

Latency Target::rawLatency(File file, Access writer, Access reader) const {
  if (isScoreboarded(writer.latencyClass)) return {static_cast<std::uint8_t>(scoreboardDelay()), Evidence::Observed};
  return latencies().raw[static_cast<unsigned>(file)].at(writer, reader);
}

Latency Target::wawLatency(File file, Access first, Access second) const {
  if (isScoreboarded(first.latencyClass)) return {static_cast<std::uint8_t>(scoreboardDelay()), Evidence::Observed};
  return latencies().waw[static_cast<unsigned>(file)].at(first, second);
}

Latency Target::warLatency(File file, Access reader, Access writer) const {
  return latencies().war[static_cast<unsigned>(file)].at(reader, writer);
}

unsigned Target::minStall(LatencyClass latencyClass) const {
  return info(latencies(), latencyClass).minStall;
}
unsigned Target::issueCycles(LatencyClass latencyClass) const {
  return info(latencies(), latencyClass).issueCycles;
}
unsigned Target::pipe(LatencyClass latencyClass) const {
  return info(latencies(), latencyClass).pipe;
}
unsigned Target::expectedLatency(LatencyClass latencyClass) const {
  return info(latencies(), latencyClass).expected;
}
unsigned Target::maxFixedLatency() const {
  return latencies().largestFixed;
}
unsigned Target::completionQueue(LatencyClass latencyClass) const {
  return info(latencies(), latencyClass).completionQueue;
}
unsigned Target::readQueue(LatencyClass latencyClass) const {
  return info(latencies(), latencyClass).readQueue;
}

} // namespace orias::isa
