#include "regalloc/function_abi.h"

#include "encoder/isa/mods.h"
#include "ori/builder.h"
#include "ori/call_abi.h"
#include "regalloc/calls.h"
#include "regalloc/frame.h"
#include "support/check.h"

#include <algorithm>
#include <span>

namespace orias::regalloc {

using isa::File;
using ori::Instr;
using ori::Op;
using IsaOperand = isa::Operand;

namespace {

constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint32_t kWordsOfTuple = 4;

IsaOperand reg(std::uint32_t number, unsigned width = 1) {
  return IsaOperand::physical(File::R, number, width);
}

Instr* findEntry(const ori::Function& function) {
  if (function.isKernel() || function.layout().empty()) return nullptr;
  for (Instr& instr : *function.entry())
    if (instr.op == Op::FUNCTION_ENTRY) return &instr;
  return nullptr;
}

/// The registers that the function writes and its caller relies on.
struct Saved {
  std::vector<std::uint32_t> registers, barriers;
};

Saved findSaved(const ori::Function& function) {
  std::vector<bool> written(256, false), barriers(16, false);
  for (const ori::Block* block : function.layout())
    for (const Instr& instr : *block)
      for (const ori::Operand& o : instr.ops()) {
        if (!o.isReg() || o.isZeroReg()) continue;
        if (o.isDef && o.file == File::R)
          for (unsigned w = 0; w < o.width; ++w)
            written[o.reg + w] = true;
        if (o.file == File::B) barriers[o.reg] = true;
      }
  Saved saved;
  for (std::uint32_t r = 0; r < written.size(); ++r)
    if ((written[r] || (r == ori::kFramePointer && function.hasFramePointer)) && r != ori::kStackPointer &&
        ori::isKeptByFunctions(File::R, r))
      saved.registers.push_back(r);
  for (std::uint32_t b = 0; b < barriers.size(); ++b)
    if (barriers[b] && ori::isKeptByFunctions(File::B, b)) saved.barriers.push_back(b);
  return saved;
}

class Expander {
 public:
  Expander(ori::Function& function, Instr* entry)
      : function_(function), entry_(entry), saved_(findSaved(function)), alignsStack_(alignsStack(function)) {}

  void run() {
    const auto words =
        static_cast<std::uint32_t>(saved_.registers.size() + saved_.barriers.size() + (alignsStack_ ? 1 : 0));
    if (words != 0) {
      object_ = static_cast<std::uint32_t>(function_.frame.size());
      ori::FrameObject object;
      object.name = "saved";
      object.size = words * kWordBytes;
      object.align = kWordBytes;
      object.isSpill = true;
      function_.frame.push_back(object);
    }
    if (alignsStack_) fetchIncoming();
    if (function_.hasFramePointer) useFramePointer(function_);
    enter();
    std::vector<Instr*> returns;
    for (ori::Block* block : function_.layout())
      if (block->last && block->last->op == Op::FUNCTION_RETURN) returns.push_back(block->last);
    for (Instr* instr : returns)
      leave(instr);
  }

 private:
  IsaOperand place(std::size_t word) const {
    IsaOperand where;
    where.kind = IsaOperand::Kind::Frame;
    where.reg = object_;
    where.imm = static_cast<std::int32_t>(word * kWordBytes);
    return where;
  }
  void store(ori::Builder& b, std::uint32_t r, std::size_t word) const {
    b.emit(Op::STL, {reg(ori::kStackPointer), IsaOperand(), place(word), reg(r)},
           {{isa::Mod::Size, isa::MemSize::B32}});
  }
  void load(ori::Builder& b, std::uint32_t r, std::size_t word) const {
    b.emit(Op::LDL, {reg(r), reg(ori::kStackPointer), IsaOperand(), place(word)},
           {{isa::Mod::Size, isa::MemSize::B32}});
  }

  /// Where the frame is aligned, stack parameters are at a known distance only from the caller's stack pointer.
  void fetchIncoming() {
    for (ori::Block* block : function_.layout())
      function_.forEachSafe(*block, [&](Instr& instr) {
        constexpr unsigned kTo = 0, kBase = 1, kOffset = 3; // of LDL
        const auto isIncoming = [&](const ori::Operand& o) {
          return o.kind == IsaOperand::Kind::Frame && function_.frame[o.reg].isIncoming;
        };
        if (std::none_of(instr.ops().begin(), instr.ops().end(), isIncoming)) return;
        ORIAS_CHECK(instr.op == Op::LDL && isIncoming(instr.op_(kOffset)));
        const ori::Operand& where = instr.op_(kOffset);
        const std::int32_t offset = function_.frame[where.reg].offset + where.imm;
        if (instr.op_(kTo).isZeroReg()) {
          function_.erase(&instr);
          return;
        }
        // The load's result register can hold the address until the result arrives.
        ori::Builder b = ori::Builder::before(function_, &instr);
        b.setSource(instr.source);
        b.setGuard(instr.guard().value());
        load(b, instr.op_(kTo).reg, 0);
        function_.setOperand(&instr, kBase, reg(instr.op_(kTo).reg));
        function_.setOperand(&instr, kOffset, IsaOperand::immediate(offset));
      });
  }

