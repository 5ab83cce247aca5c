#include "frontend/instr_syntax.h"

#include "frontend/instr_groups.h"
#include "frontend/row_parser.h"
#include "support/check.h"
#include "support/hash.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace orias::ptx {

namespace {

// --- words
// -------------------------------------------------------------------------------------------------------------------

struct ModInfo {
  std::string_view text;
  Mod mod = Mod::None;
  Slot slot = Slot::Flag;
};

constexpr auto kModInfos = [] {
  auto infos = std::to_array<ModInfo>({
#define PTX_MOD(name, text, slot) {text, Mod::name, Slot::slot},
#include "frontend/instr_modifiers.def"
  });
  std::sort(infos.begin(), infos.end(), [](const ModInfo& a, const ModInfo& b) { return a.text < b.text; });
  return infos;
}();

constexpr auto kSlots = [] {
  std::array<Slot, kModCount> slots{};
  for (const ModInfo& info : kModInfos)
    slots[static_cast<std::size_t>(info.mod)] = info.slot;
  return slots;
}();

constexpr std::size_t hashOf(std::string_view text) {
  const std::uint32_t hash = fnv1a(text);
  return hash ^ hash >> 15;
}

/// The index of a modifier in kModInfos, plus 1: an open-addressing hash table. The rows of the table and all programs
/// look up hundreds of them.
constexpr auto kModPlaces = [] {
  std::array<std::uint16_t, 2048> places{};
  static_assert(2 * kModInfos.size() < 2048);
  for (std::size_t i = 0; i < kModInfos.size(); ++i) {
    std::size_t at = hashOf(kModInfos[i].text) % places.size();
    while (places[at] != 0)
      at = (at + 1) % places.size();
    places[at] = static_cast<std::uint16_t>(i + 1);
  }
  return places;
}();

const ModInfo* findMod(std::string_view text) {
  for (std::size_t at = hashOf(text) % kModPlaces.size(); kModPlaces[at] != 0; at = (at + 1) % kModPlaces.size())
    if (const ModInfo& info = kModInfos[kModPlaces[at] - 1u]; info.text == text) return &info;
  return nullptr;
}

struct OpInfo {
  std::string_view text;
  Op op = Op::None;
};

constexpr auto kOpInfos = [] {
  auto infos = std::to_array<OpInfo>({
#define PTX_OP(name, text) {text, Op::name},
#define PTX_ALIAS(name, text) {text, Op::name},
#include "frontend/instr_ops.def"
  });
  std::sort(infos.begin(), infos.end(), [](const OpInfo& a, const OpInfo& b) { return a.text < b.text; });
  return infos;
}();

/// `m16n8k16`, `m8n8`, and in the table `m64nNk16` (n = 0: any multiple of 8) and `m64nMk16` (n = 1: see
/// ModGroup::contains).
bool parseShape(std::string_view text, MatrixShape& shape) {
  auto number = [&](char letter, std::uint16_t& value) {
    if (text.empty() || text.front() != letter) return false;
    text.remove_prefix(1);
    if (letter == 'n' && (text.starts_with('N') || text.starts_with('M'))) {
      value = text.front() == 'N' ? 0 : 1;
      text.remove_prefix(1);
      return true;
    }
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value > 1023) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  if (!number('m', shape.m) || !number('n', shape.n)) return false;
  return text.empty() || (number('k', shape.k) && text.empty());
}

// --- the notation of the rows
// ------------------------------------------------------------------------------------------------

/// Reads one row from left to right.
class RowParser {
 public:
  explicit RowParser(const Row& row) : row_(row) {}

  RowSyntax parseOpcode(Op op) const {
    RowSyntax syntax;
    syntax.row = &row_;
    require(op != Op::None, "no operation");
    syntax.op = op;
    parseGroups(std::string_view(row_.opcode).substr(opName(op).size()), syntax.groups);
    return syntax;
  }

  void parseOperands(RowSyntax& syntax) const {
    for (const std::string_view operands : alternatives(row_.operands))
      syntax.patterns.push_back(parsePattern(operands));
    const std::vector<std::string_view> sinces = alternatives(row_.since);
    if (sinces.size() == 1) {
      syntax.since = parseSince(sinces.front());
      return;
    }
    require(sinces.size() == syntax.patterns.size(), "not one version and target for each alternative");
    for (const std::string_view since : sinces)
      syntax.patternSince.push_back(parseSince(since));
  }

