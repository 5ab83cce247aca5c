#include "test/forms/statement.h"

#include "frontend/instr_form_table.h"
#include "frontend/instr_table.h"
#include "frontend/module.h"
#include "support/check.h"

#include <set>
#include <sstream>

namespace orias::forms {

using namespace ptx;

namespace {

/// Generates operands.
class OperandWriter {
 public:
  OperandWriter(const Form& form, std::vector<Use>& uses, Samplers samplers)
      : form_(form), uses_(uses), samplers_(samplers) {}

  std::string write(const OperandSpec& spec) {
    switch (spec.want) {
    case Want::Pair: {
      const std::string first =
          spec.count ? vectorOf(spec, spec.count, spec.fixedType) : registerOf(spec, spec.fixedType);
      return spec.pairOptional ? first : first + "|" + registerOf(spec, Type::Pred);
    }
    case Want::Address: return address(spec);
    case Want::Label: return "L1";
    case Want::Targets: return "TL";
    case Want::Call: return "fn0";
    case Want::Texture:
      if (samplers_ == Samplers::Apart)
        return "[" + handle() + ", " + sampler() + ", " + vectorOf(spec, textureCoordinates(), Type::B32) + "]";
      [[fallthrough]];
    case Want::Surface: return "[" + handle() + ", " + vectorOf(spec, textureCoordinates(), Type::B32) + "]";
    case Want::TexRef:
      if (samplers_ == Samplers::Apart && isOfSampler()) return "[" + sampler() + "]";
      [[fallthrough]];
    case Want::SurfRef: return "[" + handle() + "]";
    case Want::Tensor: {
      const std::string map = addressRegister(spec, 64, StateSpace::None);
      return "[" + map + ", " + vectorOf(spec, tensorCoordinates(), Type::B32) + "]";
    }
    case Want::Value: return value(spec);
    }
    return {};
  }

 private:
  std::string registerOf(const OperandSpec& spec, Type type) {
    const unsigned n = next_++;
    const unsigned bits = bitWidth(type);
    const std::string few = std::to_string(n % 8 + 1), many = std::to_string(n % 130);
    const std::string name = type == Type::Pred ? "%p" + few
                             : bits <= 8        ? "%c" + few
                             : bits <= 16       ? "%h" + many
                             : bits <= 32       ? "%r" + many
                             : bits <= 64       ? "%d" + many
                                                : "%q" + few;
    uses_.push_back({name, type, spec.dest ? Role::Result : Role::Source, spec.name, StateSpace::None});
    return name;
  }

  std::string vectorOf(const OperandSpec& spec, unsigned count, Type type) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", " : "") + registerOf(spec, type);
    return text + "}";
  }

  /// Textures and surfaces are referred to by handles, as in current compilers.
  std::string handle() {
    uses_.push_back({std::string(kAddress64), Type::B64, Role::Address, "", StateSpace::Tex});
    return std::string(kAddress64);
  }

  std::string sampler() {
    const std::string name = "%d" + std::to_string(kLastAddress - 1);
    uses_.push_back({name, Type::B64, Role::Address, kSampler, StateSpace::Tex});
    return name;
  }

  /// Whether this is a query of a sampler.
  bool isOfSampler() const {
    const Mod query = form_.get(Slot::Query);
    return query == Mod::AddrMode0 || query == Mod::AddrMode1 || query == Mod::AddrMode2 || query == Mod::FilterMode ||
           query == Mod::ForceUnnormalizedCoords;
  }

  /// Each address has a separate register, from the last one (kAddress64, kAddress32) downwards.
  std::string addressRegister(const OperandSpec& spec, unsigned bits, StateSpace space) {
    const std::string name = (bits == 64 ? "%d" : "%r") + std::to_string(kLastAddress - addresses_++);
    uses_.push_back({name, bits == 64 ? Type::B64 : Type::B32, Role::Address, spec.name, space});
    return name;
  }

  std::string address(const OperandSpec& spec) {
    const auto in = [&](unsigned bits, StateSpace space) { return "[" + addressRegister(spec, bits, space) + "]"; };
    if (spec.spaceFrom == OperandSpec::SpaceFrom::TensorMemory) return in(32, StateSpace::Tex);
    switch (const StateSpace space = Form::stateSpaceOf(spec.space)) {
    case StateSpace::Const: return "[cbuf]";
    case StateSpace::Param: return form_.op == Op::St ? "[callparam]" : "[tm]";
    case StateSpace::Shared: return in(32, space);
    default: return in(64, space);
    }
  }

