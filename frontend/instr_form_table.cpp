#include "frontend/instr_form_table.h"

#include "frontend/row_parser.h"
#include "support/nearest.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace orias::ptx {

namespace {

std::string_view firstWord(std::string_view opcode) {
  return upTo(opcode, ".{");
}

/// A row of the table, parsed on demand.
class LazyRow {
 public:
  /// `only`: the only operation that begins with its first word; None if there are several.
  LazyRow(const Row& row, Op only) : row_(&row), op_(only != Op::None ? only : longestOperation(row.opcode).op) {}

  Op op() const { return op_; }
  std::string_view rowText() const { return row_->opcode; }

  /// The operation and its modifiers; operands may not be parsed yet.
  const RowSyntax& opcode() {
    if (step_ == Step::None) {
      syntax_ = parseRowOpcode(*row_, op_);
      step_ = Step::Opcode;
    }
    return syntax_;
  }

  const RowSyntax& whole() {
    opcode();
    if (step_ != Step::Whole) parseRowOperands(syntax_);
    step_ = Step::Whole;
    return syntax_;
  }

 private:
  enum class Step : std::uint8_t { None, Opcode, Whole };

  const Row* row_;
  Op op_;
  Step step_ = Step::None;
  RowSyntax syntax_;
};

/// The rows of the operations with one first word.
using RowList = std::vector<LazyRow>;

/// The words of an opcode after the operation.
struct OpcodeWords {
  std::vector<Word> words;
  std::vector<std::string_view> texts;
};

/// The match of a row with an opcode. The words may come in any order. Each takes the first free group that contains
/// it, so that words of one kind keep their order.
struct Match {
  std::vector<Word> byGroup;           ///< the word that each group of the row took
  std::optional<std::size_t> leftOver; ///< the first word that matched no group
  const ModGroup* missing = nullptr;   ///< a required group without a word

