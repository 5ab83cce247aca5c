#include "regalloc/cross_file_moves.h"

#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/module.h"
#include "regalloc/forwarding.h"

#include <algorithm>
#include <array>
#include <optional>

namespace orias::regalloc {

using isa::File;
using ori::Instr;
using ori::Operand;

namespace {

/// A component of the virtual register that a value is spilled to, or a bit of it.
struct Home {
  ori::VRegId reg = ori::kNoId;
  std::uint32_t sub = 0;
  std::uint8_t bit = SpillMove::kWholeWord;
  bool exists() const { return reg != ori::kNoId; }
  friend bool operator==(const Home&, const Home&) = default;
};

/// A move between a register and a home in another file.
struct Transfer {
  const Operand* reg = nullptr;
  Home home;
  bool isToHome = false;
};

class Forwarder {
 public:
  Forwarder(ori::Function& function, SpillState& state)
      : function_(function), state_(state), cfg_(function.analyses().cfg()), holds_(cfg_, numberRegisters(), Home{}),
        isHome_(function.vregCount()) {}

  void run() {
    for (const ori::BlockId id : cfg_.reversePostOrder()) {
      holds_.enter(id);
      forgetUniform();
      for (Instr *instr = function_.block(id)->first, *next; instr; instr = next) {
        next = instr->next;
        step(*instr);
      }
      holds_.leave(id);
    }
    removeUnreadHomes();
  }

 private:
  static constexpr std::array kFiles{File::R, File::UR, File::P, File::UP};

  /// Numbers the registers of all files; returns how many there are.
  std::uint32_t numberRegisters() {
    std::uint32_t count = 0;
    for (const File file : kFiles) {
      firstOf_[static_cast<std::size_t>(file)] = count;
      count += function_.module().target().registerCount(file);
    }
    return count;
  }

  /// At the beginning of a block: another side of a divergent branch may have changed the uniform registers.
  void forgetUniform() {
    for (const File file : {File::UR, File::UP})
      std::fill_n(holds_.now.begin() + numberOf(file, 0), function_.module().target().registerCount(file), Home{});
  }

  void step(Instr& instr) {
    const std::optional<Transfer> transfer = transferOf(instr);
    if (transfer && !transfer->isToHome && forward(instr, *transfer)) return;
    forgetResults(instr);
    if (!transfer || instr.isGuarded()) return;
    if (const std::optional<std::uint32_t> place = placeOf(*transfer->reg)) {
      holds_.now[*place] = transfer->home;
      isHome_[transfer->home.reg] = true;
    }
  }

  /// Only for moves of single registers: wide values are moved by component. The temporary represents another register,
  /// so the other operand is the home.
  std::optional<Transfer> transferOf(const Instr& instr) const {
    const SpillMove* move = state_.assignment.fileMove(instr);
    if (!move) return std::nullopt;
    const Operand &to = instr.op_(move->reg), &from = instr.op_(move->from);
    if (to.file == from.file || !to.isVirtual() || !from.isVirtual() || to.width > 1 || from.width > 1)
      return std::nullopt;
    const bool isToHome = state_.assignment.standsFor[from.reg] != from.reg;
    const Operand &reg = isToHome ? from : to, &home = isToHome ? to : from;
    if (state_.assignment.standsFor[home.reg] != home.reg) return std::nullopt; // spilled itself
    return Transfer{&reg, {home.reg, home.sub, move->bit}, isToHome};
  }

  std::uint32_t numberOf(File file, std::uint32_t reg) const { return firstOf_[static_cast<std::size_t>(file)] + reg; }

  /// The first register of an operand; nothing if it has none.
  std::optional<std::uint32_t> placeOf(const Operand& o) const {
    if (!o.isReg() || o.isZeroReg() || o.file == File::B) return std::nullopt;
    if (!o.isVirtual()) return numberOf(o.file, o.reg);
    const std::uint32_t first = state_.assignment.physical[o.reg];
    return first == ~0u ? std::nullopt : std::optional(numberOf(o.file, first + o.sub));
  }

