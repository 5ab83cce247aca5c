// Prints an example of every form in the PTX instruction table, one statement a line, with the lowest target and
// version:
//   sm_53 4.2 <tab> add.sat.f16 %h1, %h2, %h3;
// Each row is shown with each of its modifiers once. ptx_table.py gives them to ptxas, which must accept them all. With
// the statement's preamble as argument (test/unit/frontend/instr_preamble.ptx), what orias' own checks refuse is left
// out: rules between modifiers that the table does not have, such as cvt.sat between types that need none.

#include "frontend/check_instr.h"
#include "frontend/instr_form_table.h"
#include "frontend/parse.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

using namespace orias;
using namespace orias::ptx;

namespace {

/// Makes up operands; the registers are those of the preamble.
class OperandWriter {
 public:
  explicit OperandWriter(const Form& form) : form_(form) {}

  std::string write(const OperandSpec& spec) {
    switch (spec.want) {
    case Want::Pair: {
      const std::string first = spec.count ? vectorOf(spec.count, spec.fixedType) : registerOf(spec.fixedType);
      return spec.pairOptional ? first : first + "|%p1";
    }
    case Want::Address: return address(spec);
    case Want::Label: return "L1";
    case Want::Targets: return "TL";
    case Want::Call: return "fn0";
    case Want::Texture: return "[tx, " + vectorOf(textureCoordinates(), Type::B32) + "]";
    case Want::Surface: return "[sf, " + vectorOf(textureCoordinates(), Type::B32) + "]";
    case Want::TexRef: return "[%d1]"; // the attributes of samplers need a sampler, which the preamble does not have
    case Want::SurfRef: return "[sf]";
    case Want::Tensor: return "[%d1, " + vectorOf(tensorCoordinates(), Type::B32) + "]";
    case Want::Value: return value(spec);
    }
    return {};
  }

 private:
  std::string registerOf(Type type) {
    const unsigned n = next_++;
    const unsigned bits = bitWidth(type);
    const std::string few = std::to_string(n % 8 + 1);
    if (type == Type::Pred) return "%p" + few;
    if (bits <= 8) return "%c" + few;
    if (bits <= 16) return "%h" + std::to_string(n % 130);
    if (bits <= 32) return "%r" + std::to_string(n % 130);
    return bits <= 64 ? "%d" + std::to_string(n % 130) : "%q" + few;
  }

  std::string vectorOf(unsigned count, Type type) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", " : "") + registerOf(type);
    return text + "}";
  }

  std::string address(const OperandSpec& spec) const {
    if (spec.spaceFrom == OperandSpec::SpaceFrom::TensorMemory) return "[%r1]";
    switch (Form::stateSpaceOf(spec.space)) {
    case StateSpace::Const: return "[cbuf]";
    case StateSpace::Param: return form_.op == Op::St ? "[callparam]" : "[tm]";
    case StateSpace::Shared: return "[%r1]";
    default: return "[%d1]";
    }
  }

  std::string value(const OperandSpec& spec) {
    if (spec.onlySink) return "_";
    if (spec.constantOnly) {
      if (!spec.values.empty()) return std::to_string(spec.values.front());
      return std::to_string(spec.bounded ? spec.low : 1);
    }
    if (spec.count == 0) return registerOf(spec.anyType ? Type::B32 : spec.fixedType);
    return vectorOf(spec.count == OperandSpec::kAnyCount ? 2 : spec.count, spec.fixedType);
  }

  unsigned tensorCoordinates() const {
    const Mod mode = form_.get(Slot::LoadMode);
    if (mode == Mod::TileGather4 || mode == Mod::TileScatter4) return 5;
    return static_cast<unsigned>(form_.get(Slot::Geometry)) - static_cast<unsigned>(Mod::Dim1d) + 1;
  }

  unsigned textureCoordinates() const {
    switch (form_.get(Slot::Geometry)) {
    case Mod::Dim1d: return 1;
    case Mod::Dim2d:
    case Mod::Array1d: return 2;
    default: return 4;
    }
  }

  const Form& form_;
  unsigned next_ = 1;
};

class ExamplePrinter {
 public:
  explicit ExamplePrinter(std::string preamble) : preamble_(std::move(preamble)) {}

