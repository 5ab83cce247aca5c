#include "orias/frame_changes.h"

#include "ori/call_abi.h"

#include <array>
#include <map>

namespace orias {

namespace {

using isa::File;
using ori::Instr;
using ori::Op;

class Reader {
 public:
  explicit Reader(const ori::Function& function) : hasFramePointer_(function.hasFramePointer) {}

  std::vector<cubin::FrameChange> run(const encoder::FunctionCode& code) {
    for (std::size_t i = 0; i < code.origin.size(); ++i) {
      if (code.origin[i] == nullptr) continue;
      after_ = static_cast<std::uint32_t>(i + 1) * encoder::kWordBytes;
      const bool isLast = i + 1 == code.origin.size() || code.origin[i + 1] == nullptr;
      visit(*code.origin[i], isLast);
    }
    return std::move(changes_);
  }

 private:
  void visit(const Instr& instr, bool isLast) {
    if (instr.op == Op::STL) noteStore(instr);
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isDef || !o.isReg(File::R) || o.isZeroReg()) continue;
      if (o.reg == ori::kStackPointer) moveStack(instr);
      if (instr.op == Op::LDL) noteLoad(instr, o);
      for (unsigned w = 0; w < o.width; ++w)
        isWritten_[o.reg + w] = true;
    }
    if (instr.op != Op::RET || isLast) return;
    // The instructions after it belong to the body again.
    add(cubin::FrameChange::Kind::Frame, 0, largest_);
    frame_ = largest_;
    for (const auto& [reg, bytes] : saved_)
      add(cubin::FrameChange::Kind::Saved, reg, bytes);
  }

  /// A constant is added to create and to leave the frame; an aligned frame is left by a copy of the caller's pointer.
  void moveStack(const Instr& instr) {
    std::uint32_t now = frame_;
    if (instr.op == Op::MOV) {
      // A copy of the frame pointer, or of the start of a callee's stack, does not leave the frame.
      if (hasFramePointer_ && (!instr.op_(1).isReg(File::R) || instr.op_(1).reg != ori::kScratchAtEntry)) return;
      now = 0;
    } else if (instr.op == Op::IADD3 || instr.op == Op::VIADD) {
      for (const ori::Operand& o : instr.ops())
        if (o.isImm()) now -= static_cast<std::uint32_t>(o.imm);
    }
    if (now == frame_) return;
    frame_ = now;
    largest_ = std::max(largest_, frame_);
    add(cubin::FrameChange::Kind::Frame, 0, frame_);
  }

  static bool isOnStack(const Instr& instr) {
    for (const ori::Operand& o : instr.ops())
      if (!o.isDef && o.isReg(File::R) && o.reg == ori::kStackPointer) return true;
    return false;
  }
  static std::uint32_t offsetOf(const Instr& instr) {
    for (const ori::Operand& o : instr.ops())
      if (o.isImm()) return static_cast<std::uint32_t>(o.imm);
    return 0;
  }

  /// A register that must be preserved holds the caller's value until it is written.
  void noteStore(const Instr& instr) {
    if (!isOnStack(instr) || instr.isGuarded()) return;
    for (const ori::Operand& o : instr.ops()) {
      if (o.isDef || !o.isReg(File::R) || o.isZeroReg() || o.reg == ori::kStackPointer) continue;
      for (unsigned w = 0; w < o.width; ++w) {
        const std::uint32_t reg = o.reg + w, bytes = offsetOf(instr) + 4 * w;
        if (isWritten_[reg] || !ori::isKeptByFunctions(File::R, reg) || saved_.contains(reg)) continue;
        saved_[reg] = bytes;
        add(cubin::FrameChange::Kind::Saved, reg, bytes);
      }
    }
  }

  void noteLoad(const Instr& instr, const ori::Operand& to) {
    if (!isOnStack(instr)) return;
    for (unsigned w = 0; w < to.width; ++w) {
      const auto saved = saved_.find(to.reg + w);
      if (saved != saved_.end() && saved->second == offsetOf(instr) + 4 * w)
        add(cubin::FrameChange::Kind::Restored, to.reg + w, 0);
    }
  }

  void add(cubin::FrameChange::Kind kind, std::uint32_t reg, std::uint32_t bytes) {
    changes_.push_back({after_, kind, reg, bytes});
  }

  const bool hasFramePointer_;
  std::vector<cubin::FrameChange> changes_;
  std::array<bool, 256> isWritten_{};
  std::map<std::uint32_t, std::uint32_t> saved_; ///< stack offset, by register
  std::uint32_t frame_ = 0, largest_ = 0, after_ = 0;
};

} // namespace

std::vector<cubin::FrameChange> frameChanges(const ori::Function& function, const encoder::FunctionCode& code) {
  return Reader(function).run(code);
}

} // namespace orias