  static Since parseSince(std::string_view text) {
    Since since;
    if (text.empty()) return since;
    since.version.major = static_cast<std::uint8_t>(text[0] - '0');
    since.version.minor = static_cast<std::uint8_t>(text[2] - '0');
    text.remove_prefix(3);
    while (!text.empty()) {
      ORIAS_CHECK(text.starts_with(" sm_"), std::string(text));
      text.remove_prefix(4);
      Arch arch;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), arch.number);
      ORIAS_CHECK(error == std::errc());
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      if (!text.empty() && text.front() != ' ') {
        arch.suffix = text.front();
        text.remove_prefix(1);
        since.only.push_back(arch);
      } else {
        since.sm = arch.number;
      }
    }
    return since;
  }

 private:
  void require(bool condition, const char* what) const {
    ORIAS_CHECK(condition, std::string(what) + " in the instruction table: " + row_.opcode + " | " + row_.operands);
  }

  void parseGroups(std::string_view text, std::vector<ModGroup>& groups) const {
    while (!text.empty()) {
      ModGroup group;
      group.optional = text.front() == '{';
      if (group.optional) text.remove_prefix(1);
      require(text.starts_with('.'), "expected '.'");
      text.remove_prefix(1);
      std::size_t end;
      if (text.starts_with('(')) {
        end = text.find(')');
        require(end != std::string_view::npos, "expected ')'");
        addWords(text.substr(1, end - 1), group);
        ++end;
      } else {
        const std::string_view word = upTo(text, ".{}");
        end = word.size();
        if (const NamedGroup* named = isGroupName(word) ? findGroup(word) : nullptr) {
          addWords(named->words, group);
          group.slot = named->slot;
          group.slotGiven = named->slot != Slot::Flag;
        } else {
          addWords(word, group);
        }
      }
      text.remove_prefix(end);
      if (group.optional) {
        require(text.starts_with('}'), "expected '}'");
        text.remove_prefix(1);
      }
      groups.push_back(std::move(group));
    }
  }

  static bool isGroupName(std::string_view word) {
    return word.size() >= 2 && word[0] >= 'A' && word[0] <= 'Z' && word[1] >= 'A' && word[1] <= 'Z';
  }

  void addWords(std::string_view words, ModGroup& group) const {
    while (!words.empty()) {
      const std::string_view text = upTo(words, "|");
      const std::size_t end = text.size();
      const Word word = wordFromText(text);
      require(!word.isUnknown(), "unknown modifier");
      group.words.push_back(word);
      words.remove_prefix(std::min(end + 1, words.size()));
    }
  }

  static std::vector<std::string_view> alternatives(std::string_view text) {
    constexpr std::string_view kBetween = " / ";
    std::vector<std::string_view> parts;
    while (true) {
      const std::size_t end = text.find(kBetween);
      parts.push_back(text.substr(0, end));
      if (end == std::string_view::npos) return parts;
      text.remove_prefix(end + kBetween.size());
    }
  }

  OperandPattern parsePattern(std::string_view text) const {
    OperandPattern pattern;
    if (text == "-") return pattern;
    while (!text.empty()) {
      std::size_t end = std::min(text.find(','), text.size());
      pattern.push_back(parseOperand(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
      while (text.starts_with(' '))
        text.remove_prefix(1);
    }
    return pattern;
  }

  OperandSpec parseOperand(std::string_view text) const {
    OperandSpec spec;
    text = parseSigils(text, spec);
    if (text.starts_with('[')) {
      spec.want = Want::Address;
      const std::size_t end = text.find(']');
      require(end != std::string_view::npos, "expected ']'");
      std::string_view inside = text.substr(1, end - 1);
      text.remove_prefix(end + 1);
      const std::size_t colon = inside.find(':');
      spec.name = inside.substr(0, colon);
      if (colon != std::string_view::npos) setSpace(inside.substr(colon + 1), spec);
    } else {
      spec.name = upTo(text, ":*(@|{");
      text.remove_prefix(spec.name.size());
      setWant(spec);
    }
    while (!text.empty())
      text = parseSuffix(text, spec);
    return spec;
  }

  static std::string_view parseSigils(std::string_view text, OperandSpec& spec) {
    if (text == "_") {
      spec.onlySink = true;
      return text;
    }
    while (!text.empty()) {
      switch (text.front()) {
      case '_': spec.sink = true; break;
      case '=': spec.dest = true; break;
      case '~': spec.relaxed = true; break;
      case '$': spec.registerOnly = true; break;
      case '#': spec.constantOnly = true; break;
      case '!': spec.negatable = true; break;
      case '%': spec.special = true; break;
      case '&': spec.symbol = true; break;
      case '^': spec.selector = true; break;
      case '?': spec.optional = true; break;
      case '-': spec.minus = true; break;
      default: return text;
      }
      text.remove_prefix(1);
    }
    return text;
  }

  static void setWant(OperandSpec& spec) {
    static constexpr std::pair<std::string_view, Want> kWords[] = {
        {"LABEL", Want::Label},     {"CALL", Want::Call},     {"TARGETS", Want::Targets}, {"TEXTURE", Want::Texture},
        {"SURFACE", Want::Surface}, {"TEXREF", Want::TexRef}, {"SURFREF", Want::SurfRef}, {"TENSOR", Want::Tensor},
    };
    for (const auto& [word, want] : kWords)
      if (spec.name == word) spec.want = want;
  }

  /// `:type`, `*count`, `(range)`, `@modifier`, `|q`, `{|q}`.
  std::string_view parseSuffix(std::string_view text, OperandSpec& spec) const {
    const char kind = text.front();
    text.remove_prefix(1);
    if (kind == '{') {
      spec.want = Want::Pair;
      spec.pairOptional = true;
      require(text.starts_with('|') && text.find('}') != std::string_view::npos, "expected '|q}'");
      return text.substr(text.find('}') + 1);
    }
    if (kind == '(') {
      const std::size_t end = text.find(')');
      require(end != std::string_view::npos, "expected ')'");
      setRange(text.substr(0, end), spec);
      return text.substr(end + 1);
    }
    // A modifier's name itself contains colons.
    const std::string_view word = kind == '@' ? text : upTo(text, ":*(@|{");
    if (kind == ':') {
      setType(word, spec);
    } else if (kind == '*') {
      setCount(word, spec);
    } else if (kind == '@') {
      const Word modifier = wordFromText(word);
      require(modifier.isMod(), "expected a modifier");
      spec.onlyWith = modifier.mod();
    } else if (kind == '|') {
      spec.want = Want::Pair;
    } else {
      require(false, "unexpected character");
    }
    return text.substr(word.size());
  }

  void setSpace(std::string_view word, OperandSpec& spec) const {
    if (word == "2") {
      spec.spaceFrom = OperandSpec::SpaceFrom::Second;
      return;
    }
    if (word == "tensor") {
      spec.spaceFrom = OperandSpec::SpaceFrom::TensorMemory;
      return;
    }
    spec.spaceFrom = OperandSpec::SpaceFrom::Fixed;
    if (word == "generic") return;
    const Word space = wordFromText(word);
    require(space.isMod() && Form::stateSpaceOf(space.mod()) != StateSpace::None, "expected a state space");
    spec.space = space.mod();
  }

  void setType(std::string_view word, OperandSpec& spec) const {
    if (word == "V") {
      spec.anyType = true;
    } else if (word == "W") {
      spec.wide = true;
    } else if (word == "T2" || word == "T3" || word == "T4") {
      spec.typeIndex = static_cast<std::uint8_t>(word[1] - '1');
    } else {
      const std::optional<Type> type = typeFromName(word);
      require(type.has_value(), "unknown type");
      spec.fixedType = *type;
    }
  }

  void setCount(std::string_view word, OperandSpec& spec) const {
    using Count = OperandSpec::Count;
    static constexpr std::pair<char, Count> kLetters[] = {
        {'V', Count::VectorSlot}, {'X', Count::CountSlot}, {'M', Count::TensorMemory}, {'N', Count::Any},
        {'G', Count::Geometry},   {'I', Count::Im2col},    {'L', Count::OutputLanes},  {'A', Count::FragmentA},
        {'B', Count::FragmentB},  {'C', Count::FragmentC}, {'D', Count::FragmentD},
    };
    require(!word.empty(), "expected a count");
    for (auto [letter, count] : kLetters)
      if (word[0] == letter) spec.countFrom = count;
    if (spec.countFrom != Count::Scalar) return;
    spec.countFrom = Count::Fixed;
    spec.count = static_cast<std::uint16_t>(number(word));
  }

  void setRange(std::string_view text, OperandSpec& spec) const {
    spec.bounded = true;
    if (const std::size_t dots = text.find(".."); dots != std::string_view::npos) {
      spec.low = number(text.substr(0, dots));
      text.remove_prefix(dots + 2);
      const std::size_t slash = text.find('/');
      spec.high = number(text.substr(0, slash));
      if (slash != std::string_view::npos) spec.step = number(text.substr(slash + 1));
      return;
    }
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('|'), text.size());
      spec.values.push_back(number(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::int64_t number(std::string_view text) const {
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    require(error == std::errc() && end == text.data() + text.size(), "expected a number");
    return value;
  }

  const Row& row_;
};

} // namespace

Word wordFromText(std::string_view text) {
  if (const ModInfo* mod = findMod(text)) return mod->mod;
  if (std::optional<Type> type = typeFromName(text)) return *type;
  MatrixShape shape;
  if (text.starts_with('m') && parseShape(text, shape)) return shape;
  return {};
}

std::string wordText(Word word) {
  if (word.isMod()) return std::string(modName(word.mod()));
  if (word.isType()) return std::string(typeName(word.type()));
  if (!word.isShape()) return {};
  const MatrixShape s = word.shape();
  std::string text = "m" + std::to_string(s.m) + "n" + (s.n == 0 ? "N" : s.n == 1 ? "M" : std::to_string(s.n));
  if (s.k) text += "k" + std::to_string(s.k);
  return text;
}

Slot slotOf(Mod mod) {
  return kSlots[static_cast<std::size_t>(mod)];
}

bool ModGroup::contains(Word word) const {
  for (Word mine : words) {
    if (mine == word) return true;
    if (!word.isShape() || !mine.isShape() || mine.shape().n > 1) continue;
    // Integer wgmma has only some of the widths: 8, 24 and the multiples of 16.
    if (mine.shape().n == 1 && word.shape().n % 16 != 0 && word.shape().n != 8 && word.shape().n != 24) continue;
    const MatrixShape s = word.shape();
    if (s.m == mine.shape().m && s.k == mine.shape().k && s.n % 8 == 0 && s.n >= 8 && s.n <= 256) return true;
  }
  return false;
}

namespace {

/// Calls `take` for each operation that an opcode begins with, shortest first.
void forEachOperation(std::string_view text, auto&& take) {
  const std::string_view base = upTo(text, ".{");
  auto at = std::lower_bound(kOpInfos.begin(), kOpInfos.end(), base,
                             [](const OpInfo& info, std::string_view t) { return info.text < t; });
  for (; at != kOpInfos.end() && at->text.starts_with(base); ++at) {
    const std::size_t size = at->text.size();
    if (text.starts_with(at->text) && (text.size() == size || text[size] == '.' || text[size] == '{'))
      take(OpPrefix{at->op, size});
  }
}

} // namespace

std::vector<OpPrefix> operationsOf(std::string_view text) {
  std::vector<OpPrefix> found;
  forEachOperation(text, [&](OpPrefix operation) { found.push_back(operation); });
  std::reverse(found.begin(), found.end());
  return found;
}

OpPrefix longestOperation(std::string_view text) {
  OpPrefix longest;
  forEachOperation(text, [&](OpPrefix operation) { longest = operation; });
  return longest;
}

Op onlyOperation(std::string_view word) {
  Op only = Op::None;
  auto at = std::lower_bound(kOpInfos.begin(), kOpInfos.end(), word,
                             [](const OpInfo& info, std::string_view t) { return info.text < t; });
  for (; at != kOpInfos.end() && at->text.starts_with(word); ++at) {
    if (at->text.size() != word.size() && at->text[word.size()] != '.') continue;
    if (only != Op::None) return Op::None;
    only = at->op;
  }
  return only;
}

RowSyntax parseRow(const Row& row) {
  RowSyntax syntax = parseRowOpcode(row, longestOperation(row.opcode).op);
  parseRowOperands(syntax);
  return syntax;
}

RowSyntax parseRowOpcode(const Row& row, Op op) {
  return RowParser(row).parseOpcode(op);
}

void parseRowOperands(RowSyntax& syntax) {
  RowParser(*syntax.row).parseOperands(syntax);
}

Since wordSince(Op op, Word word) {
  return RowParser::parseSince(sinceOf(op, wordText(word)));
}

} // namespace orias::ptx
