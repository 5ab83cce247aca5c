#pragma once

// Random functions with an interpreter of abstract values, to check that a transformation preserves the behavior.

#include "ori/builder.h"

#include "encoder/isa/desc.h"
#include "helpers.h"

#include <map>
#include <optional>
#include <random>
#include <vector>

namespace orias::ori::test {

struct RandomShape {
  unsigned blocks = 8;
  unsigned instrsPerBlock = 6;
  unsigned registers = 6;
  unsigned guardedPercent = 10;
  bool initialise = true;        ///< define everything at the entry
  unsigned sameGuardPercent = 0; ///< share of the guarded instructions with the last guard or its inverse
};

/// Adds copies, additions of one and two words, comparisons and stores (the observable behavior), with any control
/// flow.
inline void fillRandomly(Function& f, std::mt19937& random, const RandomShape& shape) {
  auto pick = [&](std::size_t n) { return static_cast<unsigned>(random() % n); };
  std::vector<VRegId> words, pairs, predicates;
  for (unsigned i = 0; i < shape.registers; ++i)
    words.push_back(f.newVReg(File::R));
  for (unsigned i = 0; i < shape.registers / 2 + 1; ++i)
    pairs.push_back(f.newVReg(File::R, 2));
  for (unsigned i = 0; i < 3; ++i)
    predicates.push_back(f.newVReg(File::P));
  auto word = [&] { return pick(2) ? f.use(words[pick(words.size())]) : f.part(pairs[pick(pairs.size())], pick(2)); };
  auto pair = [&] { return f.use(pairs[pick(pairs.size())]); };
  auto predicate = [&] { return f.use(predicates[pick(predicates.size())]); };
  for (unsigned i = 0; i < shape.blocks; ++i)
    f.newBlock();
  isa::Operand lastGuard = f.use(predicates.front());
  Builder b(f, f.entry());
  if (shape.initialise) {
    std::int32_t value = 100;
    for (VRegId id : words)
      b.copy(f.use(id), isa::Operand::immediate(++value));
    for (VRegId id : pairs)
      for (unsigned k = 0; k < 2; ++k)
        b.copy(f.part(id, k), isa::Operand::immediate(++value));
    for (VRegId id : predicates)
      b.emit(Op::ISETP, {f.use(id), isa::Operand::pt(), f.use(words[pick(words.size())]), isa::Operand::rz()});
  }
  for (Block* block : f.layout()) {
    b.setBlock(block);
    for (unsigned i = 0; i < shape.instrsPerBlock; ++i) {
      isa::Operand guard = isa::Operand::pt();
      if (pick(100) < shape.guardedPercent) {
        const bool isSame = shape.sameGuardPercent != 0 && pick(100) < shape.sameGuardPercent;
        guard = isSame ? lastGuard : predicate();
        if (isSame && pick(3) == 0) guard.flags ^= isa::Operand::kNot;
        lastGuard = guard;
      }
      b.setGuard(guard);
      switch (pick(8)) {
      case 0:
        b.emit(Op::IADD3, {word(), isa::Operand::pt(), isa::Operand::pt(), word(), word(), isa::Operand::rz()});
        break;
      case 1: b.emit(Op::IADD64, {pair(), pair(), pair()}); break;
      case 2: b.emit(Op::ISETP, {predicate(), isa::Operand::pt(), word(), word()}); break;
      case 3: b.copy(pair(), pair()); break;
      case 4:
      case 5: b.copy(word(), word()); break;
      case 6: b.copy(predicate(), predicate()); break;
      default:
        b.emit(Op::STS, {isa::Operand::rz(), isa::Operand::zero(File::UR), isa::Operand::immediate(0), word()});
        break;
      }
    }
    b.setGuard(isa::Operand::pt());
    Block* other = f.block(pick(shape.blocks));
    switch (pick(6)) {
    case 0: b.emit(Op::EXIT, {}); break;
    case 1: b.branch(other); break;
    case 2: block->fallthrough = other->id; break;
    default:
      b.setGuard(pick(2) ? predicate() : predicate().notted());
      b.branch(other);
      block->fallthrough = f.block(pick(shape.blocks))->id;
      break;
    }
    b.setGuard(isa::Operand::pt());
  }
}

/// The behavior of a run: the stored values; nullopt for a value that depends on an undefined one.
struct Trace {
  std::vector<std::optional<std::uint64_t>> stores;
  bool exited = false;
  bool lost = false; ///< a branch depended on an undefined value
};

class Interpreter {
 public:
  explicit Interpreter(const Function& function) : f_(function) {}

