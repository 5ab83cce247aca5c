#include "ori/analysis/cfg_graph.h"
#include "ori/analysis/dominators.h"
#include "ori/analysis/guarded_defs.h"
#include "ori/analysis/liveness.h"
#include "ori/analysis/loops.h"
#include "ori/analysis/register_pressure.h"

#include "ori/cfg_edit.h"
#include "ori/verify.h"
#include "random_function.h"

#include <boost/graph/dominator_tree.hpp>
#include <boost/graph/strong_components.hpp>

#include <array>
#include <map>
#include <set>

using namespace orias;
using namespace orias::ori;

namespace {

Function& randomFunction(Module& module, std::mt19937& random) {
  test::RandomShape shape;
  shape.blocks = 1 + static_cast<unsigned>(random() % 20);
  shape.instrsPerBlock = static_cast<unsigned>(random() % 6);
  shape.initialise = random() % 2;
  if (random() % 2) {
    shape.guardedPercent = 60;
    shape.sameGuardPercent = 80;
  }
  Function& f = module.newFunction("f", true);
  test::fillRandomly(f, random, shape);
  return f;
}

/// Whether `to` is reachable from `from` without `without`: the definition of dominance.
bool reaches(const Cfg& cfg, BlockId from, BlockId to, BlockId without) {
  if (from == without) return false;
  std::set<BlockId> seen{from};
  std::vector<BlockId> work{from};
  while (!work.empty()) {
    const BlockId at = work.back();
    work.pop_back();
    if (at == to) return true;
    for (BlockId next : cfg.successors(at))
      if (next != without && seen.insert(next).second) work.push_back(next);
  }
  return false;
}

} // namespace

TEST_CASE("dominators are those of the definition, and Boost.Graph's") {
  std::mt19937 random(3);
  for (unsigned round = 0; round < 60; ++round) {
    auto module = test::emptyModule();
    Function& f = randomFunction(*module, random);
    removeUnreachableBlocks(f); // Boost.Graph treats an unreachable block as the entry
    const Cfg cfg(f);
    const DomTree tree = DomTree::dominators(cfg);
    std::vector<BlockId> boostIdom(cfg.idCount(), kNoId);
    const CfgGraph graph{&cfg};
    boost::lengauer_tarjan_dominator_tree(
        graph, cfg.entry(), boost::make_iterator_property_map(boostIdom.begin(), get(boost::vertex_index, graph)));
    for (BlockId b : cfg.reversePostOrder()) {
      CHECK(tree.idom(b) == boostIdom[b]);
      for (BlockId a : cfg.reversePostOrder())
        CHECK(tree.dominates(a, b) == (a == b || !reaches(cfg, cfg.entry(), b, a)));
    }
  }
}

TEST_CASE("post-dominators are on every exit path") {
  std::mt19937 random(4);
  for (unsigned round = 0; round < 40; ++round) {
    auto module = test::emptyModule();
    const Function& f = randomFunction(*module, random);
    const Cfg cfg(f);
    const DomTree tree = DomTree::postDominators(cfg);
    for (BlockId b : cfg.reversePostOrder()) {
      CHECK(tree.isInTree(b));
      for (BlockId a : cfg.reversePostOrder()) {
        if (a == b || !tree.dominates(a, b)) continue;
        for (BlockId exit : cfg.reversePostOrder())
          if (cfg.successors(exit).empty() && exit != a) CHECK(!reaches(cfg, b, exit, a));
      }
    }
  }
}

TEST_CASE("frontiers: where dominance ends") {
  std::mt19937 random(5);
  for (unsigned round = 0; round < 40; ++round) {
    auto module = test::emptyModule();
    const Function& f = randomFunction(*module, random);
    const Cfg cfg(f);
    const DomTree tree = DomTree::dominators(cfg);
    const DominanceFrontier frontier(cfg, tree);
    for (BlockId a : cfg.reversePostOrder()) {
      std::set<BlockId> expected;
      for (BlockId b : cfg.reversePostOrder())
        if (tree.dominates(a, b))
          for (BlockId to : cfg.successors(b))
            if (!tree.strictlyDominates(a, to)) expected.insert(to);
      const auto of = frontier.of(a);
      CHECK(std::vector<BlockId>(of.begin(), of.end()) == std::vector<BlockId>(expected.begin(), expected.end()));
    }
    // The iterated frontier is the fixed point of the frontier.
    IteratedFrontier iterated(cfg, tree);
    for (unsigned set = 0; set < 5; ++set) {
      std::vector<BlockId> defs;
      for (BlockId b : cfg.reversePostOrder())
        if (random() % 4 == 0) defs.push_back(b);
      std::set<BlockId> expected;
      std::vector<BlockId> work = defs;
      while (!work.empty()) {
        const BlockId at = work.back();
        work.pop_back();
        for (BlockId to : frontier.of(at))
          if (expected.insert(to).second) work.push_back(to);
      }
      CHECK(iterated.compute(defs, [](BlockId) { return true; }) ==
            std::vector<BlockId>(expected.begin(), expected.end()));
    }
  }
}

