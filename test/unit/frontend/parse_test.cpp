#include "ptx_test.h"

#include <doctest/doctest.h>

using namespace orias;
using namespace orias::ptx;

TEST_CASE("an empty kernel") {
  Parsed p = parseModule(".visible .entry k() { ret; }");
  REQUIRE(p.ok());
  CHECK(p.module->version == Version{9, 0});
  CHECK(p.module->target.arch == Arch{90, 0});
  CHECK(p.module->addressSize == 64);
  const Function& k = p.function("k");
  CHECK(k.isEntry);
  CHECK(k.hasBody);
  CHECK(k.linkage == Linkage::Visible);
  REQUIRE(k.instructions.size() == 1);
  CHECK(p.module->text(p.module->opcode(k.instructions[0]).base) == "ret");
  CHECK(k.instructions[0].loc == SourceLoc{4, 23});
  CHECK(k.endLoc == SourceLoc{4, 28});
}

TEST_CASE("targets with options and suffixes") {
  Parsed p(".version 8.0\n.target sm_90a, texmode_independent, debug\n");
  CHECK(p.module->target.arch == Arch{90, 'a'});
  CHECK(p.module->target.texmodeIndependent);
  CHECK(p.module->target.debug);
}

TEST_CASE("an opcode is split at its dots, and white space may be before them") {
  Parsed p = parseBody("ld.global.L2::128B.v2.u32 {%r1, %r2}, [%rd1]; mov .u32 %r1, 1; mov.u32 %r1, 2;");
  REQUIRE(p.ok());
  const Function& k = p.function("k");
  const Opcode& ld = p.module->opcode(k.instructions[0]);
  CHECK(p.module->text(ld.text) == "ld.global.L2::128B.v2.u32");
  REQUIRE(ld.modifiers.size() == 4);
  CHECK(p.module->text(ld.modifiers[1]) == "L2::128B");
  CHECK(k.instructions[1].opcode == k.instructions[2].opcode);
}

TEST_CASE("registers: members of families and single ones get dense ids with types") {
  Parsed p = parseBody(".reg .v4 .f32 v; add.u32 %r7, %r3, %r7; mov.f32 v.y, %f1;");
  REQUIRE(p.ok());
  const Function& k = p.function("k");
  const auto ops = operandsAt(p);
  CHECK(ops[0].registerId() == ops[2].registerId());
  CHECK(ops[0].registerId() != ops[1].registerId());
  CHECK(k.registers.size() == 4); // v and the used registers of the families
  CHECK(k.registers[index(ops[1].registerId())].type == Type::B32);
  CHECK(p.module->text(k.registers[index(ops[1].registerId())].name) == "%r3");
  CHECK(operandsAt(p, 1)[0].component() == Component::Y);
}

TEST_CASE("a member of a family may be written with leading zeros") {
  Parsed p = parseBody("add.u32 %r07, %r7, %r007;");
  REQUIRE(p.ok());
  CHECK(operandsAt(p)[0].registerId() == operandsAt(p)[1].registerId());
  CHECK(operandsAt(p)[0].registerId() == operandsAt(p)[2].registerId());
}

TEST_CASE("an inner family hides the members of an outer one and gives them back") {
  Parsed p = parseBody("mov.b32 %r5, 1; { .reg .f32 %r<8>; mov.f32 %r5, 0f00000000; mov.u32 %r9, 1; } mov.b32 %r5, 2;");
  REQUIRE(p.ok());
  CHECK(operandsAt(p, 0)[0].registerId() == operandsAt(p, 3)[0].registerId());
  CHECK(operandsAt(p, 1)[0].registerId() != operandsAt(p, 0)[0].registerId());
  CHECK(p.function("k").registers[index(operandsAt(p, 1)[0].registerId())].type == Type::F32);
}

