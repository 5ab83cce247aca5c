#include "ori/parse_function.h"

#include "encoder/isa/print.h"
#include "ori/text.h"

#include <fmt/format.h>

#include <bit>
#include <vector>

namespace orias::ori::text {

namespace {

/// The highest number of a register or label in a text: ids are dense, so each number below costs memory.
constexpr std::uint32_t kMaxId = 1 << 20;

class FunctionParser {
 public:
  FunctionParser(Scanner& in, Function& function, Diagnostics& diagnostics)
      : in_(in), function_(function), diagnostics_(diagnostics) {}

  void run() {
    bool inBlocks = false;
    while (!in_.take("}")) {
      if (in_.atEnd()) {
        diagnostics_.error(in_.locate(in_.position()), "the function does not end", "with '}'");
        break;
      }
      try {
        inBlocks |= in_.peek() == '.';
        if (inBlocks)
          blockItem();
        else
          declaration();
      } catch (const ParseError& fault) {
        diagnostics_.error(in_.locate(fault.at), fault.message, fault.hint);
        in_.recover();
      }
    }
    finish();
  }

 private:
  // --- declarations

  void declaration() {
    const std::size_t at = in_.position();
    const std::string_view keyword = in_.word();
    LaunchBounds& bounds = function_.bounds;
    if (keyword == "reg")
      registers();
    else if (keyword == "param")
      param();
    else if (keyword == "frame")
      frame();
    else if (keyword == "handle")
      handle();
    else if (keyword == "parambytes")
      function_.paramBytes = in_.unsigned32();
    else if (keyword == "reqntid")
      triple(bounds.reqntid);
    else if (keyword == "maxntid")
      triple(bounds.maxntid);
    else if (keyword == "reqnctapercluster")
      triple(bounds.reqnctapercluster);
    else if (keyword == "minnctapersm")
      bounds.minnctapersm = in_.unsigned32();
    else if (keyword == "maxnreg")
      bounds.maxnreg = in_.unsigned32();
    else if (keyword == "maxclusterrank")
      bounds.maxclusterrank = in_.unsigned32();
    else if (keyword == "explicitcluster")
      bounds.explicitcluster = true;
    else if (keyword == "shared")
      shared();
    else if (keyword == "dynamicshared")
      function_.usesDynamicShared = true;
    else if (keyword == "spillstoshared")
      function_.spillsToShared = true;
    else if (keyword == "reservedshared")
      function_.usesReservedShared = true;
    else if (keyword == "growsstack")
      function_.growsStack = true;
    else if (keyword == "framepointer")
      function_.hasFramePointer = true;
    else if (keyword == "wmma")
      function_.usesWmma = true;
    else if (keyword == "stats")
      stats();
    else if (keyword == "ssa")
      function_.ssa = true;
    else if (keyword == "allocated")
      function_.allocated = true;
    else
      in_.failAt(at, "expected a declaration or the first block", "such as 'reg %r0:2 \"name\";' or '.L0:'");
    in_.expect(";");
  }

  void triple(std::uint32_t (&values)[3]) {
    for (std::uint32_t& value : values)
      value = in_.unsigned32();
  }

  void param() {
    KernelParam param;
    param.name = function_.intern(in_.quoted());
    in_.expect("offset");
    param.offset = in_.unsigned32();
    in_.expect("size");
    param.size = in_.unsigned32();
    if (in_.take("pointer")) {
      param.pointerSpace = static_cast<std::uint8_t>(in_.integer(0, 5));
      in_.expect("align");
      param.pointerAlign = in_.unsigned32();
    }
    if (in_.take("handle")) param.handle = in_.unsigned32();
    function_.params.push_back(param);
  }

  void handle() {
    TextureHandleSlot handle;
    handle.symbol = in_.unsigned32();
    in_.expect("offset");
    handle.offset = in_.unsigned32();
    function_.handles.push_back(handle);
  }

  void frame() {
    FrameObject object;
    object.name = function_.intern(in_.quoted());
    in_.expect("size");
    object.size = in_.unsigned32();
    in_.expect("align");
    object.align = in_.unsigned32();
    if (in_.take("offset")) object.offset = static_cast<std::int32_t>(in_.integer(0, INT32_MAX));
    object.isSpill = in_.take("spill");
    function_.frame.push_back(object);
  }

  void shared() {
    function_.sharedBytes = in_.unsigned32();
    in_.expect("align");
    function_.sharedAlign = in_.unsigned32();
  }

  void stats() {
    FunctionStats& s = function_.stats;
    for (unsigned* value : {&s.registers, &s.uniformRegisters, &s.predicates, &s.barriers, &s.frameBytes,
                            &s.spillStoreBytes, &s.spillLoadBytes})
      *value = in_.unsigned32();
  }