  /// Calls f(first register, how many) for the results of an instruction.
  template <typename F> void forEachResult(const Instr& instr, F&& f) const {
    for (const Operand& o : instr.ops())
      if (o.isDef)
        if (const std::optional<std::uint32_t> first = placeOf(o)) f(*first, std::max<std::uint32_t>(o.width, 1));
  }

  void forgetResults(const Instr& instr) {
    forEachResult(instr, [&](std::uint32_t first, std::uint32_t count) {
      std::fill_n(holds_.now.begin() + first, count, Home{});
    });
    for (const Operand& o : instr.ops())
      if (o.isDef && o.isVirtual() && isHome_[o.reg])
        std::ranges::replace_if(
            holds_.now, [&](const Home& home) { return home.reg == o.reg; }, Home{});
    if (changesHidden(instr))
      for (const File file : kFiles)
        for (std::uint32_t r = 0; r < function_.module().target().registerCount(file); ++r)
          if (changesHidden(instr, file, r)) holds_.now[numberOf(file, r)] = Home{};
  }

  /// Reads the value from another register that holds it; false if there is none.
  bool forward(Instr& move, const Transfer& transfer) {
    const std::optional<std::uint32_t> own = placeOf(*transfer.reg);
    if (!own || move.isGuarded()) return false;
    if (holds_.now[*own] == transfer.home) {
      remove(move);
      return true;
    }
    const Instr* reader = onlyReader(function_, move, *transfer.reg);
    if (!reader) return false;
    const File file = transfer.reg->file;
    for (std::uint32_t r = 0; r < function_.module().target().registerCount(file); ++r) {
      if (holds_.now[numberOf(file, r)] != transfer.home || !staysUntil(move, *reader, [&](const Instr& at) {
            return writes(at, numberOf(file, r)) || changesHidden(at, file, r);
          }))
        continue;
      state_.assignment.physical[transfer.reg->reg] = r;
      remove(move);
      return true;
    }
    return false;
  }

  bool writes(const Instr& instr, std::uint32_t place) const {
    bool isWritten = false;
    forEachResult(
        instr, [&](std::uint32_t first, std::uint32_t count) { isWritten |= first <= place && place < first + count; });
    return isWritten;
  }

  /// Backwards: a word of packed predicates may be read only by the one that packs the next predicate.
  void removeUnreadHomes() {
    for (ori::Block* block : function_.layout())
      for (Instr *instr = block->last, *before; instr; instr = before) {
        before = instr->prev;
        const ori::VRegId word = homeWrittenBy(*instr);
        if (word == ori::kNoId) continue;
        if (!function_.hasUses(word)) remove(*instr);
      }
  }

  ori::VRegId homeWrittenBy(const Instr& instr) const {
    const SpillMove* move = state_.assignment.spillMove(instr);
    if (move && move->kind == SpillMove::Kind::Pack) {
      const ori::VRegId word = instr.op_(move->reg).reg;
      return state_.assignment.standsFor[word] == word ? word : ori::kNoId;
    }
    const std::optional<Transfer> transfer = transferOf(instr);
    return transfer && transfer->isToHome ? transfer->home.reg : ori::kNoId;
  }

  void remove(Instr& instr) {
    state_.assignment.spillMoves.erase(instr.id);
    function_.erase(&instr);
  }

  ori::Function& function_;
  SpillState& state_;
  const ori::Cfg& cfg_;
  std::array<std::uint32_t, isa::kFileCount> firstOf_{}; // by file: the number of its first register
  HeldValues<Home> holds_;                               // by register: the home whose value it has
  std::vector<bool> isHome_;                             // by virtual register: has been in holds_ at some time
};

} // namespace

void forwardCrossFileMoves(ori::Function& function, SpillState& state) {
  if (!state.assignment.spillMoves.empty()) Forwarder(function, state).run();
}

} // namespace orias::regalloc