TEST_CASE("loops agree with the cycles of the graph") {
  std::mt19937 random(6);
  for (unsigned round = 0; round < 60; ++round) {
    auto module = test::emptyModule();
    const Function& f = randomFunction(*module, random);
    const Cfg cfg(f);
    const DomTree tree = DomTree::dominators(cfg);
    const Loops loops(cfg, tree);
    for (LoopId id = 0; id < loops.all().size(); ++id) {
      const Loop& loop = loops.loop(id);
      if (loop.parent != kNoId) CHECK(loop.parent < id);
      const auto blocks = loops.blocks(id);
      CHECK(blocks.front() == loop.header);
      std::set<BlockId> expected{loop.header};
      for (BlockId b : cfg.reversePostOrder())
        for (BlockId latch : loop.latches)
          if (b != loop.header && reaches(cfg, b, latch, loop.header)) expected.insert(b);
      CHECK(std::set<BlockId>(blocks.begin(), blocks.end()) == expected);
      CHECK(blocks.size() == expected.size());
      for (BlockId b : blocks)
        CHECK(loops.contains(id, b));
    }
    CHECK(loops.order().size() == cfg.reversePostOrder().size());
    // In a reducible graph each cycle is in a loop.
    std::vector<unsigned> component(cfg.idCount());
    const CfgGraph graph{&cfg};
    const auto index = get(boost::vertex_index, graph);
    boost::strong_components(graph, boost::make_iterator_property_map(component.begin(), index));
    if (!loops.isReducible()) continue;
    for (BlockId a : cfg.reversePostOrder())
      for (BlockId b : cfg.successors(a))
        if (component[a] == component[b]) {
          CHECK(loops.depth(a) > 0);
          CHECK(loops.depth(b) > 0);
        }
  }
}

TEST_CASE("a cycle with two entries is irreducible") {
  const auto module =
      test::kernel(".L0:\n  @%p0 BRA .L2;\n  -> .L1;\n.L1:\n  -> .L2;\n.L2:\n  @%p0 BRA .L1;\n  -> .L3;\n"
                   ".L3:\n  EXIT;\n");
  const Cfg cfg(*module->functions[0]);
  const Loops loops(cfg, DomTree::dominators(cfg));
  CHECK(!loops.isReducible());
  CHECK(loops.all().empty());
}