  void registers() {
    do {
      const std::size_t at = in_.position();
      in_.expect("%");
      const File file = virtualFile();
      const VRegId id = registerNumber(at, file);
      VReg& reg = function_.vreg(id);
      if (isDeclared_[id]) in_.failAt(at, fmt::format("register {} is declared twice", id));
      isDeclared_[id] = true;
      if (in_.takeHere(':')) reg.width = widthHere();
      reg.align = static_cast<std::uint8_t>(defaultAlign(reg.width));
      if (in_.take("align")) reg.align = static_cast<std::uint8_t>(in_.integer(1, 128));
      if (in_.take("uniform")) reg.divergent = false;
      if (in_.take("multidef")) reg.multiDef = true;
      if (in_.peek() == '"') reg.name = function_.intern(in_.quoted());
    } while (in_.take(","));
  }

  // --- names

  File virtualFile() {
    if (in_.takeHere('r')) return File::R;
    if (in_.takeHere('p')) return File::P;
    if (in_.takeHere('b')) return File::B;
    if (in_.takeHere('u')) {
      if (in_.takeHere('r')) return File::UR;
      if (in_.takeHere('p')) return File::UP;
    }
    in_.fail("expected the name of a virtual register", "such as %r1, %ur1, %p1, %up1 or %b1");
  }

  /// Parses the digits of a virtual register's name. Creates the registers up to it.
  VRegId registerNumber(std::size_t at, File file) {
    const auto number = in_.digitsHere();
    if (!number) in_.failAt(at, "expected the number of a virtual register");
    if (*number > kMaxId) in_.failAt(at, fmt::format("virtual registers are numbered up to {}", kMaxId));
    while (function_.vregCount() <= *number)
      function_.newVReg(File::R);
    isDeclared_.resize(function_.vregCount());
    isKnown_.resize(function_.vregCount());
    VReg& reg = function_.vreg(*number);
    if (isKnown_[*number] && reg.file != file)
      in_.failAt(at, fmt::format("register {} is one of another file", *number),
                 "all register files share one numbering: %r1 and %p1 cannot both exist");
    isKnown_[*number] = true;
    reg.file = file;
    return *number;
  }

  std::uint8_t widthHere() {
    const auto width = in_.digitsHere();
    if (!width || *width < 1 || *width > 255) in_.fail("a width is a number from 1 to 255");
    return static_cast<std::uint8_t>(*width);
  }

  BlockId labelHere() {
    const std::size_t at = (in_.peek(), in_.position());
    if (!in_.takeHere('.') || !in_.takeHere('L')) in_.failAt(at, "expected a label", "such as .L1");
    const auto number = in_.digitsHere();
    if (!number) in_.failAt(at, "expected a label", "such as .L1");
    if (*number > kMaxId) in_.failAt(at, fmt::format("labels are numbered up to {}", kMaxId));
    while (function_.blockIdCount() <= *number)
      function_.newBlock();
    if (uses_.size() <= *number) {
      uses_.resize(*number + 1, kUnused);
      isPlaced_.resize(*number + 1);
    }
    if (uses_[*number] == kUnused) uses_[*number] = at;
    return *number;
  }

  // --- blocks

  void blockItem() {
    if (in_.peek() == '.') {
      blockHeader();
      return;
    }
    if (in_.take("->")) {
      if (!block_) in_.fail("a fall-through outside a block", "begin with '.L0:'");
      block_->fallthrough = labelHere();
      in_.expect(";");
      return;
    }
    instruction();
  }

  void blockHeader() {
    const std::size_t at = in_.position();
    const BlockId id = labelHere();
    if (isPlaced_[id]) in_.failAt(at, fmt::format("duplicate block .L{}", id));
    isPlaced_[id] = true;
    block_ = function_.block(id);
    order_.push_back(block_);
    if (in_.peek() == '"') block_->name = function_.intern(in_.quoted());
    if (in_.take("depth")) block_->loopDepth = static_cast<std::uint8_t>(in_.integer(0, 255));
    block_->isCold = in_.take("cold");
    in_.expect(":");
  }

  void finish() {
    // All blocks up to the highest number exist; those that the text does not define are erased.
    std::vector<bool> isMissing(function_.blockIdCount());
    for (BlockId id = 0; id < function_.blockIdCount(); ++id) {
      isMissing[id] = !isPlaced_[id];
      if (isMissing[id] && uses_[id] != kUnused)
        diagnostics_.error(in_.locate(uses_[id]), fmt::format("undefined block .L{}", id));
    }
    function_.eraseBlocks(isMissing);
    function_.setLayout(order_);
    if (order_.empty()) diagnostics_.error(in_.locate(in_.position()), "the function has no blocks");
  }