TEST_CASE("operands") {
  Parsed p = parseBody("setp.eq.and.u32 %p1|%p2, %r1, -5, !%p3;\n"
                       "mov.b64 {%r1, _}, %rd1;\n"
                       "ld.global.u32 %r1, [%rd2+-8];\n"
                       "ld.local.u32 %r1, [64];\n"
                       "mov.u32 %r1, %tid.x;\n"
                       "mov.f32 %f1, 0f3F800000;\n"
                       "mov.f32 %f1, 1.5;\n"
                       "vmad.u32.u32.u32 %r1, -%r2.b0, %r3.h1, %r4;\n"
                       "vadd4.u32.u32.u32.add %r1, %r2.b7654, %r3, %r4;\n"
                       "ld.param.u64 %rd1, [a];");
  REQUIRE(p.ok());
  auto ops = operandsAt(p, 0);
  REQUIRE(ops.size() == 4);
  CHECK(ops[0].is(OperandKind::Pair));
  CHECK(ops[2].intValue() == -5);
  CHECK(ops[3].isNegated());
  ops = operandsAt(p, 1);
  REQUIRE(ops[0].is(OperandKind::Vector));
  const auto parts = p.function("k").parts(ops[0]);
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].is(OperandKind::Sink));
  CHECK(ops[0].vectorPair() == RegisterId::None);
  CHECK(operandsAt(p, 2)[1].offset() == -8);
  CHECK(operandsAt(p, 2)[1].addressBase() == OperandKind::Register);
  CHECK(operandsAt(p, 3)[1].addressBase() == OperandKind::Int);
  CHECK(operandsAt(p, 4)[1].specialRegister() == SpecialRegister::Tid);
  CHECK(operandsAt(p, 4)[1].component() == Component::X);
  CHECK(operandsAt(p, 5)[1].float32Value() == 1.0f);
  CHECK(operandsAt(p, 6)[1].isDecimal());
  CHECK(operandsAt(p, 6)[1].float64Value() == 1.5);
  CHECK(operandsAt(p, 7)[1].isMinus());
  CHECK(operandsAt(p, 7)[1].component() == Component::B0);
  CHECK(operandsAt(p, 7)[2].component() == Component::H1);
  CHECK(operandsAt(p, 8)[1].component() == Component::Bytes);
  CHECK(operandsAt(p, 8)[1].selection() == 0x7654);
  CHECK(operandsAt(p, 9)[1].addressBase() == OperandKind::Variable);
}

TEST_CASE("textures and tensors have an address of several parts, a load may have a predicate") {
  Parsed p = parseModule(".global .texref t;\n.entry k() { .reg .f32 %f<4>; .reg .pred %p<2>; .reg .b32 %r<3>;\n"
                         "tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}|%p1, [t, {%r0, %r1}], %r2; }");
  REQUIRE(p.ok());
  const auto ops = operandsAt(p);
  REQUIRE(ops.size() == 3);
  CHECK(ops[0].vectorPair() != RegisterId::None);
  REQUIRE(ops[1].is(OperandKind::Bracket));
  const auto parts = p.function("k").parts(ops[1]);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].is(OperandKind::Address));
  CHECK(parts[1].is(OperandKind::Vector));
}

TEST_CASE("an index is scaled; it is the element to a load and its address to a move") {
  Parsed p =
      parseModule(".global .u32 g[10];\n.entry k() { .reg .b32 r; .reg .b64 d; ld.global.u32 r, g[3]; mov.u64 d, g[2]; "
                  "mov.u64 d, g+4+4; ret; }");
  REQUIRE(p.ok());
  CHECK(operandsAt(p, 0)[1].is(OperandKind::Address));
  CHECK(operandsAt(p, 0)[1].offset() == 12);
  CHECK(operandsAt(p, 1)[1].is(OperandKind::Variable));
  CHECK(operandsAt(p, 1)[1].offset() == 8);
  CHECK(operandsAt(p, 2)[1].offset() == 8);
}

TEST_CASE("an index into vectors counts their parts") {
  Parsed p = parseModule(".global .v4 .b32 g[4];\n.entry k() { .reg .b32 r; ld.global.u32 r, g[3]; ret; }");
  REQUIRE(p.ok());
  CHECK(operandsAt(p, 0)[1].offset() == 12);
}

