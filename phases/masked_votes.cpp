#include "phases/masked_votes.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"

#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using isa::VoteMode;
using ori::Instr;

namespace {

constexpr std::int32_t kAnd = 0xc0; // LOP3: a & b

/// Replaces one vote, or MATCH.ANY, by one over all active lanes, limited to the mask.
class Limiter {
 public:
  Limiter(ori::Function& function, Instr& instr, const Operand& mask)
      : instr_(instr), builder_(ori::Builder::before(function, &instr)), mask_(mask) {
    builder_.setSource(instr.source);
  }

  void limitMatch() {
    const Operand all = builder_.newR();
    builder_.emit(Op::MATCH_ANY, {all, instr_.op_(1).value()},
                  {{Mod::Size, isa::getMod(instr_.op, instr_.mods, Mod::Size)}});
    limit(instr_.op_(0).value(), all);
  }

  void limitVote() {
    const Operand words = instr_.op_(0).value(), result = instr_.op_(1).value(), voice = instr_.op_(2).value();
    const bool hasResult = result.isVirtual();
    if (!words.isZeroReg() && !words.isNone()) limit(words, ballot(voice));
    if (!hasResult) return;
    switch (static_cast<VoteMode>(isa::getMod(instr_.op, instr_.mods, Mod::VoteMode))) {
    case VoteMode::ANY: compare(result, limited(ballot(voice)), isa::ICmp::NE, isa::BoolOp::AND, Operand::pt()); break;
    case VoteMode::ALL:
      compare(result, limited(ballot(voice.notted())), isa::ICmp::EQ, isa::BoolOp::AND, Operand::pt());
      break;
    case VoteMode::EQ: {
      const Operand none = builder_.newP();
      compare(none, limited(ballot(voice)), isa::ICmp::EQ, isa::BoolOp::AND, Operand::pt());
      compare(result, limited(ballot(voice.notted())), isa::ICmp::EQ, isa::BoolOp::OR, none);
      break;
    }
    }
  }

 private:
  Operand ballot(const Operand& voice) {
    const Operand lanes = builder_.newR();
    builder_.emit(Op::VOTE, {lanes, Operand::pt(), voice}, {{Mod::VoteMode, VoteMode::ANY}});
    return lanes;
  }
  void limit(const Operand& result, const Operand& lanes) {
    builder_.emit(Op::LOP3, {Operand::pt(), result, lanes, mask_, Operand::rz(), Operand::immediate(kAnd),
                             Operand::pt().notted()});
  }
  Operand limited(const Operand& lanes) {
    const Operand result = builder_.newR();
    limit(result, lanes);
    return result;
  }
  void compare(const Operand& result, const Operand& lanes, isa::ICmp comparison, isa::BoolOp with,
               const Operand& other) {
    builder_.emit(Op::ISETP, {result, Operand::pt(), lanes, Operand::rz(), other},
                  {{Mod::Cmp, comparison}, {Mod::Type, isa::IntType::U32}, {Mod::Bool, with}});
  }

  Instr& instr_;
  ori::Builder builder_;
  Operand mask_;
};

} // namespace

bool isExclusiveSync(const Instr& instr) {
  return instr.op == Op::WARPSYNC && isa::getMod(instr.op, instr.mods, Mod::Sub) != 0;
}

bool limitVotesToMask(ori::Function& function, const Rewriter& rewriter, Instr& sync) {
  if (!isExclusiveSync(sync) || sync.isGuarded()) return false;
  const Operand mask = sync.op_(1).value();
  if (!mask.isReg(File::R) || !rewriter.isStable(mask) || rewriter.constantOf(mask)) return false;
  std::vector<Instr*> votes;
  bool servesSome = false;
  for (Instr* i = sync.next; i && i->op != Op::WARPSYNC && i->op != Op::WARPSYNC_ALL; i = i->next) {
    const isa::InstrDesc& row = isa::desc(i->op);
    if (!row.has(isa::Flag::Convergent)) continue;
    servesSome = true;
    if (i->op == Op::SHFL) continue;
    if ((i->op != Op::VOTE && i->op != Op::MATCH_ANY) || i->isGuarded()) return false;
    votes.push_back(i);
  }
  if (!servesSome) return false;
  for (Instr* vote : votes) {
    Limiter limiter(function, *vote, mask);
    if (vote->op == Op::VOTE)
      limiter.limitVote();
    else
      limiter.limitMatch();
    function.erase(vote);
  }
  isa::setMod(sync.op, sync.mods, {Mod::Sub, 0});
  return true;
}

} // namespace orias::phases