  // --- instructions

  void instruction() {
    isa::Operand guard;
    if (in_.take("@")) {
      guard = operand();
      if (!guard.isReg(File::P) && !guard.isReg(File::UP)) in_.fail("the guard of an instruction is a predicate");
    }
    const std::size_t at = (in_.peek(), in_.position());
    const std::string_view name = in_.mnemonic();
    if (name.empty()) in_.fail("expected an instruction");
    std::vector<Resolved> meanings = explicitRow(at, name);
    if (meanings.empty()) meanings = resolve(name);
    if (meanings.empty()) in_.failAt(at, fmt::format("unknown instruction '{}'", name));

    const std::size_t operandsAt = in_.position();
    for (std::size_t i = 0; i < meanings.size(); ++i) {
      in_.moveTo(operandsAt);
      const auto operands = readOperands(meanings[i].op);
      if (!operands) continue;
      build(meanings[i], *operands, guard);
      return;
    }
    in_.failAt(at, fmt::format("the operands do not match '{}'", name), slotsOf(meanings.front().op));
  }

  /// NAME<1,0>: a row by its own name, with the modifiers as numbers.
  std::vector<Resolved> explicitRow(std::size_t at, std::string_view name) {
    if (!in_.takeHere('<')) return {};
    const isa::InstrDesc* desc = isa::findByName(name);
    if (!desc) in_.failAt(at, fmt::format("no table entry '{}'", name));
    Resolved row{desc->op, {}};
    for (unsigned i = 0; i < desc->modCount; ++i) {
      if (i) in_.expect(",");
      row.mods[i] = static_cast<std::uint8_t>(in_.integer(0, 255));
    }
    in_.expect(">");
    return {row};
  }

  static std::string slotsOf(Op op) {
    const isa::InstrDesc& desc = isa::desc(op);
    std::string text(desc.name);
    for (unsigned i = 0; i < desc.slotCount; ++i) {
      text += i ? ", " : " ";
      text += isOmittable(desc, i) ? fmt::format("[{}]", desc.slots[i].name) : std::string(desc.slots[i].name);
    }
    return text;
  }

  /// The operands in slot order, with defaults filled in; no value if they do not fit the instruction.
  std::optional<std::vector<isa::Operand>> readOperands(Op op) {
    const isa::InstrDesc& desc = isa::desc(op);
    std::vector<Written> written;
    while (in_.peek() != ';' && in_.peek() != '{') {
      if (!written.empty()) in_.expect(",");
      if (op == Op::PHI && in_.take("[")) {
        const isa::Operand label = isa::Operand::label(labelHere());
        in_.expect(":");
        written.push_back({operand()});
        written.push_back({label});
        in_.expect("]");
      } else if (in_.take("desc[")) {
        group(written, isa::Bracket::Descriptor);
        if (in_.take("[")) group(written, isa::Bracket::Address);
      } else if (in_.take("gdesc[")) {
        group(written, isa::Bracket::MatrixDescriptor);
      } else if (in_.take("bank[")) {
        group(written, isa::Bracket::Bank);
        if (in_.take("[")) group(written, isa::Bracket::Address);
      } else if (in_.take("[")) {
        group(written, isa::Bracket::Address);
      } else {
        written.push_back({operand()});
      }
    }
    const auto slots = matchSlots(op, written);
    if (!slots) return std::nullopt;
    std::vector<isa::Operand> operands(desc.defaults.begin(), desc.defaults.begin() + desc.slotCount);
    for (std::size_t i = 0; i < slots->size(); ++i) {
      if ((*slots)[i] >= operands.size()) operands.resize((*slots)[i] + 1);
      operands[(*slots)[i]] = written[i].operand;
    }
    return operands;
  }

  void group(std::vector<Written>& written, isa::Bracket bracket) {
    do
      written.push_back({operand(), bracket});
    while (in_.take("+"));
    in_.expect("]");
  }

  void build(const Resolved& row, const std::vector<isa::Operand>& operands, const isa::Operand& guard) {
    if (!block_) in_.fail("an instruction outside a block", "begin with '.L0:'");
    if (operands.size() > 0xfff0) in_.fail("too many operands");
    Instr* instr = function_.create(row.op, operands);
    instr->mods = row.mods;
    if (!guard.isNone()) function_.setGuard(instr, guard);
    function_.append(block_, instr);
    if (in_.take("{")) control(*instr);
    in_.expect(";");
    instr->createdBy = 0;
    instr->lastChange = 0;
    if (in_.take("#")) notes(*instr);
  }