TEST_CASE("an index in a register is scaled before the access") {
  Parsed p =
      parseModule(".global .u64 g[10];\n.entry k() { .reg .b32 r; .reg .s16 h; .reg .b64 d; ld.global.u64 d, g[r]; "
                  "mov.u64 d, g[h+65535]; ret; }");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  const Function& k = p.function("k");
  std::vector<std::string> opcodes;
  for (const Instruction& i : k.instructions)
    opcodes.emplace_back(p.module->text(p.module->opcode(i).text));
  CHECK(opcodes == std::vector<std::string>{"mul.lo.u32", "cvt.u64.u32", "mov.u64", "add.u64", "ld.global.u64",
                                            "cvt.s32.s16", "add.u32", "mul.lo.u32", "cvt.u64.u32", "mov.u64", "add.u64",
                                            "mov.u64", "ret"});
  CHECK(operandsAt(p, 0)[2].bits() == 8);
  CHECK(operandsAt(p, 2)[1].is(OperandKind::Variable));
  CHECK(operandsAt(p, 4)[1].is(OperandKind::Address));
  CHECK(operandsAt(p, 4)[1].registerId() == operandsAt(p, 3)[0].registerId());
  CHECK(operandsAt(p, 6)[2].bits() == 0xFFFFFFFF);
  CHECK(operandsAt(p, 11)[1].registerId() == operandsAt(p, 10)[0].registerId());
}

TEST_CASE("guards, labels and branches, forwards and out of scopes") {
  Parsed p = parseBody("L: @%p1 bra L; @!%p2 bra M; { bra M; bra N; N: } M: ret;");
  REQUIRE(p.ok());
  const Function& k = p.function("k");
  CHECK(k.instructions[0].guard != RegisterId::None);
  CHECK(!k.instructions[0].guardNegated);
  CHECK(k.instructions[1].guardNegated);
  const auto label = [&](std::size_t at) {
    return p.module->text(k.labels[index(operandsAt(p, at)[0].labelId())].name);
  };
  CHECK(label(0) == "L");
  CHECK(label(1) == "M");
  CHECK(label(2) == "M");
  CHECK(label(3) == "N");
  const Label& m = k.labels[index(operandsAt(p, 1)[0].labelId())];
  CHECK(k.statements[m.statement].kind == StatementKind::Label);
  CHECK(k.scopeCount == 1);
}

TEST_CASE("opcodes and directives are ordinary names elsewhere") {
  Parsed p =
      parseBody(".reg .b32 add, call, version, generic; add.u32 add, call, version; mov: bra mov; { call: bra call; }");
  CHECK_MESSAGE(p.ok(), p.diags.render());
}

TEST_CASE("calls: direct, with results and arguments, through prototypes and target lists") {
  Parsed p =
      parseModule(".func (.param .b32 r) f(.param .b32 x) { ret; }\n.func g() { ret; }\n"
                  ".entry k() { .reg .b64 %p; .param .b32 r0, p0; call.uni (r0), f, (p0); call g; mov.u64 %p, g;\n"
                  "P: .callprototype _ (); T: .calltargets g; call %p, P; call (_), f, (1); call %p, (), T; }");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  const Function& k = p.function("k");
  CallParts first = callParts(k, k.instructions[0]);
  REQUIRE(first.returns != nullptr);
  CHECK(first.returns->groupCount() == 1);
  CHECK(first.callee->is(OperandKind::Function));
  CHECK(first.args->groupCount() == 1);
  CHECK(first.prototype == nullptr);
  CHECK(callParts(k, k.instructions[1]).args == nullptr);
  CallParts indirect = callParts(k, k.instructions[3]);
  CHECK(indirect.callee->is(OperandKind::Register));
  REQUIRE(indirect.prototype != nullptr);
  CHECK(indirect.prototype->is(OperandKind::Prototype));
  CHECK(k.parts(*callParts(k, k.instructions[4]).returns)[0].is(OperandKind::Sink));
  CHECK(callParts(k, k.instructions[5]).prototype->is(OperandKind::TargetList));
}

TEST_CASE("branch targets may be before their labels") {
  Parsed p = parseBody("T: .branchtargets A, B; brx.idx %r1, T; A: ret; B: ret;");
  REQUIRE(p.ok());
  const TargetList& list = p.module->targetLists.at(0);
  REQUIRE(list.targets.size() == 2);
  CHECK(p.module->text(p.function("k").labels[list.targets[1]].name) == "B");
  CHECK(operandsAt(p)[1].is(OperandKind::TargetList));
}

