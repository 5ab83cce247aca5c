#include "frontend/instr_form_table.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <set>
#include <string>

using namespace orias;
using namespace orias::ptx;

namespace {

/// A module of opcodes only.
struct Opcodes {
  Module module;
  explicit Opcodes(std::initializer_list<std::string_view> texts) {
    for (std::string_view text : texts) {
      Opcode opcode;
      opcode.text = module.names.intern(text);
      std::vector<NameId> words;
      while (true) {
        const std::size_t dot = text.find('.');
        words.push_back(module.names.intern(text.substr(0, dot)));
        if (dot == std::string_view::npos) break;
        text.remove_prefix(dot + 1);
      }
      opcode.base = words.front();
      opcode.modifiers = module.arena.copyArray(std::span<const NameId>(words).subspan(1));
      module.opcodes.push_back(opcode);
    }
  }
};

Form formOf(std::string_view text) {
  Opcodes opcodes({text});
  return FormTable(opcodes.module).form(OpcodeId(0));
}

} // namespace

TEST_CASE("every row of the instruction table can be read") {
  std::size_t rows = 0;
  std::set<Op> seen;
  for (std::span<const Row> family : instructionTable())
    for (const Row& row : family) {
      INFO(row.opcode);
      const RowSyntax syntax = parseRow(row);
      CHECK(syntax.op != Op::None);
      CHECK(!syntax.patterns.empty());
      seen.insert(syntax.op);
      ++rows;
    }
  CHECK(rows > 400);
  // Each operation has a row.
  for (unsigned op = 1; op <= static_cast<unsigned>(Op::Trap); ++op) {
    INFO(opName(static_cast<Op>(op)));
    CHECK(seen.contains(static_cast<Op>(op)));
  }
}

TEST_CASE("a form has its modifiers in slots") {
  const Form add = formOf("add.rn.ftz.f32");
  CHECK(add.op == Op::Add);
  CHECK(add.rounding() == Mod::Rn);
  CHECK(add.ftz());
  CHECK(!add.sat());
  CHECK(add.type() == Type::F32);
  CHECK(add.typeCount() == 1);

  const Form load = formOf("ld.global.L2::128B.v4.u32");
  CHECK(load.op == Op::Ld);
  CHECK(load.space() == StateSpace::Global);
  CHECK(load.vectorSize() == 4);
  CHECK(load.get(Slot::Prefetch) == Mod::L2Prefetch128);
  CHECK(load.type() == Type::U32);

  const Form convert = formOf("cvt.rzi.ftz.s32.f32");
  CHECK(convert.type(0) == Type::S32);
  CHECK(convert.type(1) == Type::F32);
  CHECK(convert.rounding() == Mod::Rzi);

  const Form compare = formOf("setp.lt.and.u32");
  CHECK(compare.compare() == Mod::Lt);
  CHECK(compare.boolOp() == Mod::And);
  CHECK(formOf("setp.lo.u32").compare() == Mod::Lo);
  CHECK(formOf("mul.lo.u32").mode() == Mod::Lo);
  CHECK(formOf("atom.global.and.b32").action() == Mod::And);
}

TEST_CASE("modifiers may come in any order, but the words of an operation may not") {
  const Form red = formOf("red.relaxed.gpu.global.add.f32");
  CHECK(red.op == Op::Red);
  CHECK(red.semantics() == Mod::Relaxed);
  CHECK(red.scope() == Mod::Gpu);
  CHECK(formOf("red.add.global.relaxed.gpu.f32").action() == Mod::Add);
  CHECK(formOf("vote.ballot.sync.b32").op == Op::Vote);
  CHECK(formOf("div.ftz.rn.f32").op == Op::Div);
  CHECK(formOf("mma.sync.aligned.row.col.m16n8k16.f32.f16.f16.f32").shape == MatrixShape{16, 8, 16});
  CHECK(formOf("cp.commit_group.async").op == Op::None);
  CHECK(formOf("bar.cta.sync").op == Op::BarSync);
  CHECK(formOf("cp.async.bulk.commit_group").op == Op::CpAsyncBulkCommitGroup);
  CHECK(formOf("cp.async.ca.shared.global").space2() == StateSpace::Global);
}

TEST_CASE("what no row has is refused with a reason") {
  auto problem = [](std::string_view text) {
    Opcodes opcodes({text});
    return FormTable(opcodes.module).entry(OpcodeId(0)).problem;
  };
  CHECK(problem("foo.f32") == "Not a name of any known instruction: 'foo'");
  CHECK(problem("add.f32.foo") == "Unknown modifier '.foo'");
  CHECK(problem("add.add.f32") == "Illegal modifier '.add' for instruction 'add'");
  CHECK(problem("add.f32.f32") == "Unexpected instruction types specified for 'add'");
  CHECK(problem("add").starts_with("Unexpected instruction types specified for 'add'"));
  CHECK(problem("add.f32") == "");
  Opcodes opcodes({"ad.f32"});
  CHECK(FormTable(opcodes.module).entry(OpcodeId(0)).hint == "did you mean 'add'?");
}

TEST_CASE("a fragment has as many registers as a thread holds of the matrix") {
  auto counts = [](std::string_view text) {
    Opcodes opcodes({text});
    const FormTable table(opcodes.module);
    std::vector<unsigned> result;
    for (const OperandSpec& spec : table.entry(OpcodeId(0)).patterns.at(0))
      result.push_back(spec.count);
    return result;
  };
  using Counts = std::vector<unsigned>;
  CHECK(counts("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == Counts{4, 4, 2, 4});
  CHECK(counts("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16") == Counts{2, 4, 2, 2});
  CHECK(counts("mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32") == Counts{8, 2, 2, 8});
  CHECK(counts("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64") == Counts{2, 1, 1, 2});
  CHECK(counts("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32") == Counts{4, 4, 2, 4});
  CHECK(counts("wmma.load.a.sync.aligned.row.m16n16k16.f16") == Counts{8, 0, 0});
  CHECK(counts("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32") == Counts{8, 8, 8, 8});
  CHECK(counts("wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.u8.s32") == Counts{8, 2, 2, 8});
  CHECK(counts("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16")[0] == 64);
  CHECK(counts("wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16")[0] == 16);
}
