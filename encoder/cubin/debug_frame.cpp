#include "encoder/cubin/debug_frame.h"

#include <algorithm>

#include "encoder/cubin/byte_io.h"

namespace orias::cubin {
namespace {

// Call frame instructions and expression operators of DWARF 3, section 7.
constexpr std::uint8_t kAdvanceLoc4 = 0x04;
constexpr std::uint8_t kOffsetExtended = 0x05;
constexpr std::uint8_t kRestoreExtended = 0x06;
constexpr std::uint8_t kSameValue = 0x08;
constexpr std::uint8_t kDefCfa = 0x0c;
constexpr std::uint8_t kValExpression = 0x16;
constexpr std::uint8_t kOpAddr = 0x03;
constexpr std::uint8_t kOpBregx = 0x92;
constexpr std::uint8_t kOpPlus = 0x22;

constexpr std::uint32_t kCodeAlignment = 4;
constexpr std::uint8_t kDataAlignment = 0x7c;         // -4 as SLEB128
constexpr std::uint32_t kRegisterClassR = 0x05000000; // R0 and so on, as DWARF register numbers (observed)
constexpr std::uint32_t kReturnColumn = 0x05000100;   // return address of a function inside a kernel (observed)
constexpr std::uint32_t kNoReturnColumn = 0xffffffff; // kernels do not return
constexpr std::uint32_t kStackPointer = kRegisterClassR + 1;
constexpr std::uint32_t kZeroRegister = kRegisterClassR + 255;
constexpr std::uint32_t kReturnAddress = kRegisterClassR + 20; // a pair; of functions that others call
constexpr std::uint32_t kSlotBytes = 4;

void advance(Bytes& bytes, std::uint32_t from, std::uint32_t to) {
  append(bytes, kAdvanceLoc4);
  append(bytes, (to - from) / kCodeAlignment & 0x3fffffff); // a negative distance wraps: see frameRows()
}

/// Adds the length and an entry, padded with DW_CFA_nop to eight bytes. Returns the offset of the body.
std::size_t appendEntry(Bytes& bytes, const Bytes& body) {
  constexpr std::size_t kHead = 12; // the escape and the 64-bit length
  const std::size_t length = (kHead + body.size() + 7) / 8 * 8 - kHead;
  append(bytes, std::uint32_t{0xffffffff});
  append(bytes, std::uint64_t{length});
  const std::size_t start = bytes.size();
  bytes.insert(bytes.end(), body.begin(), body.end());
  bytes.resize(start + length);
  return start;
}

Bytes commonInformation(std::uint32_t returnColumn) {
  Bytes body;
  append(body, ~std::uint64_t{0}); // "not an FDE but a CIE"
  append(body, std::uint8_t{3});   // version
  append(body, std::uint8_t{0});   // no augmentation
  appendUleb(body, kCodeAlignment);
  append(body, kDataAlignment);
  appendUleb(body, returnColumn);
  append(body, kDefCfa);
  appendUleb(body, kStackPointer);
  appendUleb(body, 0);
  for (std::uint32_t reg : {kZeroRegister, kStackPointer}) {
    append(body, kSameValue);
    appendUleb(body, reg);
  }
  return body;
}

std::uint32_t lastExitOf(const Function& function) {
  return function.exitOffsets.empty() ? 0 : *std::max_element(function.exitOffsets.begin(), function.exitOffsets.end());
}

/// The rows of the frame setup and of the end of the function. ptxas places the setup at the instruction after the one
/// that changes the stack pointer. Without a frame it is after the first block, in straight-line code after the exit
/// (observed). On chips before sm_90 the rows begin after the first instruction and are not sorted.
Bytes frameRows(const Function& function, const Abi& abi) {
  const std::uint32_t end = function.frameEndOffset ? function.frameEndOffset : lastExitOf(function);
  const std::uint32_t setup = function.frameSetupOffset ? function.frameSetupOffset : end + 16;
  const bool sorted = abi.addends;
  const bool silent = function.frameEndOffset != 0 && function.frameEndOffset == function.frameSetupOffset;
  Bytes rows;
  std::uint32_t position = 0;
  const auto moveTo = [&](std::uint32_t offset) {
    if (offset != position) advance(rows, position, offset);
    position = offset;
  };
  if (!sorted) moveTo(16);
  if (sorted && end < setup) moveTo(end);
  moveTo(setup);
  append(rows, kDefCfa);
  appendUleb(rows, kStackPointer);
  appendUleb(rows, silent ? 0 : function.frameSize);
  if (!silent && (!sorted || end > setup)) moveTo(end);
  return rows;
}

/// The CIE of a function that others call (observed in `ptxas -c`).
Bytes callableInformation() {
  Bytes body = commonInformation(kReturnAddress);
  for (std::uint32_t reg : {kReturnAddress, kReturnAddress + 1}) {
    append(body, kSameValue);
    appendUleb(body, reg);
  }
  return body;
}

/// The FDE rows of a function that others call. As in ptxas, the frame is relative to the stack pointer and excludes
/// the bytes for its alignment.
Bytes callableRows(const Function& function) {
  Bytes rows;
  std::uint32_t position = 0, frame = 0;
  for (const FrameChange& change : function.frameChanges) {
    if (change.offset != position) advance(rows, position, change.offset);
    position = change.offset;
    switch (change.kind) {
    case FrameChange::Kind::Frame:
      frame = change.bytes;
      append(rows, kDefCfa);
      appendUleb(rows, kStackPointer);
      appendUleb(rows, frame);
      break;
    case FrameChange::Kind::Saved:
      append(rows, kOffsetExtended);
      appendUleb(rows, kRegisterClassR + change.reg);
      appendUleb(rows, (frame - change.bytes) / kSlotBytes);
      break;
    case FrameChange::Kind::Restored:
      append(rows, kRestoreExtended);
      appendUleb(rows, kRegisterClassR + change.reg);
      break;
    }
  }
  return rows;
}

} // namespace

void addDebugFrame(DebugFrame& frame, const Function& function, const Module& module) {
  const Abi& abi = module.abi;
  Bytes& bytes = frame.bytes;
  std::vector<Relocation> descriptions;
  const auto describe = [&](std::size_t cie, std::uint32_t offset, std::uint32_t size, const Bytes& rows) {
    Bytes body;
    append(body, std::uint64_t{cie});
    append(body, std::uint64_t{offset});
    append(body, std::uint64_t{size});
    body.insert(body.end(), rows.begin(), rows.end());
    const std::size_t start = appendEntry(bytes, body);
    if (module.relocatable)
      descriptions.push_back({RelocationType::Abs64, start, ".debug_frame", static_cast<std::int64_t>(cie)});
    descriptions.push_back({RelocationType::Abs64, start + 8, function.name, offset});
    if (module.relocatable) descriptions.push_back({RelocationType::UnusedClear64, start + 16, function.name, 0});
  };

  const auto size = static_cast<std::uint32_t>(function.code.size());
  const std::size_t cie = bytes.size();
  if (!function.isEntry) {
    appendEntry(bytes, callableInformation());
    describe(cie, 0, size, callableRows(function));
    frame.relocations.insert(frame.relocations.end(), descriptions.begin(), descriptions.end());
    return;
  }
  appendEntry(bytes, commonInformation(kNoReturnColumn));
  std::uint32_t ownSize = size;
  for (const InnerFunction& inner : function.inner)
    ownSize = std::min(ownSize, inner.offset);
  describe(cie, 0, ownSize, frameRows(function, abi));

  for (const InnerFunction& inner : function.inner) {
    // The return address is the start of the kernel plus the offset in the return register.
    const std::size_t innerCie = bytes.size();
    const std::uint32_t returnRegister = kRegisterClassR + inner.returnRegister;
    Bytes body = commonInformation(kReturnColumn);
    append(body, kSameValue);
    appendUleb(body, returnRegister);
    append(body, kValExpression);
    appendUleb(body, kReturnColumn);
    Bytes expression;
    append(expression, kOpAddr);
    append(expression, std::uint64_t{0});
    append(expression, kOpBregx);
    appendUleb(expression, returnRegister);
    appendUleb(expression, 0);
    append(expression, kOpPlus);
    appendUleb(body, static_cast<std::uint32_t>(expression.size()));
    const std::size_t address = body.size() + 1;
    body.insert(body.end(), expression.begin(), expression.end());
    const std::size_t start = appendEntry(bytes, body);
    frame.relocations.push_back({RelocationType::Abs64, start + address, function.name, 0});
    describe(innerCie, inner.offset, inner.size, {});
  }
  frame.relocations.insert(frame.relocations.end(), descriptions.begin(), descriptions.end());
}

void readFrameRows(Function& function, std::span<const std::byte> descriptor) {
  constexpr std::size_t kRows = 36; // after the escape, the length, the CIE, the address and the size
  std::uint32_t position = 0;
  std::uint32_t setup = 0;
  std::size_t at = kRows;
  const auto skipUleb = [&] {
    while (at < descriptor.size() && (static_cast<std::uint8_t>(descriptor[at]) & 0x80))
      ++at;
    ++at;
  };
  while (at < descriptor.size()) {
    const auto operation = static_cast<std::uint8_t>(descriptor[at++]);
    if (operation == 0) continue; // DW_CFA_nop
    if (operation == kAdvanceLoc4 && descriptor.size() - at >= 4) {
      position += load<std::uint32_t>(descriptor, at) * kCodeAlignment;
      at += 4;
    } else if (operation == kDefCfa && setup == 0) {
      setup = position;
      skipUleb();
      skipUleb();
    } else {
      return;
    }
  }
  const std::uint32_t lastExit = lastExitOf(function);
  const bool straight = setup == lastExit + 16; // code without branches: no frame, the whole function is one block
  if (straight && (position == setup || position == lastExit)) return;
  function.frameSetupOffset = setup;
  if (position != lastExit) function.frameEndOffset = position;
}

std::optional<std::uint8_t> returnRegisterAt(std::span<const std::byte> expression) {
  if (load<std::uint8_t>(expression, 0) != kOpBregx) return std::nullopt;
  return static_cast<std::uint8_t>((load<std::uint8_t>(expression, 1) & 0x7f) | (load<std::uint8_t>(expression, 2) & 1)
                                                                                    << 7);
}

} // namespace orias::cubin