// Liveness by its definition: iterate the data-flow equations with plain sets.
TEST_CASE("liveness solves the data-flow equations") {
  std::mt19937 random(8);
  for (unsigned round = 0; round < 60; ++round) {
    auto module = test::emptyModule();
    const Function& f = randomFunction(*module, random);
    const Cfg cfg(f);
    const Liveness liveness(cfg);
    const Components& components = liveness.components();
    using Set = std::set<CompId>;
    std::vector<Set> liveIn(cfg.idCount()), liveOut(cfg.idCount()), definedIn(cfg.idCount()), definedOut(cfg.idCount());
    for (bool changed = true; changed;) {
      changed = false;
      for (BlockId id : cfg.reversePostOrder()) {
        Set live, defined = definedIn[id];
        for (BlockId to : cfg.successors(id))
          live.insert(liveIn[to].begin(), liveIn[to].end());
        changed |= liveOut[id] != live;
        liveOut[id] = live;
        const Block& block = *f.block(id);
        GuardValues guards(components);
        std::map<const Instr*, GuardValue> guardOf;
        for (const Instr& i : block) {
          if (i.isGuarded()) guardOf[&i] = guards.of(i);
          guards.define(i);
        }
        std::map<CompId, GuardedLife> lives;
        for (CompId c : live)
          lives.emplace(c, true);
        for (const Instr* i = block.last; i; i = i->prev) {
          for (const Operand& o : i->ops())
            if (o.isDef)
              components.forEach(o, [&](CompId c) {
                GuardedLife& life = lives.emplace(c, false).first->second;
                i->isGuarded() ? life.writeUnder(guardOf[i]) : life.write();
              });
          for (const Operand& o : i->refs())
            if (!o.isDef)
              components.forEach(o, [&](CompId c) {
                GuardedLife& life = lives.emplace(c, false).first->second;
                i->isGuarded() && &o != &i->guard() ? life.readUnder(guardOf[i]) : life.read();
              });
        }
        live.clear();
        for (const auto& [c, life] : lives)
          if (life.isLive()) live.insert(c);
        changed |= liveIn[id] != live;
        liveIn[id] = live;
        for (BlockId from : cfg.predecessors(id))
          if (cfg.isReachable(from)) defined.insert(definedOut[from].begin(), definedOut[from].end());
        definedIn[id] = defined;
        for (const Instr& i : block)
          for (const Operand& o : i.ops())
            if (o.isDef) components.forEach(o, [&](CompId c) { defined.insert(c); });
        changed |= definedOut[id] != defined;
        definedOut[id] = defined;
      }
    }
    auto both = [](const Set& a, const Set& b) {
      Set r;
      for (CompId c : a)
        if (b.count(c)) r.insert(c);
      return r;
    };
    LiveCursor cursor(liveness);
    for (BlockId id : cfg.reversePostOrder()) {
      Set in, out;
      liveness.liveIn(id).forEach([&](CompId c) { in.insert(c); });
      liveness.liveOut(id).forEach([&](CompId c) { out.insert(c); });
      CHECK(in == both(liveIn[id], definedIn[id]));
      CHECK(out == both(liveOut[id], definedOut[id]));
      // A walk up a block ends with its live-in registers, except those that are undefined there.
      cursor.enter(*f.block(id));
      while (cursor.next())
        cursor.step();
      Set walked;
      for (CompId c : cursor.live())
        if (definedIn[id].count(c)) walked.insert(c);
      CHECK(walked == in);
    }
  }
}

TEST_CASE("guarded definitions do not stretch lives to the entry") {
  const auto module =
      test::kernel(".L0:\n  COPY %r0, 1;\n  -> .L1;\n"
                   ".L1:\n  @%p3 COPY %r1, 5;\n  @%p3 IADD3 %r0, %r1, %r0, RZ;\n  STS [RZ], %r0;\n  EXIT;\n");
  const Function& f = *module->functions[0];
  const Cfg cfg(f);
  const Liveness liveness(cfg);
  CHECK(!liveness.isLiveIn(1, liveness.components().of(1, 0)));
  CHECK(liveness.isLiveIn(1, liveness.components().of(0, 0)));
  CHECK(RegisterPressure(liveness).maximum()[static_cast<unsigned>(File::R)] == 2);
}

TEST_CASE("a guarded definition that is read under the same guard only is not live around the loop") {
  const auto module = test::kernel(
      ".L0:\n  S2R %r0, SR_TID.X;\n  -> .L1;\n"
      ".L1:\n  ISETP.LT.U32.AND %p3, PT, %r0, 9, PT;\n  @%p3 LDS %r1, [%r0];\n  @%p3 IADD3 %r2, %r1, %r1, RZ;\n"
      "  @%p3 STS [%r0], %r2;\n  ISETP.LT.U32.AND %p4, PT, %r0, 5, PT;\n  @%p4 BRA .L1;\n  -> .L2;\n.L2:\n  EXIT;\n");
  const Function& f = *module->functions[0];
  const Cfg cfg(f);
  const Liveness liveness(cfg);
  CHECK(!liveness.isLiveIn(1, liveness.components().of(1, 0)));
  CHECK(!liveness.isLiveIn(1, liveness.components().of(2, 0)));
  CHECK(liveness.isLiveIn(1, liveness.components().of(0, 0)));
  CHECK(RegisterPressure(liveness).maximum()[static_cast<unsigned>(File::R)] == 2);
}