  void control(Instr& instr) {
    isa::Control& control = instr.control;
    while (!in_.take("}")) {
      if (in_.take("contract")) {
        instr.mayContract = true;
      } else if (in_.take("undef")) {
        instr.hasUndefinedRest = true;
      } else if (in_.take("stall")) {
        in_.expect("=");
        control.stall = static_cast<std::uint8_t>(in_.integer(0, 15));
      } else if (in_.take("yield")) {
        control.yield = true;
      } else if (in_.take("wr")) {
        in_.expect("=");
        control.writeBarrier = static_cast<std::uint8_t>(in_.integer(0, 7));
      } else if (in_.take("rd")) {
        in_.expect("=");
        control.readBarrier = static_cast<std::uint8_t>(in_.integer(0, 7));
      } else if (in_.take("wait")) {
        in_.expect("=");
        control.waitMask = static_cast<std::uint8_t>(in_.integer(0, 63));
      } else {
        in_.fail("expected a scheduling field", "stall=, yield, wr=, rd=, wait=, contract or undef");
      }
    }
  }

  void notes(Instr& instr) {
    if (in_.take("line")) instr.source.ptxLine = in_.unsigned32();
    if (in_.take("loc")) instr.source.loc = in_.unsigned32();
    if (!in_.take("by")) return;
    instr.createdBy = static_cast<std::uint16_t>(in_.integer(0, 0xffff));
    while (in_.take("<"))
      function_.addChange(instr, static_cast<std::uint16_t>(in_.integer(0, 0xffff)));
  }

  // --- operands

  isa::Operand operand() {
    std::uint8_t flags = 0;
    for (;;) {
      const std::size_t at = (in_.peek(), in_.position());
      if (in_.take("!") || in_.take("~")) {
        flags |= isa::Operand::kNot;
      } else if (in_.take("-")) {
        // The sign of a number is part of it.
        if (const char c = in_.peek(); c >= '0' && c <= '9') {
          in_.moveTo(at);
          break;
        }
        flags |= isa::Operand::kNeg;
      } else {
        break;
      }
    }
    const bool isAbs = in_.take("|");
    if (isAbs) flags |= isa::Operand::kAbs;
    isa::Operand o;
    if (in_.take("(")) {
      o = atom();
      in_.expect(")");
    } else {
      o = atom();
    }
    if (in_.takeHere(':')) o.width = widthHere();
    checkPart(o);
    if (isAbs) in_.expect("|");
    o.flags = static_cast<std::uint8_t>(o.flags | flags);
    suffixes(o);
    return o;
  }

  void checkPart(const isa::Operand& o) {
    if (!o.isVirtual() || !o.isReg()) return;
    const VReg& reg = function_.vreg(o.reg);
    if (isDeclared_[o.reg]) {
      if (o.sub + o.width > reg.width)
        in_.fail(fmt::format("register {} is {} wide", o.reg, reg.width), "declare it: reg %r1:2;");
    } else if (o.sub + o.width > 1) {
      in_.fail(fmt::format("register {} must be declared to be wider than 1", o.reg), "as in: reg %r1:2;");
    }
  }

  void suffixes(isa::Operand& o) {
    using Half = isa::Operand::Half;
    while (in_.takeHere('.')) {
      const std::string_view name = in_.peekWord();
      if (name == "reuse")
        o.flags |= isa::Operand::kReuse;
      else if (name == "H0_H0")
        o.half = Half::H0H0;
      else if (name == "H1_H1")
        o.half = Half::H1H1;
      else if (name == "H1_H0")
        o.half = Half::H1H0;
      else if (name == "F32")
        o.half = Half::F32;
      else
        in_.fail("unknown operand suffix", ".reuse, .H0_H0, .H1_H1, .H1_H0 or .F32");
      in_.word();
    }
  }

  isa::Operand atom() {
    const char c = in_.peek();
    const std::size_t at = in_.position();
    if (c == '%') return virtualRegister();
    if (c == '.') return isa::Operand::label(labelHere());
    if ((c >= '0' && c <= '9') || c == '-') return immediate();
    if (in_.take("c[")) return constant();
    if (in_.take("cx[")) return bindless();
    if (in_.take("symbol[")) return indexed(isa::Operand::Kind::Symbol);
    if (in_.take("frame[")) return indexed(isa::Operand::Kind::Frame);
    const std::string_view word = in_.peekWord();
    if (word == "_") {
      in_.word();
      return {};
    }
    if (word.starts_with("SR")) {
      const std::string_view name = in_.mnemonic();
      const int number = isa::specialRegisterNumber(name);
      if (number < 0) in_.failAt(at, fmt::format("unknown special register '{}'", name));
      return isa::Operand::immediate(number);
    }
    if (!word.empty()) return physicalRegister(at, in_.word());
    in_.fail("expected an operand");
  }