  void enter() {
    ori::Builder b = ori::Builder::before(function_, entry_);
    b.setSource(entry_->source);
    std::size_t word = 0;
    if (alignsStack_) store(b, ori::kScratchAtEntry, word++); // insertFrame puts the caller's stack pointer there
    for (const std::uint32_t r : saved_.registers)
      store(b, r, word++);
    std::uint32_t words = 0;
    for (unsigned i = 0; i < entry_->operandCount; ++i)
      if (const ori::Operand& given = entry_->op_(i); !given.isZeroReg()) words = kWordsOfTuple * i + given.width;
    forBarriers(freeAfter(words, true), [&](std::size_t first, std::span<const std::uint32_t> through) {
      for (std::size_t i = 0; i < through.size(); ++i)
        b.emit(Op::BMOV_R, {reg(through[i]), IsaOperand::physical(File::B, saved_.barriers[first + i])},
               {{isa::Mod::Sub, 1}}); // CLEAR
      for (const std::uint32_t r : through)
        store(b, r, word++);
    });
    if (function_.hasFramePointer) b.emit(Op::MOV, {reg(ori::kFramePointer), reg(ori::kStackPointer)});
    std::vector<Move> moves;
    for (unsigned i = 0; i < entry_->operandCount; ++i) {
      const IsaOperand to = entry_->op_(i).value();
      for (unsigned w = 0; w < to.width && !to.isZeroReg(); ++w)
        moves.push_back({to.reg + w, reg(ori::kFirstArgument + 4 * i + w)});
    }
    emitMoves(b, std::move(moves), ori::kScratchAtEntry);
    function_.erase(entry_);
  }

  void leave(Instr* end) {
    ORIAS_CHECK(!end->isGuarded());
    ori::Builder b = ori::Builder::before(function_, end);
    b.setSource(end->source);
    std::vector<Move> moves;
    for (unsigned i = 0; i < end->operandCount; ++i)
      moves.push_back({ori::kFirstArgument + i, end->op_(i).value()});
    emitMoves(b, std::move(moves), 0);
    if (function_.hasFramePointer) b.emit(Op::MOV, {reg(ori::kStackPointer), reg(ori::kFramePointer)});
    std::size_t word = firstRegister() + saved_.registers.size();
    bool areLoaded = false;
    const auto loadRegisters = [&] {
      for (std::size_t i = 0; !areLoaded && i < saved_.registers.size(); ++i)
        load(b, saved_.registers[i], firstRegister() + i);
      areLoaded = true;
    };
    forBarriers(freeAfter(end->operandCount, !alignsStack_),
                [&](std::size_t first, std::span<const std::uint32_t> through) {
                  for (const std::uint32_t r : through)
                    load(b, r, word++);
                  loadRegisters(); // while the barriers are being loaded
                  for (std::size_t i = 0; i < through.size(); ++i)
                    b.emit(Op::BMOV_B, {IsaOperand::physical(File::B, saved_.barriers[first + i]), reg(through[i])});
                });
    loadRegisters();
    if (alignsStack_) load(b, ori::kScratchAtEntry, 0);
    IsaOperand nowhere; // RET adds it to the address
    nowhere.kind = IsaOperand::Kind::Symbol;
    b.emit(Op::RET, {IsaOperand::pt(), reg(ori::kReturnAddress, 2), nowhere}, {{isa::Mod::Sub, 1}}); // ABS
    function_.erase(end);
  }

  /// Registers without a value where the first `words` of parameters or results are live, and that need not be
  /// preserved.
  static std::vector<std::uint32_t> freeAfter(std::uint32_t words, bool withScratch) {
    std::vector<std::uint32_t> all{0};
    if (withScratch) all.push_back(ori::kScratchAtEntry);
    for (std::uint32_t r = ori::kFirstArgument + words; r < ori::kFirstArgument + ori::kMaxArguments; ++r)
      all.push_back(r);
    return all;
  }

  /// Calls `work` for as many barriers at a time as there are free registers, with the number of the first one.
  template <typename Work> void forBarriers(const std::vector<std::uint32_t>& free, Work&& work) const {
    for (std::size_t first = 0; first < saved_.barriers.size(); first += free.size())
      work(first, std::span(free).first(std::min(free.size(), saved_.barriers.size() - first)));
  }

  std::size_t firstRegister() const { return alignsStack_ ? 1 : 0; }

  ori::Function& function_;
  Instr* entry_;
  const Saved saved_;
  const bool alignsStack_;
  std::uint32_t object_ = 0;
};

} // namespace

bool isCallable(const ori::Function& function) {
  return findEntry(function) != nullptr;
}

void putEntryFirst(ori::Function& function) {
  Instr* entry = findEntry(function);
  if (entry == function.entry()->first) return;
  function.unlink(entry);
  function.insertBefore(function.entry()->first, entry);
}

void expandEntryAndReturns(ori::Function& function) {
  Expander(function, findEntry(function)).run();
}

} // namespace orias::regalloc