TEST_CASE("a guarded definition with an undefined rest is not live around the loop") {
  const auto isLiveAround = [](std::string_view mark) {
    const auto module = test::kernel(".L0:\n  S2R %r0, SR_TID.X;\n  -> .L1;\n"
                                     ".L1:\n  ISETP.LT.U32.AND %p3, PT, %r0, 9, PT;\n  @%p3 LDS %r1, [%r0]" +
                                     std::string(mark) +
                                     ";\n  SHFL.IDX PT, %r2, %r1, RZ, 0x1f;\n  STS [%r0], %r2;\n"
                                     "  ISETP.LT.U32.AND %p4, PT, %r2, 5, PT;\n  @%p4 BRA .L1;\n  -> .L2;\n"
                                     ".L2:\n  EXIT;\n");
    const Function& f = *module->functions[0];
    const Cfg cfg(f);
    const Liveness liveness(cfg);
    return liveness.isLiveIn(1, liveness.components().of(1, 0));
  };
  CHECK(isLiveAround(""));
  CHECK(!isLiveAround(" {undef}"));
}

TEST_CASE("another guard or result ends what is known of the rest, the same one in another register does not") {
  const auto module = test::kernel(".L0:\n  @%p0 MOV %r1, 5 {undef};\n  STS [RZ], %r1;\n  EXIT;\n");
  Function& f = *module->functions[0];
  Instr& mov = *f.layout()[0]->first;
  CHECK(mov.hasUndefinedRest);
  const VRegId p = f.newVReg(File::P, 1);
  f.moveGuard(&mov, f.use(p));
  CHECK(mov.hasUndefinedRest);
  f.moveResult(&mov, 0, f.use(f.newVReg(File::R, 1)));
  CHECK(mov.hasUndefinedRest);
  f.setOperand(&mov, 0, f.use(f.newVReg(File::R, 1)));
  CHECK(!mov.hasUndefinedRest);
  mov.hasUndefinedRest = true;
  f.setGuard(&mov, f.use(p).notted());
  CHECK(!mov.hasUndefinedRest);
}

TEST_CASE("definitions under a predicate and its complement end a life") {
  const auto module = test::kernel(
      ".L0:\n  S2R %r0, SR_TID.X;\n  -> .L1;\n"
      ".L1:\n  ISETP.LT.U32.AND %p3, PT, %r0, 9, PT;\n  @%p3 COPY %r1, 5;\n  @!%p3 LDS %r1, [%r0];\n"
      "  STS [%r0], %r1;\n  ISETP.LT.U32.AND %p4, PT, %r1, 5, PT;\n  @%p4 BRA .L1;\n  -> .L2;\n.L2:\n  EXIT;\n");
  const Function& f = *module->functions[0];
  const Cfg cfg(f);
  const Liveness liveness(cfg);
  CHECK(!liveness.isLiveIn(1, liveness.components().of(1, 0)));
}

TEST_CASE("another value of the predicate, another sign or a read without a guard keeps the old value alive") {
  const auto isLiveAround = [](std::string_view body) {
    const auto module = test::kernel(".L0:\n  S2R %r0, SR_TID.X;\n  COPY %r1, 3;\n  -> .L1;\n.L1:\n"
                                     "  ISETP.LT.U32.AND %p3, PT, %r0, 9, PT;\n  @%p3 LDS %r1, [%r0];\n" +
                                     std::string(body) +
                                     "  ISETP.LT.U32.AND %p4, PT, %r0, 5, PT;\n  @%p4 BRA .L1;\n  -> .L2;\n"
                                     ".L2:\n  EXIT;\n");
    const Cfg cfg(*module->functions[0]);
    const Liveness liveness(cfg);
    return liveness.isLiveIn(1, liveness.components().of(1, 0));
  };
  CHECK(!isLiveAround("  @%p3 STS [%r0], %r1;\n"));
  CHECK(isLiveAround("  @!%p3 STS [%r0], %r1;\n"));
  CHECK(isLiveAround("  STS [%r0], %r1;\n"));
  CHECK(isLiveAround("  ISETP.LT.U32.AND %p3, PT, %r0, 7, PT;\n  @%p3 STS [%r0], %r1;\n"));
  CHECK(isLiveAround("  @%p3 ISETP.LT.U32.AND %p3, PT, %r0, 7, PT;\n  @%p3 STS [%r0], %r1;\n"));
  CHECK(isLiveAround("  @%p5 STS [%r0], %r1;\n"));
}