  bool complete() const { return !leftOver && !missing; }
};

/// Words of the same kind keep their order: types, shapes, and modifiers of one slot (flags have no order).
unsigned kindOf(Word word) {
  if (word.isType()) return kSlotCount;
  if (word.isShape()) return kSlotCount + 1;
  return static_cast<unsigned>(slotOf(word.mod()));
}

Match matchRow(const RowSyntax& row, const std::vector<Word>& words) {
  Match match;
  match.byGroup.resize(row.groups.size());
  std::array<std::size_t, kSlotCount + 2> next{}; // by kind: the first group that is still allowed
  for (std::size_t w = 0; w < words.size(); ++w) {
    const unsigned kind = kindOf(words[w]);
    std::size_t g = kind == static_cast<unsigned>(Slot::Flag) ? 0 : next[kind];
    while (g < row.groups.size() && !(match.byGroup[g].isUnknown() && row.groups[g].contains(words[w])))
      ++g;
    if (g < row.groups.size()) {
      match.byGroup[g] = words[w];
      next[kind] = g + 1;
    } else if (!match.leftOver) {
      match.leftOver = w;
    }
  }
  for (std::size_t g = 0; g < row.groups.size() && !match.missing; ++g)
    if (!row.groups[g].optional && match.byGroup[g].isUnknown()) match.missing = &row.groups[g];
  return match;
}

/// A modifier that older programs may omit.
struct Implied {
  Word word;
  bool onlyF32 = false;
};

bool isFloatFunction(Op op) {
  switch (op) {
  case Op::Div:
  case Op::Rcp:
  case Op::Sqrt:
  case Op::Rsqrt:
  case Op::Sin:
  case Op::Cos:
  case Op::Lg2:
  case Op::Ex2: return true;
  default: return false;
  }
}

/// As ptxas accepts older programs (tested), and as the manual specifies: f32 flushes subnormal numbers on targets
/// before sm_20, `mad` rounds to nearest, functions are approximate or rounded to nearest, and `wmma` is aligned.
std::vector<Implied> impliedWords(const Module& module, Op op) {
  std::vector<Implied> implied;
  if (module.target.arch.number != 0 && module.target.arch.number < 20) implied.push_back({Mod::Ftz, true});
  const bool isWmma = op == Op::WmmaLoad || op == Op::WmmaStore || op == Op::WmmaMma;
  if (isWmma && module.version < Version{6, 3}) implied.push_back({Mod::Aligned});
  const bool isOldest = module.version < Version{1, 4};
  if (isOldest && isFloatFunction(op)) implied.insert(implied.end(), {{Mod::Approx, true}, {Mod::Rn}});
  if (op == Op::Mad && module.version < Version{3, 2}) implied.push_back({Mod::Rn, !isOldest});
  return implied;
}

/// Fills groups that the opcode's words left empty.
void addImplied(const RowSyntax& row, const std::vector<Implied>& implied, Match& match) {
  const bool isF32 = std::ranges::find(match.byGroup, Word(Type::F32)) != match.byGroup.end();
  match.missing = nullptr;
  for (std::size_t g = 0; g < row.groups.size(); ++g) {
    Word& taken = match.byGroup[g];
    for (const Implied& candidate : implied)
      if (taken.isUnknown() && (isF32 || !candidate.onlyF32) && row.groups[g].contains(candidate.word))
        taken = candidate.word;
    if (!row.groups[g].optional && taken.isUnknown() && !match.missing) match.missing = &row.groups[g];
  }
}

/// ptxas regards these words as part of the operation's name: no modifier may precede them.
bool isPartOfName(Op op, Word word) {
  if (!word.isMod()) return false;
  switch (op) {
  case Op::Mul:
  case Op::Mad:
  case Op::Madc:
  case Op::Mul24:
  case Op::Mad24:
  case Op::Dp2a: return word.mod() == Mod::Lo || word.mod() == Mod::Hi || word.mod() == Mod::Wide;
  case Op::Cvta: return word.mod() == Mod::To;
  case Op::Shf:
  case Op::Suld:
  case Op::Sust:
  case Op::Sured:
  case Op::WmmaLoad:
  case Op::WmmaStore: return slotOf(word.mod()) == Slot::Part;
  default: return false;
  }
}

Form makeForm(const RowSyntax& row, const Match& match) {
  Form form;
  form.op = row.op;
  for (std::size_t g = 0; g < row.groups.size(); ++g) {
    const Word word = match.byGroup[g];
    if (word.isUnknown()) continue;
    if (word.isType()) {
      form.addType(word.type());
    } else if (word.isShape()) {
      form.shape = word.shape();
    } else {
      form.add(word.mod(), row.groups[g].slotGiven ? row.groups[g].slot : slotOf(word.mod()));
    }
  }
  return form;
}

Type doubled(Type type) {
  switch (type) {
  case Type::U16: return Type::U32;
  case Type::S16: return Type::S32;
  case Type::U32: return Type::U64;
  case Type::S32: return Type::S64;
  default: return type;
  }
}

/// The type of a matrix's elements. The types of an opcode are D A B C, without C in wgmma and without A and B (f16
/// then) in the first wmma.mma; a load or store has only one.
Type elementType(const Form& form, OperandSpec::Count which) {
  using Count = OperandSpec::Count;
  const bool isMultiply = form.op == Op::Mma || form.op == Op::WmmaMma || form.op == Op::WgmmaMmaAsync;
  if (!isMultiply || which == Count::FragmentD) return form.type(0);
  if (which == Count::FragmentC) return form.type(form.typeCount() == 2 ? 1 : 3);
  if (form.typeCount() == 2) return Type::F16;
  return form.type(which == Count::FragmentA ? 1 : 2);
}

/// The number of registers in the fragment of a matrix that each thread of a warp (of four for wgmma) holds: values
/// under 32 bits are packed.
unsigned fragmentSize(const Form& form, OperandSpec::Count which) {
  using Count = OperandSpec::Count;
  const MatrixShape s = form.shape;
  const bool isWmma = form.op == Op::WmmaLoad || form.op == Op::WmmaMma || form.op == Op::WmmaStore;
  const unsigned threads = form.op == Op::WgmmaMmaAsync ? 128 : 32;
  const Type type = elementType(form, which);
  unsigned elements = 0;
  if (which == Count::FragmentA) elements = s.m * s.k;
  if (which == Count::FragmentB) elements = s.k * s.n;
  if (which == Count::FragmentC || which == Count::FragmentD) elements = s.m * s.n;
  const bool isAccumulator = which == Count::FragmentC || which == Count::FragmentD;
  // wmma holds each value of an f16 matrix twice, and m8n8k4 of mma multiplies four matrices at once.
  if (isWmma && type == Type::F16 && !isAccumulator) return 8;
  if (form.op == Op::Mma && s == MatrixShape{8, 8, 4} && form.type(1) == Type::F16) elements *= 4;
  if (which == Count::FragmentA && form.get(Slot::Sparsity) != Mod::None) elements /= 2;
  // Each 6-bit or 4-bit float of the mixed kinds has a byte of its own.
  unsigned bits = bitWidth(type);
  const Mod kind = form.get(Slot::Kind);
  if (!isAccumulator && (kind == Mod::KindF8f6f4 || kind == Mod::KindMxf8f6f4)) bits = 8;
  const unsigned registerBits = bits == 64 ? 64 : 32;
  return std::max(1u, elements * bits / threads / registerBits);
}

/// Whether an operand is a fragment of a matrix.
bool isFragment(const OperandSpec& spec) {
  return spec.countFrom >= OperandSpec::Count::FragmentA;
}

/// The register type of a fragment: only its width is relevant.
Type fragmentType(const Form& form, OperandSpec::Count which) {
  return bitWidth(elementType(form, which)) == 64 ? Type::B64 : Type::B32;
}

unsigned countOf(const OperandSpec& spec, const Form& form) {
  using Count = OperandSpec::Count;
  switch (spec.countFrom) {
  case Count::Scalar: return 0;
  case Count::Any: return OperandSpec::kAnyCount;
  case Count::Fixed: return spec.count;
  case Count::VectorSlot: return form.vectorSize() == 1 ? 0 : form.vectorSize();
  case Count::CountSlot: {
    const Mod count = form.get(Slot::Count);
    if (count == Mod::None) return 0;
    return 1u << (static_cast<unsigned>(count) - static_cast<unsigned>(Mod::X1));
  }
  case Count::Geometry: {
    const Mod geometry = form.get(Slot::Geometry);
    if (geometry == Mod::Dim1d || geometry == Mod::Array1d) return 1;
    const bool isFlat =
        geometry == Mod::Dim2d || geometry == Mod::Array2d || geometry == Mod::Multi2d || geometry == Mod::ArrayMulti2d;
    return isFlat ? 2 : 4;
  }
  case Count::Im2col:
    // One for each dimension except the channels and the images; with ::w the start and the halo.
    if (form.get(Slot::LoadMode) != Mod::Im2col) return 2;
    return static_cast<unsigned>(form.get(Slot::Geometry)) - static_cast<unsigned>(Mod::Dim2d);
  case Count::OutputLanes: return form.has(Mod::CtaGroup1) ? 4 : 8;
  case Count::TensorMemory: {
    const unsigned columns = 1u << (static_cast<unsigned>(form.get(Slot::Count)) - static_cast<unsigned>(Mod::X1));
    const Mod shape = form.get(Slot::TmemShape);
    return columns * (shape == Mod::Shape16x128b ? 2 : shape == Mod::Shape16x256b ? 4 : 1);
  }
  default: return fragmentSize(form, spec.countFrom);
  }
}

std::vector<OperandPattern> makePatterns(const RowSyntax& row, const Form& form) {
  std::vector<OperandPattern> patterns;
  for (const OperandPattern& from : row.patterns) {
    OperandPattern& to = patterns.emplace_back();
    for (OperandSpec spec : from) {
      if (spec.onlyWith != Mod::None && !form.has(spec.onlyWith)) continue;
      if (spec.fixedType == Type::None && !spec.anyType) spec.fixedType = form.type(spec.typeIndex);
      if (isFragment(spec)) spec.fixedType = fragmentType(form, spec.countFrom);
      if (spec.wide) spec.fixedType = doubled(spec.fixedType);
      spec.count = static_cast<std::uint16_t>(countOf(spec, form));
      if (spec.spaceFrom == OperandSpec::SpaceFrom::First) spec.space = form.get(Slot::Space);
      if (spec.spaceFrom == OperandSpec::SpaceFrom::Second) spec.space = form.get(Slot::Space2);
      to.push_back(std::move(spec));
    }
  }
  return patterns;
}

std::string wordList(const ModGroup& group) {
  std::string list;
  for (std::size_t i = 0; i < group.words.size() && i < 12; ++i)
    list += (i ? ", ." : ".") + wordText(group.words[i]);
  if (group.words.size() > 12) list += ", …";
  return list;
}

/// The table's rows by the first word of their operation. They are parsed on demand and kept, because a compilation
/// makes several tables of forms.
class ParsedRows {
 public:
  static ParsedRows& all() {
    static ParsedRows rows;
    return rows;
  }