  /// All patterns of operands of an opcode, with and without those that may be missing.
  void print(const std::string& opcodeText) {
    if (!seen_.insert(opcodeText).second) return;
    Module module;
    Opcode opcode;
    opcode.text = module.names.intern(opcodeText);
    std::vector<NameId> words;
    std::istringstream text(opcodeText);
    for (std::string word; std::getline(text, word, '.');)
      words.push_back(module.names.intern(word));
    opcode.base = words.front();
    opcode.modifiers = module.arena.copyArray(std::span<const NameId>(words).subspan(1));
    module.opcodes.push_back(opcode);
    const FormTable table(module);
    const FormTable::Entry& entry = table.entry(OpcodeId(0));
    if (!entry.row) {
      std::printf("# a row that its own opcode does not match: %s\n", opcodeText.c_str());
      return;
    }
    for (const OperandPattern& pattern : entry.patterns) {
      printOperands(opcodeText, entry, pattern, false);
      for (const OperandSpec& spec : pattern)
        if (spec.optional) {
          printOperands(opcodeText, entry, pattern, true);
          break;
        }
    }
  }

  /// Prints what has been collected.
  void flush() {
    const std::set<std::size_t> refused = refusedByOrias();
    for (std::size_t i = 0; i < pending_.size(); ++i)
      if (!refused.contains(i)) std::printf("%s\t%s\n", pending_[i].needs.c_str(), pending_[i].statement.c_str());
    pending_.clear();
  }

 private:
  void printOperands(const std::string& opcodeText, const FormTable::Entry& entry, const OperandPattern& pattern,
                     bool withOptional) {
    OperandWriter writer(entry.form);
    std::string statement = opcodeText;
    bool isFirst = true;
    for (const OperandSpec& spec : pattern) {
      if (spec.optional && !withOptional) continue;
      statement += (isFirst ? " " : ", ") + writer.write(spec);
      isFirst = false;
    }
    statement += ";";
    const Since& since = entry.since;
    std::string target = "sm_" + std::to_string(since.only.empty() ? since.sm : since.only.front().number);
    if (!since.only.empty()) target += since.only.front().suffix;
    pending_.push_back({target + " " + std::to_string(since.version.major) + "." + std::to_string(since.version.minor),
                        std::move(statement)});
    if (pending_.size() == kBatch) flush();
  }

  struct Example {
    std::string needs;
    std::string statement;
  };

  /// Lines of the statements that orias' own checks refuse, counted from 0.
  std::set<std::size_t> refusedByOrias() const {
    std::set<std::size_t> lines;
    if (preamble_.empty()) return lines;
    std::string text = preamble_;
    for (const Example& example : pending_)
      text += example.statement + "\n";
    text += "L1: ret;\n}\n";
    Diagnostics diags("examples", text);
    const auto module = parse(text, diags);
    checkInstructions(*module, {}, diags);
    const auto first = static_cast<std::uint32_t>(std::count(preamble_.begin(), preamble_.end(), '\n')) + 1;
    for (const Diagnostic& d : diags.all()) {
      // A target that is too low is no fault of the example: ptx_table.py gives each the one that it needs.
      const bool isTarget =
          d.message.starts_with("Feature '") || d.message.find("not supported on .target '") != std::string::npos;
      if (d.severity == Severity::Error && !isTarget) lines.insert(d.loc.line - first);
    }
    return lines;
  }

  /// Small enough for Diagnostics::kMaxErrors.
  static constexpr std::size_t kBatch = 50;
  std::vector<Example> pending_;
  std::string preamble_;
  std::set<std::string> seen_;
};

std::string opcodeText(Op op, const std::vector<Word>& words) {
  std::string text(opName(op));
  for (Word word : words)
    if (!word.isUnknown()) text += "." + wordText(word);
  return text;
}

/// A shape with any width is shown with one.
Word withWidth(Word word, std::uint16_t width) {
  if (word.isShape() && word.shape().n <= 1) return MatrixShape{word.shape().m, width, word.shape().k};
  return word;
}

} // namespace

int main(int argc, char** argv) {
  std::string preamble;
  if (argc > 1) {
    std::stringstream text;
    text << std::ifstream(argv[1]).rdbuf();
    preamble = text.str();
    for (const auto& [mark, with] : {std::pair{"@VERSION@", "9.0"}, {"@TARGET@", "sm_90a"}, {"@WIDE@", ""}})
      preamble.replace(preamble.find(mark), std::string_view(mark).size(), with);
  }
  ExamplePrinter printer(preamble);
  for (std::span<const Row> family : instructionTable())
    for (const Row& source : family) {
      const RowSyntax row = parseRow(source);
      std::vector<Word> base;
      for (const ModGroup& group : row.groups)
        base.push_back(group.optional ? Word() : withWidth(group.words.front(), 8));
      printer.print(opcodeText(row.op, base));
      for (std::size_t g = 0; g < row.groups.size(); ++g)
        for (Word word : row.groups[g].words) {
          std::vector<Word> words = base;
          words[g] = withWidth(word, 16);
          printer.print(opcodeText(row.op, words));
        }
    }
  printer.flush();
  return 0;
}