// Each lane runs the block with its own predicates: a value is live if some lane reads it.
TEST_CASE("liveness under guards covers what lanes with any predicates read") {
  std::mt19937 random(11);
  unsigned sharper = 0;
  for (unsigned round = 0; round < 400; ++round) {
    // Registers 0 to 2 are written and read under predicates 5 and 6, which are sometimes rewritten.
    std::string body = "  reg %r0, %r1, %r2, %p5, %p6;\n.L0:\n  COPY %r3, 1;\n  -> .L1;\n.L1:\n";
    const unsigned length = 6 + random() % 8;
    for (unsigned i = 0; i < length; ++i) {
      const unsigned guard = random() % 5;
      const std::string under =
          guard == 0 ? "  "
                     : std::string("  @") + (guard % 2 ? "!" : "") + "%p" + std::to_string(5 + (guard - 1) / 2) + " ";
      const std::string reg = "%r" + std::to_string(random() % 3);
      switch (random() % 5) {
      case 0:
      case 1: body += under + "MOV " + reg + ", 5;\n"; break;
      case 2:
      case 3: body += under + "STS [RZ], " + reg + ";\n"; break;
      default: body += under + "ISETP.LT.U32.AND %p" + std::to_string(5 + random() % 2) + ", PT, %r3, 9, PT;\n";
      }
    }
    body += "  EXIT;\n";
    const auto module = test::kernel(body);
    const Function& f = *module->functions[0];
    const Cfg cfg(f);
    const Liveness liveness(cfg);
    const Components& components = liveness.components();
    std::vector<const Instr*> code;
    for (const Instr& i : *f.block(1))
      code.push_back(&i);
    // live[n]: before instruction n, for some values of the predicates; conventional[n]: guarded writes end no live
    // range.
    std::vector<std::array<bool, 3>> live(code.size() + 1), conventional(code.size() + 1);
    unsigned writes = 0;
    for (const Instr* i : code)
      writes += i->op == Op::ISETP;
    for (unsigned values = 0; values < 1u << (2 + writes); ++values) {
      std::array<bool, 2> now = {(values & 1) != 0, (values & 2) != 0};
      std::vector<bool> executes;
      for (unsigned n = 0, written = 0; n < code.size(); ++n) {
        const Operand& guard = code[n]->guard();
        executes.push_back(!code[n]->isGuarded() || now[guard.reg - 5] != guard.inverted());
        if (code[n]->op == Op::ISETP) {
          const bool value = (values >> (2 + written++) & 1) != 0;
          if (executes[n]) now[code[n]->op_(0).reg - 5] = value;
        }
      }
      std::array<bool, 3> isLive{};
      for (std::size_t n = code.size(); n-- > 0;) {
        if (executes[n])
          for (unsigned r = 0; r < 3; ++r) {
            if (code[n]->op == Op::MOV && code[n]->op_(0).reg == r) isLive[r] = false;
            if (code[n]->op == Op::STS)
              for (const Operand& o : code[n]->ops())
                if (o.isReg(File::R) && o.isVirtual() && o.reg == r) isLive[r] = true;
          }
        for (unsigned r = 0; r < 3; ++r)
          live[n][r] |= isLive[r];
      }
    }
    std::array<bool, 3> isLive{};
    for (std::size_t n = code.size(); n-- > 0;) {
      for (unsigned r = 0; r < 3; ++r) {
        if (code[n]->op == Op::MOV && code[n]->op_(0).reg == r && !code[n]->isGuarded()) isLive[r] = false;
        if (code[n]->op == Op::STS)
          for (const Operand& o : code[n]->ops())
            if (o.isReg(File::R) && o.isVirtual() && o.reg == r) isLive[r] = true;
      }
      conventional[n] = isLive;
    }
    LiveCursor cursor(liveness);
    cursor.enter(*f.block(1));
    for (std::size_t n = code.size(); n-- > 0;) {
      cursor.step();
      for (unsigned r = 0; r < 3; ++r) {
        // Registers that are not yet defined are not live, regardless of later reads.
        bool isDefined = false;
        for (std::size_t d = 0; d < n; ++d)
          isDefined |= code[d]->op == Op::MOV && code[d]->op_(0).reg == r;
        if (!isDefined) continue;
        const bool isSaidLive = cursor.isLive(components.of(r, 0));
        CHECK((isSaidLive || !live[n][r]));
        CHECK((!isSaidLive || conventional[n][r]));
        sharper += conventional[n][r] && !isSaidLive;
      }
    }
  }
  CHECK(sharper > 30);
}

TEST_CASE("pressure counts pairs and unread results") {
  const auto module = test::kernel("  reg %r0:2, %r1:4;\n.L0:\n  COPY %r0.0, 1;\n  COPY %r0.1, 1;\n"
                                   "  LDS.128 %r1:4, [%r0.0];\n  STS [RZ], %r0.1;\n  EXIT;\n");
  const Function& f = *module->functions[0];
  const Cfg cfg(f);
  CHECK(RegisterPressure(Liveness(cfg)).maximum()[static_cast<unsigned>(File::R)] == 5);
}