  /// Must be held while the rows are used.
  std::mutex& lock() { return lock_; }

  /// The reference remains valid.
  RowList& of(std::string_view word) {
    if (const auto known = parsed_.find(word); known != parsed_.end()) return known->second;
    RowList list;
    const Op only = onlyOperation(word);
    for (const Row* row : rows_[letterOf(word.empty() ? '\0' : word.front())])
      if (beginsWith(row->opcode, word)) list.emplace_back(*row, only);
    static RowList none;
    if (list.empty()) return none; // not a word of the table: not kept
    return parsed_.emplace(firstWord(list.front().rowText()), std::move(list)).first->second;
  }

 private:
  ParsedRows() {
    for (std::span<const Row> family : instructionTable())
      for (const Row& row : family)
        rows_[letterOf(row.opcode[0])].push_back(&row);
  }

  static unsigned letterOf(char c) { return static_cast<unsigned char>(c) & 31u; }

  /// Whether the opcode begins with the word.
  static bool beginsWith(const char* opcode, std::string_view word) {
    for (const char c : word)
      if (*opcode++ != c) return false;
    return *opcode == '\0' || *opcode == '.' || *opcode == '{';
  }

  std::array<std::vector<const Row*>, 32> rows_; ///< by their first letter, in the table's order
  std::mutex lock_;
  std::map<std::string_view, RowList> parsed_;
};

class FormBuilder {
 public:
  explicit FormBuilder(const Module& module)
      : module_(module), words_(module.names.size()), known_(module.names.size()), guard_(ParsedRows::all().lock()) {}