  isa::Operand virtualRegister() {
    const std::size_t at = in_.position();
    in_.expect("%");
    const File file = virtualFile();
    const VRegId id = registerNumber(at, file);
    isa::Operand o = isa::Operand::virt(file, id);
    const std::size_t dot = in_.position();
    if (in_.takeHere('.')) {
      const auto part = in_.digitsHere();
      if (!part)
        in_.moveTo(dot); // a suffix
      else if (*part > 255)
        in_.failAt(dot, "a register has at most 255 components");
      else
        o.sub = static_cast<std::uint8_t>(*part);
    }
    return o;
  }

  isa::Operand physicalRegister(std::size_t at, std::string_view name) {
    constexpr std::pair<std::string_view, File> kFiles[] = {
        {"UR", File::UR}, {"UP", File::UP}, {"R", File::R}, {"P", File::P}, {"B", File::B}};
    for (const auto& [prefix, file] : kFiles) {
      if (!name.starts_with(prefix)) continue;
      const std::string_view rest = name.substr(prefix.size());
      const bool isPredicate = file == File::P || file == File::UP;
      if (rest == (isPredicate ? "T" : "Z") && file != File::B) return isa::Operand::zero(file);
      std::uint32_t number = 0;
      bool isNumber = !rest.empty() && rest.size() <= 3;
      for (const char c : rest) {
        isNumber &= c >= '0' && c <= '9';
        number = number * 10 + static_cast<std::uint32_t>(c - '0');
      }
      const std::uint32_t limit = file == File::B ? 16 : isa::zeroRegister(file);
      if (isNumber && number < limit) return isa::Operand::physical(file, number);
      break;
    }
    in_.failAt(at, fmt::format("unknown register '{}'", name));
  }

  isa::Operand immediate() {
    const std::size_t at = in_.position();
    const Scanner::Number number = in_.number();
    if (number.kind == Scanner::Number::Kind::Float)
      return isa::Operand::immediate(std::bit_cast<std::int32_t>(static_cast<float>(number.real)));
    if (number.kind == Scanner::Number::Kind::Double) {
      const auto bits = std::bit_cast<std::uint64_t>(number.real);
      if (bits & 0xffffffff) in_.failAt(at, "only the high 32 bits of a double fit an immediate");
      return isa::Operand::immediate(static_cast<std::int32_t>(bits >> 32));
    }
    return isa::Operand::immediate(checked32(at, number.integer));
  }

  std::int32_t checked32(std::size_t at, std::int64_t value) {
    if (value < INT32_MIN || value > 0xffffffffLL) in_.failAt(at, "an immediate has 32 bits");
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  }

  std::int32_t bracketedOffset() {
    in_.expect("[");
    const auto value = static_cast<std::int32_t>(in_.unsigned32());
    in_.expect("]");
    return value;
  }

  isa::Operand constant() {
    const auto bank = static_cast<unsigned>(in_.integer(0, 31));
    in_.expect("]");
    return isa::Operand::constant(bank, bracketedOffset());
  }

  isa::Operand bindless() {
    isa::Operand reg = atom();
    if (!reg.isReg(File::UR)) in_.fail("a bindless constant needs a uniform register");
    in_.expect("]");
    reg.kind = isa::Operand::Kind::Const;
    reg.imm = bracketedOffset();
    return reg;
  }

  isa::Operand indexed(isa::Operand::Kind kind) {
    isa::Operand o;
    o.kind = kind;
    o.reg = in_.unsigned32();
    in_.expect("]");
    if (in_.take("+")) {
      const std::size_t at = in_.position();
      o.imm = checked32(at, in_.integer(INT32_MIN, 0xffffffff));
    }
    return o;
  }

  static constexpr std::size_t kUnused = ~std::size_t{0};

  Scanner& in_;
  Function& function_;
  Diagnostics& diagnostics_;
  Block* block_ = nullptr;
  std::vector<Block*> order_;
  std::vector<std::size_t> uses_;          // by label: the position of its first use
  std::vector<bool> isPlaced_;             // by label
  std::vector<bool> isDeclared_, isKnown_; // by virtual register
};

} // namespace

void parseFunction(Scanner& in, Function& function, Diagnostics& diagnostics) {
  FunctionParser(in, function, diagnostics).run();
}

} // namespace orias::ori::text