TEST_CASE("prototypes and definitions are one function; the semicolon may be left out") {
  Parsed p = parseModule(".visible .func (.param .b32 r) f(.param .b64 x)\n.extern .func g() .noreturn;\n"
                         ".func (.param .b32 r) f(.param .b64 x) .noreturn { ret; }");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  CHECK(p.module->functions.size() == 2);
  CHECK(p.function("f").hasBody);
  CHECK(p.function("f").linkage == Linkage::Visible);
  CHECK(!p.function("g").hasBody);
  CHECK(p.function("g").noreturn);
}

TEST_CASE("parameters in registers, arrays and pointers") {
  Parsed p = parseModule(".func (.reg .b32 r) f(.reg .b32 x, .param .align 8 .b8 s[24]) { mov.b32 r, x; ret; }\n"
                         ".entry k(.param .u64 .ptr .global .align 16 q, .param .f32 z[4]) { ret; }");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  const Function& f = p.function("f");
  CHECK(f.params[0].reg != RegisterId::None);
  CHECK(p.module->variable(f.params[1].variable).byteSize() == 24);
  CHECK(p.module->variable(f.params[1].variable).align == 8);
  const Variable& q = p.module->variable(p.function("k").params[0].variable);
  CHECK(q.isPointer);
  CHECK(q.pointerSpace == StateSpace::Global);
  CHECK(q.pointerAlign == 16);
  CHECK(q.align == 8);
}

TEST_CASE("performance directives and pragmas") {
  Parsed p =
      parseModule(".pragma \"one\";\n.entry k() .maxntid 32, 4 .minnctapersm 2 .maxnreg 64 .pragma \"two\", \"three\"; "
                  "{ .pragma \"nounroll\"; ret; }");
  REQUIRE(p.ok());
  const Function& k = p.function("k");
  CHECK(k.performance.maxntid == std::array<std::uint32_t, 3>{32, 4, 1});
  CHECK(k.performance.minnctapersm == 2);
  CHECK(k.performance.maxnreg == 64);
  REQUIRE(k.pragmas.size() == 2);
  CHECK(p.module->text(k.pragmas[1].text) == "three");
  CHECK(p.module->modulePragmas.size() == 1);
  REQUIRE(k.statements[0].kind == StatementKind::Pragma);
  CHECK(p.module->text(p.module->pragmas[k.statements[0].index].text) == "nounroll");
}

TEST_CASE("debug data: files, lines, inlined calls, sections") {
  Parsed p = parseModule(".file 1 \"a.cu\", 5, 6\n.entry k() {\n.loc 1 7 3\nret;\n"
                         ".loc 1 9 2, function_name $info+4, inlined_at 1 7 3\nret;\n}\n"
                         ".section .debug_str {\n$info:\n.b8 1, 2\n.b32 .debug_abbrev+8\n.b64 k-$info\n.b16 -1\n}");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  const Function& k = p.function("k");
  CHECK(p.module->files.at(0).size == 6);
  CHECK(p.module->debugLocs[index(k.instructions[0].debugLoc)].line == 7);
  const DebugLoc& inlined = p.module->debugLocs[index(k.instructions[1].debugLoc)];
  CHECK(inlined.functionNameOffset == 4);
  CHECK(inlined.inlinedLine == 7);
  const DebugSection& s = p.module->sections.at(0);
  CHECK(s.bytes.size() == 2 + 4 + 8 + 2);
  CHECK(s.bytes[1] == 2);
  CHECK(s.bytes[15] == 0xff);
  REQUIRE(s.references.size() == 2);
  CHECK(s.references[0].addend == 8);
  CHECK(p.module->text(s.references[1].minus) == "$info");
  CHECK(s.labels.size() == 1);
}

TEST_CASE("comments and the lines that a preprocessor leaves are white space") {
  Parsed p = parseModule("# 1 \"x.cu\"\n// one\n/* two\n /* */ .entry k() { ret; # 5 \"y\"\n }");
  CHECK_MESSAGE(p.ok(), p.diags.render());
  CHECK(p.function("k").loc == SourceLoc{7, 15});
}

TEST_CASE("an alias") {
  Parsed p = parseModule(".visible .func f() { ret; }\n.visible .func g();\n.alias g, f;");
  REQUIRE(p.ok());
  CHECK(p.module->function(p.function("g").aliasee).hasBody);
}