  FormTable::Entry build(const Opcode& opcode) {
    FormTable::Entry entry;
    const std::string_view text = module_.text(opcode.text);
    const std::vector<OpPrefix> ops = operationsOf(text);
    if (ops.empty()) {
      unknownOperation(text, entry);
      return entry;
    }
    const OpcodeWords all = wordsOf(opcode);
    for (std::size_t i = 0; i < all.words.size(); ++i) {
      // A word of the operation's own name need not be a modifier.
      if (!all.words[i].isUnknown() || wordEnd(text, i) <= ops.front().length) continue;
      entry.problem = "Unknown modifier '." + std::string(all.texts[i]) + "'";
      return entry;
    }
    for (const OpPrefix& prefix : ops)
      if (matchOperation(prefix, text, all, entry)) return entry;
    explain(ops.front(), text, all, entry);
    return entry;
  }

 private:
  Word wordOf(NameId name) {
    const std::uint32_t i = index(name);
    if (!known_[i]) {
      known_[i] = true;
      words_[i] = wordFromText(module_.text(name));
    }
    return words_[i];
  }

  OpcodeWords wordsOf(const Opcode& opcode) {
    OpcodeWords all;
    for (NameId name : opcode.modifiers) {
      all.words.push_back(wordOf(name));
      all.texts.push_back(module_.text(name));
    }
    return all;
  }

  /// The end of the i-th word after the first in the text.
  static std::size_t wordEnd(std::string_view text, std::size_t i) {
    std::size_t at = text.find('.');
    for (; i > 0 && at != std::string_view::npos; --i)
      at = text.find('.', at + 1);
    return at == std::string_view::npos ? text.size() : std::min(text.find('.', at + 1), text.size());
  }

  /// The words that do not belong to the operation's name.
  static OpcodeWords afterOperation(const OpPrefix& prefix, std::string_view text, const OpcodeWords& all) {
    const auto dots = static_cast<std::ptrdiff_t>(std::count(text.begin(), text.begin() + prefix.length, '.'));
    return {{all.words.begin() + dots, all.words.end()}, {all.texts.begin() + dots, all.texts.end()}};
  }

  static RowList& rowsOf(std::string_view text) { return ParsedRows::all().of(firstWord(text)); }

  bool matchOperation(const OpPrefix& prefix, std::string_view text, const OpcodeWords& all, FormTable::Entry& entry) {
    const std::vector<Word> words = afterOperation(prefix, text, all).words;
    for (std::size_t i = 1; i < words.size(); ++i)
      if (isPartOfName(prefix.op, words[i])) return false;
    const std::vector<Implied> implied = impliedWords(module_, prefix.op);
    for (LazyRow& candidate : rowsOf(text)) {
      if (candidate.op() != prefix.op) continue;
      Match match = matchRow(candidate.opcode(), words);
      if (!implied.empty()) addImplied(candidate.opcode(), implied, match);
      if (!match.complete()) continue;
      const RowSyntax& row = candidate.whole();
      entry.form = makeForm(row, match);
      entry.row = row.row;
      entry.patterns = makePatterns(row, entry.form);
      setSince(row, match, entry);
      return true;
    }
    return false;
  }