  std::string value(const OperandSpec& spec) {
    if (spec.onlySink) return "_";
    if (spec.constantOnly) {
      if (!spec.values.empty()) return std::to_string(spec.values.front());
      return std::to_string(spec.bounded ? spec.low : 1);
    }
    if (spec.count == 0) return registerOf(spec, spec.anyType ? Type::B32 : spec.fixedType);
    return vectorOf(spec, spec.count == OperandSpec::kAnyCount ? 2 : spec.count, spec.fixedType);
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
  static constexpr unsigned kLastAddress = 139;
  std::vector<Use>& uses_;
  Samplers samplers_;
  unsigned next_ = 1, addresses_ = 0;
};

Statement statementOf(const std::string& opcode, const FormTable::Entry& entry, std::size_t index, bool withOptional,
                      Samplers samplers) {
  const OperandPattern& pattern = entry.patterns[index];
  Statement statement{opcode, opcode, entry.form, entry.since, {}, samplers == Samplers::Apart};
  if (!entry.patternSince.empty()) {
    const Since& needs = entry.patternSince[index];
    statement.since.version = std::max(statement.since.version, needs.version);
    statement.since.sm = std::max(statement.since.sm, needs.sm);
  }
  OperandWriter writer(entry.form, statement.uses, samplers);
  bool isFirst = true;
  for (const OperandSpec& spec : pattern) {
    if (spec.optional && !withOptional) continue;
    statement.text += (isFirst ? " " : ", ") + writer.write(spec);
    isFirst = false;
  }
  statement.text += ";";
  return statement;
}

/// Generates all operand patterns of an opcode, with and without optional operands.
void writeOpcode(const std::string& opcodeText, const std::function<void(Statement)>& take, Samplers samplers) {
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
  ORIAS_CHECK(entry.row, "a row that its own opcode does not match");
  for (std::size_t k = 0; k < entry.patterns.size(); ++k) {
    take(statementOf(opcodeText, entry, k, false, samplers));
    for (const OperandSpec& spec : entry.patterns[k])
      if (spec.optional) {
        take(statementOf(opcodeText, entry, k, true, samplers));
        break;
      }
  }
}

std::string opcodeText(Op op, const std::vector<Word>& words) {
  std::string text(opName(op));
  for (Word word : words)
    if (!word.isUnknown()) text += "." + wordText(word);
  return text;
}

/// A shape for any width gets one specific width.
Word withWidth(Word word, std::uint16_t width) {
  if (word.isShape() && word.shape().n <= 1) return MatrixShape{word.shape().m, width, word.shape().k};
  return word;
}

} // namespace

std::string Statement::target() const {
  if (since.only.empty()) return "sm_" + std::to_string(since.sm);
  return "sm_" + std::to_string(since.only.front().number) + since.only.front().suffix;
}

std::string Statement::version() const {
  return std::to_string(since.version.major) + "." + std::to_string(since.version.minor);
}

void forEachStatement(const std::function<void(Statement)>& take, Samplers samplers) {
  std::set<std::string> seen;
  const auto write = [&](Op op, const std::vector<Word>& words) {
    const std::string opcode = opcodeText(op, words);
    if (samplers == Samplers::Apart && op != Op::Tex && op != Op::Tld4 && op != Op::Txq) return;
    if (seen.insert(opcode).second) writeOpcode(opcode, take, samplers);
  };
  for (std::span<const Row> family : instructionTable())
    for (const Row& source : family) {
      const RowSyntax row = parseRow(source);
      std::vector<Word> base;
      for (const ModGroup& group : row.groups)
        base.push_back(group.optional ? Word() : withWidth(group.words.front(), 8));
      write(row.op, base);
      for (std::size_t g = 0; g < row.groups.size(); ++g)
        for (Word word : row.groups[g].words) {
          std::vector<Word> words = base;
          words[g] = withWidth(word, 16);
          write(row.op, words);
        }
    }
}

} // namespace orias::forms
