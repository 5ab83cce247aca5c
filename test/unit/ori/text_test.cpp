#include "ori/builder.h"
#include "ori/text.h"

#include "encoder/isa/mods.h"
#include "helpers.h"

#include <random>

using namespace orias;
using namespace orias::ori;
using isa::Mod;

namespace {

void roundTrip(const Module& module) {
  const std::string once = print(module);
  Diagnostics diagnostics("test.ori", once);
  const auto again = parse(once, diagnostics);
  REQUIRE_MESSAGE(again, diagnostics.render() << once);
  CHECK(print(*again) == once);
}

std::string errorsOf(std::string_view text) {
  Diagnostics diagnostics("test.ori", text);
  const auto module = parse(text, diagnostics);
  CHECK(!module);
  CHECK(diagnostics.hasErrors());
  return diagnostics.render();
}

std::string errorsOfLine(std::string_view line) {
  return errorsOf("module sm_90;\nkernel \"k\" {\n.L0:\n  " + std::string(line) + "\n}\n");
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

} // namespace

TEST_CASE("a kernel reads like SASS") {
  auto module = test::emptyModule();
  Function& f = module->newFunction("saxpy", true);
  Block* entry = f.newBlock("entry");
  Block* body = f.newBlock();
  Block* out = f.newBlock("$L__BB0_2");
  Builder b(f, entry);
  b.setSource({12, 0});
  const isa::Operand tid = f.use(f.newVReg(File::R, 1, "tid"));
  const isa::Operand p = b.newP();
  const isa::Operand pair = b.newR(2);
  b.emit(Op::S2R, {tid, isa::Operand::immediate(33)});
  b.emit(Op::ISETP, {p, isa::Operand::pt(), tid, isa::Operand::constant(0, 0x210), isa::Operand::pt()},
         {{Mod::Cmp, isa::ICmp::GE}, {Mod::Type, isa::IntType::U32}});
  b.setGuard(p);
  b.branch(out);
  entry->fallthrough = body->id;
  b.setBlock(body);
  b.setGuard(isa::Operand::pt());
  b.emit(Op::IMAD_WIDE,
         {pair, isa::Operand::pt(), tid, isa::Operand::immediate(4), isa::Operand::constant(0, 0x218, 2)});
  b.emit(Op::IADD3, {component(pair, 1), isa::Operand::pt(), isa::Operand::pt(), component(pair, 0), tid.negated(),
                     isa::Operand::rz()});
  b.emit(Op::FADD, {tid, tid.absolute().negated(), isa::Operand::immediate(0x3fc00000)});
  body->fallthrough = out->id;
  b.setBlock(out);
  b.emit(Op::EXIT, {});

  const std::string text = print(f, PrintOptions{false});
  CHECK(text == "kernel \"saxpy\" {\n"
                "  reg %r0 \"tid\", %r2:2;\n"
                ".L0 \"entry\":\n"
                "  S2R %r0, SR_TID.X;\n"
                "  ISETP.GE.U32.AND %p1, PT, %r0, c[0x0][0x210], PT;\n"
                "  @%p1 BRA .L2;\n"
                "  -> .L1;\n"
                ".L1:\n"
                "  IMAD.WIDE %r2:2, %r0, 4, c[0x0][0x218]:2;\n"
                "  IADD3 %r2.1, %r2.0, -%r0, RZ;\n"
                "  FADD %r0, -|%r0|, 1.5f;\n"
                "  -> .L2;\n"
                ".L2 \"$L__BB0_2\":\n"
                "  EXIT;\n"
                "}\n");
  roundTrip(*module);
}

TEST_CASE("everything that a module holds survives") {
  auto module = test::emptyModule();
  module->ptxVersionMajor = 8;
  module->ptxVersionMinor = 5;
  module->files = {"a.cu", "with \"quotes\" and \\ and \n"};
  module->locs = {{1, 2, 3}, {0, 4, 0}};
  Variable v;
  v.name = "table";
  v.linkage = Linkage::Weak;
  v.space = Space::Const;
  v.size = 8;
  v.align = 8;
  v.init = {0, 1, 0xab, 0xff};
  v.relocations = {{0, 8, 1, -4, true}, {4, 4, 0, 7, false}};
  v.constOffset = 16;
  v.managed = true;
  module->variables.push_back(v);
  module->symbols = {{Symbol::Kind::Variable, "table", 0},
                     {Symbol::Kind::ExternFunction, "vprintf", 0},
                     {Symbol::Kind::DriverWord, ".nv.surfrefDescSize", 0},
                     {Symbol::Kind::Surface, "drawing", 0},
                     {Symbol::Kind::Sampler, "smooth", 0}};
  module->addressSlots = {1, 0};
  module->hasIndependentSamplers = true;
  module->samplers = {{4, {0, 4, SamplerStart::kNotSaid}, 1, true},
                      {4, {SamplerStart::kNotSaid, 1, 2}, SamplerStart::kNotSaid, std::nullopt}};
  Function& f = module->newFunction("k", true);
  f.params = {{f.intern("p0"), 0, 8, 4, 16, {}}, {f.intern("p1"), 8, 4, 0, 0, {}}, {f.intern("p2"), 0, 0, 0, 0, 3}};
  f.paramBytes = 12;
  f.handles = {{3, 12}};
  f.bounds.maxntid[0] = 256;
  f.bounds.maxntid[1] = f.bounds.maxntid[2] = 1;
  f.bounds.maxnreg = 32;
  f.bounds.explicitcluster = true;
  f.sharedBytes = 1024;
  f.sharedAlign = 16;
  f.usesDynamicShared = true;
  f.growsStack = true;
  f.hasFramePointer = true;
  f.usesWmma = true;
  f.frame = {{f.intern("depot"), 64, 8, -1, false}, {{}, 4, 4, 16, true}};
  f.stats.registers = 12;
  Block* block = f.newBlock();
  block->loopDepth = 3;
  Builder b(f, block);
  b.setSource({7, 2});
  f.setCurrentPhase(4);
  isa::Operand frame;
  frame.kind = isa::Operand::Kind::Frame;
  frame.reg = 1;
  frame.imm = -8;
  Instr* i = b.emit(Op::MOV, {b.newR(), frame});
  i->control.stall = 5;
  i->control.yield = true;
  i->control.writeBarrier = 2;
  i->control.waitMask = 0x21;
  f.setCurrentPhase(9);
  f.setOperand(i, 1, isa::Operand::immediate(-3).negated());
  f.setCurrentPhase(13);
  f.setOperand(i, 1, isa::Operand::constant(3, 0x10).notted());
  isa::Operand reused = isa::Operand::physical(File::R, 7);
  reused.flags |= isa::Operand::kReuse;
  b.emit(Op::IADD3, {isa::Operand::physical(File::R, 4), isa::Operand::pt(), isa::Operand::pt(), reused,
                     isa::Operand::immediate(-3).negated(), isa::Operand::rz()});
  b.emit(Op::LDG,
         {isa::Operand::pt(), isa::Operand::physical(File::R, 4, 2), isa::Operand::physical(File::UR, 4, 2),
          isa::Operand::physical(File::R, 8, 2), isa::Operand{}, isa::Operand::immediate(-16), isa::Operand::pt()},
         {{Mod::Size, isa::MemSize::B64}});
  b.emit(Op::EXIT, {});
  VReg& reg = f.vreg(f.newVReg(File::UR, 4, "u"));
  reg.divergent = false;
  b.emit(Op::UNDEF, {f.use(1)});
  roundTrip(*module);
  const std::string text = print(*module);
  CHECK(contains(text, "MOV %r0, ~c[0x3][0x10] {stall=5 yield wr=2 wait=0x21};"));
  CHECK(contains(text, "# line 7 loc 2 by 4<9<13"));
  CHECK(contains(text, "IADD3 R4, R7.reuse, -(-3), RZ;"));
  CHECK(contains(text, "LDG.E.64 R4:2, desc[UR4:2][R8:2+-0x10];"));
  CHECK(contains(text, "reg %ur1:4 uniform \"u\";"));
}

TEST_CASE("phis name their predecessors") {
  const auto module = test::kernel(".L0:\n  -> .L1;\n"
                                   ".L1:\n  MOV.PHI %r1, [.L0: 5], [.L1: %r1];\n  MOV.PHI %r2, [.L0: _], [.L1: %r2];\n"
                                   "  @%p3 BRA .L1;\n  -> .L2;\n.L2:\n  EXIT;\n");
  const Function& f = *module->functions[0];
  const Instr& phi = *f.block(1)->first;
  CHECK(phi.op == Op::PHI);
  REQUIRE(phi.operandCount == 5);
  CHECK(phi.op_(0).isDef);
  CHECK(phi.op_(1).imm == 5);
  CHECK(phi.op_(2).reg == 0);
  CHECK(phi.op_(4).reg == 1);
  CHECK(print(f, phi) == "MOV.PHI %r1, [.L0: 5], [.L1: %r1]");
  roundTrip(*module);
}

// Instructions with random modifiers and operands: where the default text is ambiguous another form must be used, so
// that nothing is lost.
TEST_CASE("random instructions of every row survive") {
  std::mt19937 random(7);
  auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  for (unsigned round = 0; round < 10; ++round) {
    auto module = test::emptyModule();
    Function& f = module->newFunction("f", false);
    Block* block = f.newBlock();
    for (unsigned i = 0; i < 8; ++i)
      f.newVReg(static_cast<File>(pick(5)), 1 + pick(4));
    auto randomOperand = [&](bool isDef) {
      isa::Operand o;
      switch (pick(isDef ? 2 : 8)) {
      case 0: {
        const VRegId id = pick(8);
        const unsigned sub = pick(f.vreg(id).width);
        o = f.part(id, sub, 1 + pick(f.vreg(id).width - sub));
        break;
      }
      case 1: o = isa::Operand::physical(static_cast<File>(pick(4)), pick(7), 1 + pick(2)); break;
      case 2: o = isa::Operand::zero(static_cast<File>(pick(4))); break;
      case 3: o = isa::Operand::immediate(static_cast<std::int32_t>(random())); break;
      case 4: o = isa::Operand::immediate(static_cast<std::int32_t>(pick(40)) - 20); break;
      case 5: o = isa::Operand::constant(pick(8), static_cast<std::int32_t>(pick(0x8000)), 1 + pick(2)); break;
      case 6: o = isa::Operand::label(0); break;
      default: break;
      }
      if (o.isReg() || o.isImm() || o.isConst()) {
        o.flags |= static_cast<std::uint8_t>(
            random() & (isa::Operand::kNeg | isa::Operand::kAbs | isa::Operand::kNot | isa::Operand::kReuse));
        if (pick(8) == 0) o.half = static_cast<isa::Operand::Half>(pick(5));
      }
      return o;
    };
    for (const isa::InstrDesc& desc : isa::allInstrs()) {
      if ((desc.sms & isa::kUntilSm90) == 0) continue; // Ori text has them once kernels are compiled for sm_100
      std::vector<isa::Operand> operands(desc.defaults.begin(), desc.defaults.begin() + desc.slotCount);
      for (unsigned s = 0; s < desc.slotCount; ++s) {
        if (pick(3)) operands[s] = randomOperand(desc.slots[s].role == isa::Role::Def);
        // Trailing labels are additional targets, so there must be no labels before.
        if (desc.has(isa::Flag::Variadic) && operands[s].kind == isa::Operand::Kind::Label)
          operands[s] = isa::Operand::immediate(0);
      }
      Instr* instr = f.append(block, f.create(desc.op, operands));
      for (unsigned m = 0; m < desc.modCount; ++m)
        if (pick(2)) instr->mods[m] = static_cast<std::uint8_t>(pick(desc.mods[m].valueCount()));
    }
    const std::string once = print(*module);
    Diagnostics diagnostics("test.ori", once);
    const auto again = parse(once, diagnostics);
    REQUIRE_MESSAGE(again, diagnostics.render());
    CHECK(print(*again) == once);
    // Both the text and the instructions are the same.
    const Function& g = *again->functions[0];
    const Instr* copy = g.entry()->first;
    for (const Instr& original : *block) {
      REQUIRE(copy);
      INFO(print(f, original));
      CHECK(copy->op == original.op);
      CHECK(copy->mods == original.mods);
      REQUIRE(copy->operandCount == original.operandCount);
      for (unsigned s = 0; s < original.operandCount; ++s)
        CHECK(copy->op_(s).value() == original.op_(s).value());
      copy = copy->next;
    }
  }
}

TEST_CASE("faults are told with their places") {
  CHECK(contains(errorsOf("modul sm_90;"), "test.ori:1:1: error: expected 'module'"));
  CHECK(contains(errorsOf("module sm_1;"), "unknown target 'sm_1'"));
  const std::string two = errorsOfLine("FROB %r1;\n  IADD3 %r1, %p1, %r2, %r3, RZ;");
  CHECK(contains(two, "test.ori:4:3: error: unknown instruction 'FROB'"));
  CHECK(contains(two, "test.ori:5:14: error: register 1 is one of another file"));
  CHECK(contains(errorsOfLine("IADD3 %r1, %r2;"), "the operands do not match 'IADD3'"));
  CHECK(contains(errorsOfLine("BRA .L7;"), "undefined block .L7"));
  CHECK(contains(errorsOfLine("MOV %r1:2, 5;"), "wider than 1"));
  CHECK(contains(errorsOfLine("MOV R255, 5;"), "unknown register 'R255'"));
  CHECK(contains(errorsOfLine("MOV %r9999999, 5;"), "numbered up to"));
  CHECK(contains(errorsOfLine("MOV %r1, 0x100000000;"), "32 bits"));
  CHECK(contains(errorsOf("module sm_90;\nkernel \"k\" {\n.L0:\n  EXIT;\n"), "does not end"));
}

TEST_CASE("garbage never crashes the parser") {
  auto module = test::kernel("  reg %r0:2 align 4 \"x\";\n.L0 \"e\" depth 2:\n"
                             "  @!%p2 IADD3 %r0.1, %r3, -0x10, RZ {stall=3 wr=1};  # line 3 by 0<4\n"
                             "  LDG.E.64 %r0:2, desc[UR4:2][R8:2+-0x10];\n  FADD %r3, |%r3|, 1.5f;\n  EXIT;\n");
  const std::string good = print(*module);
  std::mt19937 random(1);
  for (unsigned round = 0; round < 1000; ++round) {
    std::string bad = good;
    const unsigned changes = 1 + static_cast<unsigned>(random() % 4);
    for (unsigned i = 0; i < changes; ++i) {
      const std::size_t at = random() % bad.size();
      switch (random() % 4) {
      case 0: bad.erase(at, 1 + random() % 5); break;
      case 1: bad[at] = static_cast<char>(random() % 128); break;
      case 2: bad.insert(at, 1, good[random() % good.size()]); break;
      default: bad.resize(at); break;
      }
      if (bad.empty()) bad = " ";
    }
    Diagnostics diagnostics("bad.ori", bad);
    const auto result = parse(bad, diagnostics);
    CHECK((result != nullptr) == !diagnostics.hasErrors());
    if (result) roundTrip(*result);
  }
}