  /// Stops after `maxBlocks` blocks or `maxStores` stores.
  Trace run(unsigned maxBlocks, std::size_t maxStores = ~std::size_t{0}) {
    const Block* block = f_.entry();
    BlockId from = kNoId;
    for (unsigned n = 0; n < maxBlocks && trace_.stores.size() < maxStores; ++n) {
      enter(*block, from);
      std::optional<BlockId> next;
      for (const Instr& instr : *block) {
        if (instr.op == Op::PHI) continue;
        const Value guard = guardOf(instr);
        if (isTerminator(instr.op)) {
          if (!guard) {
            trace_.lost = true;
            return trace_;
          }
          if (*guard & 1) {
            if (instr.op == Op::EXIT) {
              trace_.exited = true;
              return trace_;
            }
            for (const Operand& o : instr.ops())
              if (o.isLabel()) next = o.reg;
          }
          continue;
        }
        execute(instr, guard);
      }
      from = block->id;
      block = f_.block(next.value_or(block->fallthrough));
    }
    return trace_;
  }

 private:
  using Value = std::optional<std::uint64_t>; ///< nullopt: undefined

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9ull;
    return x ^ (x >> 29);
  }

  Value read(const Operand& o, unsigned k) const {
    if (o.isImm()) return static_cast<std::uint64_t>(o.imm);
    if (o.isZeroReg()) return o.file == File::P ? 1 : 0;
    if (!o.isVirtual()) return 0;
    const auto at = values_.find({o.reg, o.sub + k});
    return at == values_.end() ? std::nullopt : at->second;
  }
  void write(const Operand& o, unsigned k, Value value) {
    if (o.isVirtual()) values_[{o.reg, o.sub + k}] = value;
  }

  Value guardOf(const Instr& instr) const {
    Value value = read(instr.guard(), 0);
    if (value && instr.guard().inverted()) value = ~*value;
    return value;
  }

  /// All phis of a block read before any of them writes.
  void enter(const Block& block, BlockId from) {
    std::vector<std::pair<const Instr*, std::vector<Value>>> results;
    for (const Instr& phi : block) {
      if (phi.op != Op::PHI) break;
      std::vector<Value> result(phi.op_(0).width);
      for (unsigned i = 1; i + 1 < phi.operandCount; i += 2)
        if (phi.op_(i + 1).reg == from)
          for (unsigned k = 0; k < result.size(); ++k)
            result[k] = phi.op_(i).isNone() ? std::nullopt : read(phi.op_(i), k);
      results.emplace_back(&phi, std::move(result));
    }
    for (const auto& [phi, result] : results)
      for (unsigned k = 0; k < result.size(); ++k)
        write(phi->op_(0), k, result[k]);
  }

  void execute(const Instr& instr, Value guard) {
    if (instr.op == Op::UNDEF) {
      for (unsigned k = 0; k < instr.op_(0).width; ++k)
        write(instr.op_(0), k, std::nullopt);
      return;
    }
    Value hash = static_cast<std::uint64_t>(instr.op);
    for (const Operand& o : instr.ops())
      if (!o.isDef)
        for (unsigned k = 0; k < o.width; ++k) {
          const Value value = read(o, k);
          hash = hash && value ? Value(mix(*hash, *value)) : std::nullopt;
        }
    if (instr.op == Op::STS) {
      if (!guard)
        trace_.stores.push_back(std::nullopt);
      else if (*guard & 1)
        trace_.stores.push_back(hash);
      return;
    }
    if (guard && !(*guard & 1)) return;
    std::vector<Value> results; // all sources are read before the first result is written
    for (const Operand& o : instr.ops())
      if (o.isDef)
        for (unsigned k = 0; k < o.width; ++k)
          results.push_back(instr.op == Op::COPY ? read(instr.op_(1), k)
                            : hash               ? Value(mix(*hash, k + 1))
                                                 : std::nullopt);
    std::size_t next = 0;
    for (const Operand& o : instr.ops())
      if (o.isDef)
        for (unsigned k = 0; k < o.width; ++k, ++next)
          write(o, k, guard ? results[next] : std::nullopt);
  }

  const Function& f_;
  std::map<std::pair<VRegId, unsigned>, Value> values_;
  Trace trace_;
};

/// Checks that `after` behaves as `before` where that is defined. Its limit of blocks is higher, because blocks may
/// have been split.
inline void checkSameBehaviour(const Trace& before, const Function& after) {
  const Trace now = Interpreter(after).run(1000, before.stores.size() + 1);
  std::size_t count = before.stores.size();
  // A store under an undefined guard may be missing, so later stores cannot be compared.
  for (std::size_t i = 0; i < count; ++i) {
    if (!before.stores[i]) continue;
    REQUIRE(i < now.stores.size());
    REQUIRE(now.stores[i].has_value());
    REQUIRE(*now.stores[i] == *before.stores[i]);
  }
  if (before.exited && !before.lost) {
    CHECK(now.exited);
    CHECK(now.stores.size() == count);
  }
}

} // namespace orias::ori::test