// The check of IncrementalPressure compares with a full computation after each update.
TEST_CASE("pressure follows instructions that come, change and go") {
  std::mt19937 random(11);
  for (unsigned round = 0; round < 150; ++round) {
    auto module = test::emptyModule();
    Function& f = randomFunction(*module, random);
    const Cfg cfg(f);
    IncrementalPressure pressure(cfg, true);
    for (unsigned edit = 0; edit < 12; ++edit) {
      std::vector<Instr*> all;
      for (BlockId id : cfg.reversePostOrder())
        for (Instr& i : *f.block(id))
          if (!isTerminator(i.op) && i.op != Op::PHI && !isa::desc(i.op).has(isa::Flag::Branch)) all.push_back(&i);
      if (all.empty()) break;
      Instr* instr = all[random() % all.size()];
      if (random() % 3 == 0) { // remove
        pressure.note(*instr);
        f.erase(instr);
      } else { // insert elsewhere, with a new register for the result
        std::vector<isa::Operand> operands;
        for (const Operand& o : instr->ops()) {
          operands.push_back(o.value());
          if (o.isDef && o.isVirtual() && random() % 2) operands.back().reg = f.newVReg(o.file, f.vreg(o.reg).width);
        }
        Instr* again = f.create(instr->op, operands);
        again->mods = instr->mods;
        if (random() % 2) f.setGuard(again, instr->guard().value());
        f.insertBefore(all[random() % all.size()], again);
        pressure.note(*again);
      }
      if (random() % 2) pressure.update();
    }
    CHECK_NOTHROW(pressure.update());
  }
}

TEST_CASE("control-flow edits keep the code right") {
  std::mt19937 random(9);
  for (unsigned round = 0; round < 60; ++round) {
    auto module = test::emptyModule();
    Function& f = randomFunction(*module, random);
    const test::Trace before = test::Interpreter(f).run(60);
    removeUnreachableBlocks(f);
    splitCriticalEdges(f);
    CHECK(criticalEdges(f).empty());
    CHECK(render(verify(f)) == "");
    test::checkSameBehaviour(before, f);
    mergeBlocks(f);
    makeFallthroughsAdjacent(f);
    CHECK(render(verify(f)) == "");
    test::checkSameBehaviour(before, f);
    for (std::size_t i = 0; i < f.layout().size(); ++i)
      if (f.layout()[i]->fallthrough != kNoId) CHECK(f.layout()[i]->fallthrough == f.layout()[i + 1]->id);
  }
}

// Not timed: quadratic algorithms, or recursion as deep as the program, fail on these.
TEST_CASE("huge functions") {
  auto module = test::emptyModule();
  Function& f = module->newFunction("long", true);
  constexpr unsigned kBlocks = 30'000;
  Builder b(f);
  const isa::Operand p = b.newP();
  std::vector<isa::Operand> values;
  for (unsigned i = 0; i < 50; ++i)
    values.push_back(b.newR());
  for (unsigned i = 0; i < kBlocks; ++i)
    f.newBlock();
  for (Block* block : f.layout()) {
    b.setBlock(block);
    for (unsigned i = 0; i < 3; ++i)
      b.emit(Op::IADD3, {values[(block->id + i) % 50], isa::Operand::pt(), isa::Operand::pt(),
                         values[(block->id * 7 + i) % 50], isa::Operand::immediate(1), isa::Operand::rz()});
    if (block->id + 1 == kBlocks) {
      b.setGuard(p);
      b.branch(f.entry()); // one loop around everything
      b.setGuard(isa::Operand::pt());
      block->fallthrough = f.newBlock()->id;
      b.setBlock(f.block(block->fallthrough));
      b.emit(Op::EXIT, {});
      break;
    }
    block->fallthrough = block->id + 1;
  }
  const Cfg cfg(f);
  const DomTree tree = DomTree::dominators(cfg);
  CHECK(tree.level(kBlocks) == kBlocks);
  const Loops loops(cfg, tree);
  REQUIRE(loops.all().size() == 1);
  CHECK(loops.blocks(0).size() == kBlocks);
  CHECK(DomTree::postDominators(cfg).dominates(kBlocks, 0));
  const Liveness liveness(cfg);
  CHECK(RegisterPressure(liveness).maximum()[0] <= 50);
}