  /// The row's requirements, raised to those of its modifiers.
  static void setSince(const RowSyntax& row, const Match& match, FormTable::Entry& entry) {
    entry.since = row.since;
    entry.patternSince = row.patternSince;
    for (Word word : match.byGroup) {
      if (word.isUnknown()) continue;
      const Since needs = wordSince(row.op, word);
      if (needs.version <= entry.since.version && needs.sm <= entry.since.sm) continue;
      entry.since.version = std::max(entry.since.version, needs.version);
      entry.since.sm = std::max(entry.since.sm, needs.sm);
      entry.sinceWhat = wordText(word);
    }
  }

  void unknownOperation(std::string_view text, FormTable::Entry& entry) const {
    const std::string_view base = firstWord(text);
    entry.problem = "Not a name of any known instruction: '" + std::string(base) + "'";
    if (!rowsOf(text).empty()) {
      entry.problem = "Not a name of any known instruction: '" + std::string(text) + "'";
      return;
    }
    NearestName nearest(base);
    std::set<std::string_view> names; // the first of equally near names is suggested
    for (std::span<const Row> family : instructionTable())
      for (const Row& row : family)
        names.insert(firstWord(row.opcode));
    for (const std::string_view name : names)
      nearest.offer(name);
    if (!nearest.best().empty()) entry.hint = "did you mean '" + std::string(nearest.best()) + "'?";
  }

  /// Reports the mismatch with the nearest row.
  void explain(const OpPrefix& prefix, std::string_view text, const OpcodeWords& all, FormTable::Entry& entry) {
    const OpcodeWords mine = afterOperation(prefix, text, all);
    const std::string name(opName(prefix.op));
    for (std::size_t i = 1; i < mine.words.size(); ++i) {
      if (!isPartOfName(prefix.op, mine.words[i])) continue;
      entry.problem = "Misplaced modifier '." + std::string(mine.texts[i]) + "' for instruction '" + name + "'";
      entry.hint = "it belongs directly after '" + name + "'";
      return;
    }
    const RowSyntax* best = nullptr;
    Match bestMatch;
    std::size_t bestScore = 0;
    for (LazyRow& candidate : rowsOf(text)) {
      if (candidate.op() != prefix.op) continue;
      const RowSyntax& row = candidate.opcode();
      Match match = matchRow(row, mine.words);
      std::size_t taken = 1;
      for (Word word : match.byGroup)
        taken += word.isUnknown() ? 0 : 2;
      if (!match.missing) ++taken;
      if (taken <= bestScore) continue;
      bestScore = taken;
      best = &row;
      bestMatch = std::move(match);
    }
    if (!best) {
      entry.problem = "Not a name of any known instruction: '" + std::string(text) + "'";
      return;
    }
    entry.hint = std::string("the nearest form is ") + best->row->opcode;
    if (bestMatch.leftOver) {
      const std::size_t at = *bestMatch.leftOver;
      if (mine.words[at].isType()) {
        entry.problem = "Unexpected instruction types specified for '" + name + "'";
      } else {
        entry.problem = "Illegal modifier '." + std::string(mine.texts[at]) + "' for instruction '" + name + "'";
      }
    } else if (bestMatch.missing->words.front().isType()) {
      entry.problem =
          "Unexpected instruction types specified for '" + name + "': " + wordList(*bestMatch.missing) + " expected";
    } else {
      entry.problem = "Instruction '" + name + "' requires the modifier " + wordList(*bestMatch.missing);
    }
  }

  const Module& module_;
  std::vector<Word> words_; ///< of Module::names, as far as known
  std::vector<bool> known_;
  std::lock_guard<std::mutex> guard_; ///< of the rows
};

} // namespace

void FormTable::extend(const Module& module) {
  if (entries_.size() == module.opcodes.size()) return;
  FormBuilder builder(module);
  while (entries_.size() < module.opcodes.size())
    entries_.push_back(builder.build(module.opcodes[entries_.size()]));
}

} // namespace orias::ptx
