// Generic pointers to the thread's own memory in four areas, through registers, the frame, selections and functions. A
// pointer is never a value of the pools, because engines have different addresses. It is always the start of one of the
// areas, so each access with an offset below kOwnBytes is inside. Two pointers may point to the same area.

#include "test/differential/generator/function_writer.h"
#include "test/differential/generator/layout.h"

namespace orias::generator {

namespace {

constexpr unsigned kPointers = 4, kSlots = 4;
constexpr unsigned kFrameScalars = 16, kFrameArray = 32, kFrameBytes = 64; ///< scalars, an array, scalars

/// Generic addresses of the thread's areas, and the `.local` addresses.
constexpr const char* kPlaces[] = {"%locg", "%frmg", "%shog", "%scrg", "%prmg", "%strg", "%midg"};

bool isLocal(const std::string& place) {
  return place == "%locg" || place == "%frmg";
}

} // namespace

std::string FunctionWriter::pointer() {
  module_.usesPointers = module_.usesLocal = module_.usesShared = true;
  return fmt::format("%gp{}", random_.below(kPointers));
}

std::string FunctionWriter::pointerDeclarations() const {
  if (!module_.usesPointers) return {};
  return fmt::format("  .reg .b64 %gp<{}>, %scrg, %prmg, %strg, %midg, %frm, %frmg, %slots;\n"
                     "  .reg .b32 %keep;\n",
                     kPointers);
}

std::string FunctionWriter::pointerAddresses() const {
  if (!module_.usesPointers) return {};
  std::string text = fmt::format("  .local .align 16 .b8 frame[{}];\n  .local .align 8 .b8 slots[{}];\n"
                                 "  mov.u64 %frm, frame;\n  cvta.local.u64 %frmg, %frm;\n  mov.u64 %slots, slots;\n"
                                 "  cvta.global.u64 %scrg, %scr;\n",
                                 kFrameBytes, 8 * kSlots);
  // Pointers from the kernel's parameters. A subtraction converts the one to the middle to a start address.
  for (auto [place, parameter] : {std::pair{"%prmg", fmt::format("{}", kPointerParameter)},
                                  {"%strg", fmt::format("{}+8", kStructParameter)},
                                  {"%midg", fmt::format("{}+16", kStructParameter)}})
    text += fmt::format("  ld.param.u64 {}, [{}];\n  mad.wide.u32 {}, %gtid, {}, {};\n", place, parameter, place,
                        kScratchRecord, place);
  text += fmt::format("  sub.u64 %midg, %midg, {};\n", kOwnBytes / 2);
  // The contents of shared memory are undefined.
  text += fmt::format("  .shared .align 8 .b8 keep{}[{}];\n  mov.u32 %keep, keep{};\n"
                      "  mad.lo.u32 %keep, %ltid, 16, %keep;\n"
                      "  st.shared.u64 [%keep], %shog;\n  st.shared.u64 [%keep+8], %prmg;\n",
                      module_.suffix, 16 * module_.threads, module_.suffix);
  for (unsigned at = 0; at < kFrameBytes; at += 4)
    text += fmt::format("  st.local.b32 [%frm+{}], %ltid;\n", at);
  for (unsigned p = 0; p < kPointers; ++p)
    text += fmt::format("  mov.u64 %gp{}, {};\n  st.local.u64 [%slots+{}], %gp{};\n", p, kPlaces[p], 8 * p, p);
  return text;
}

void FunctionWriter::pointerStatement() {
  const std::string to = pointer();
  const std::string from = random_.percent(50) ? pointer() : kPlaces[random_.below(std::size(kPlaces))];
  switch (random_.below(10)) {
  case 9: {
    const unsigned at = 8 * random_.below(2);
    if (random_.percent(40)) return emit("st.shared.u64 [%keep+{}], {}", at, from);
    return emit("ld.shared.u64 {}, [%keep+{}]", to, at);
  }
  case 0: return emit("{}mov.u64 {}, {}", random_.percent(50) ? "@" + readPredicate(true) + " " : "", to, from);
  case 1: return emit("selp.b64 {}, {}, {}, {}", to, from, pointer(), readPredicate(false));
  case 2: return emit("st.local.u64 [%slots+{}], {}", 8 * random_.below(kSlots), from);
  case 3: return emit("ld.local.u64 {}, [%slots+{}]", to, 8 * random_.below(kSlots));
  case 4: { // a slot that is not known statically
    std::string index = fresh(Kind::B32), address = fresh(Kind::B64);
    emit("and.b32 {}, {}, {}", index, readRegister(Kind::B32), kSlots - 1);
    emit("mad.wide.u32 {}, {}, 8, %slots", address, index);
    if (random_.percent(50)) return emit("st.local.u64 [{}], {}", address, from);
    return emit("ld.local.u64 {}, [{}]", to, address);
  }
  case 5: { // to another space and back
    std::string narrow = fresh(Kind::B64);
    const char* space = isLocal(from) ? "local" : from == "%shog" ? "shared" : "global";
    const std::string known = from.starts_with("%gp") ? "%locg" : from;
    emit("cvta.to.{}.u64 {}, {}", from.starts_with("%gp") ? "local" : space, narrow, known);
    return emit("cvta.{}.u64 {}, {}", from.starts_with("%gp") ? "local" : space, to, narrow);
  }
  case 6: {
    constexpr const char* kSpaces[] = {"local", "shared", "global", "const"};
    readUniform_ = false;
    return emit("isspacep.{} {}, {}", random_.pick(kSpaces), result(Kind::Pred), pointer());
  }
  default: {
    constexpr unsigned kWidths[] = {1, 2, 4, 4, 8, 8, 16};
    const unsigned bytes = random_.pick(kWidths);
    std::string address = fmt::format("{}+{}", from, random_.below(kOwnBytes / bytes) * bytes);
    if (random_.percent(40)) {
      std::string offset = fresh(Kind::B32), sum = fresh(Kind::B64);
      emit("and.b32 {}, {}, {}", offset, readRegister(Kind::B32), (kOwnBytes - 1) & ~(bytes - 1));
      emit("cvt.u64.u32 {}, {}", sum, offset);
      emit("add.u64 {}, {}, {}", sum, sum, from);
      address = sum;
    }
    return random_.percent(50) ? storeTo("", address, bytes) : loadFrom("", address, bytes, false);
  }
  }
}

/// Adds words of the areas at the end, so that a misplaced store is visible.
void FunctionWriter::showPlaces() {
  pointer(); // creates the areas
  for (const char* base : {"%locg", "%frmg", "%frm", "%shog"}) {
    std::string word = fresh(Kind::B32);
    const bool isNarrow = base == std::string_view("%frm");
    const unsigned words = (base[1] == 'f' ? kFrameBytes : kOwnBytes) / 4;
    emit("ld{}.u32 {}, [{}+{}]", isNarrow ? ".local" : "", word, base, 4 * random_.below(words));
    emit("mad.lo.u32 %sum, %sum, 33, {}", word);
  }
}

/// Accesses a scalar of the frame, or an element of the array between scalars.
void FunctionWriter::frameStatement() {
  pointer(); // creates the frame
  const bool isGeneric = random_.percent(40);
  const std::string base = isGeneric ? "%frmg" : "%frm", space = isGeneric ? "" : ".local";
  constexpr unsigned kWidths[] = {1, 2, 4, 4, 8};
  const unsigned bytes = random_.pick(kWidths);
  std::string address;
  if (random_.percent(50)) {
    const unsigned at = random_.below(kFrameScalars / bytes) * bytes;
    address = fmt::format("{}+{}", base, random_.percent(70) ? at : at + kFrameScalars + kFrameArray);
  } else {
    std::string offset = fresh(Kind::B32), sum = fresh(Kind::B64);
    switch (random_.below(3)) {
    case 0: emit("and.b32 {}, {}, {}", offset, readRegister(Kind::B32), (kFrameArray - 1) & ~(bytes - 1)); break;
    case 1: // as compilers compute it
      emit("rem.u32 {}, {}, {}", offset, readRegister(Kind::B32), kFrameArray / bytes);
      emit("mul.lo.u32 {}, {}, {}", offset, offset, bytes);
      break;
    default:
      emit("min.u32 {}, {}, {}", offset, readRegister(Kind::B32), kFrameArray / bytes - 1);
      emit("mul.lo.u32 {}, {}, {}", offset, offset, bytes);
      break;
    }
    emit("cvt.u64.u32 {}, {}", sum, offset);
    emit("add.u64 {}, {}, {}", sum, sum, base);
    address = fmt::format("{}+{}", sum, kFrameScalars);
  }
  random_.percent(50) ? storeTo(space, address, bytes) : loadFrom(space, address, bytes, false);
}

/// A function of two pointers and a number. It may have a frame, whose address it passes to its recursive call. It
/// returns one of its pointers, or a number.
void FunctionWriter::pointerFunction(PointerCallee& callee) {
  const auto offset = [&] { return 4 * random_.below(kOwnBytes / 4); };
  const auto one = [&] { return random_.percent(50) ? "%a" : "%b"; };
  const bool hasFrame = random_.percent(60), isRecursive = random_.percent(40);
  std::string text;
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    text += "  " + fmt::format(format, std::forward<Args>(args)...) + ";\n";
  };
  line(".reg .b64 %a, %b, %own, %r, %x, %i");
  line(".reg .b32 %n, %v, %w, %k");
  line(".reg .pred %p, %q");
  if (hasFrame) line(".local .align 16 .b8 own[{}]", kOwnBytes);
  line("ld.param.u64 %a, [a]");
  line("ld.param.u64 %b, [b]");
  line("ld.param.u32 %n, [n]");
  line("mov.u32 %w, %n");
  if (hasFrame) {
    line("mov.u64 %own, own");
    line("cvta.local.u64 %own, %own");
    for (unsigned at = 0; at < kOwnBytes; at += 4)
      line("st.local.u32 [own+{}], {}", at, at * 77 + 5);
  } else {
    line("mov.u64 %own, {}", one());
  }
  line("mov.u64 %x, {}", random_.percent(50) ? "%own" : one());
  const auto step = [&] {
    const std::string at = random_.percent(40) ? "%x" : random_.percent(30) ? "%own" : one();
    switch (random_.below(6)) {
    case 0:
      line("setp.lt.u32 %p, %w, {}", random_.next() & 0xffffffff);
      line("selp.b64 %x, {}, {}, %p", random_.percent(40) ? "%own" : one(), at);
      break;
    case 1:
      line("isspacep.{} %q, {}", random_.percent(50) ? "local" : "shared", at);
      line("@%q add.u32 %w, %w, 99");
      break;
    case 2:
      line("and.b32 %k, %w, {}", kOwnBytes - 4);
      line("cvt.u64.u32 %i, %k");
      line("add.u64 %i, %i, {}", at);
      line("{} [%i], %w", random_.percent(50) ? "st.u32" : "st.b32");
      break;
    case 3: line("st.u32 [{}+{}], %w", at, offset()); break;
    default:
      line("ld.u32 %v, [{}+{}]", at, offset());
      line("mad.lo.u32 %w, %w, 31, %v");
      break;
    }
  };
  const unsigned before = random_.between(2, 6), after = random_.between(1, 4);
  for (unsigned i = 0; i < before; ++i)
    step();
  if (isRecursive) {
    line("setp.eq.u32 %p, %n, 0");
    line("@%p bra END");
    line("sub.u32 %n, %n, 1");
    text += "  {\n";
    line(".param .b64 first");
    line(".param .b64 second");
    line(".param .b32 depth");
    line(".param .b64 got");
    line("st.param.b64 [first], {}", random_.percent(60) ? "%own" : "%x");
    line("st.param.b64 [second], {}", random_.percent(50) ? "%x" : one());
    line("st.param.b32 [depth], %n");
    line("call (got), {}, (first, second, depth)", callee.name);
    line("ld.param.b64 %r, [got]");
    text += "  }\n";
    line("{}", callee.givesPointer ? "ld.u32 %v, [%r]" : "cvt.u32.u64 %v, %r");
    line("add.u32 %w, %w, %v");
    text += "END:\n";
  }
  for (unsigned i = 0; i < after; ++i)
    step();
  line("ld.u32 %v, [%own+{}]", offset());
  line("xor.b32 %w, %w, %v");
  line("st.u32 [{}+{}], %w", one(), offset());
  if (callee.givesPointer) {
    line("setp.gt.s32 %p, %w, 0");
    line("selp.b64 %r, %a, %b, %p");
  } else {
    line("cvt.u64.u32 %r, %w");
  }
  line("st.param.b64 [result], %r");
  line("ret");
  module_.functions += fmt::format(
      ".func (.param .b64 result) {}(.param .b64 a, .param .b64 b, .param .b32 n)\n{{\n{}}}\n", callee.name, text);
}

void FunctionWriter::pointerCall() {
  pointer();
  auto& callees = module_.pointerCallees;
  if (callees.empty() || (callees.size() < 3 && random_.percent(30))) {
    PointerCallee callee{fmt::format("p{}{}", callees.size(), module_.suffix), random_.percent(40)};
    pointerFunction(callee);
    callees.push_back(callee);
  }
  const PointerCallee callee = random_.pick(callees);
  const auto passed = [&] { return random_.percent(60) ? pointer() : kPlaces[random_.below(std::size(kPlaces))]; };
  std::string depth = fresh(Kind::B32);
  emit("and.b32 {}, {}, 3", depth, readRegister(Kind::B32));
  code_ += "  {\n";
  emit(".param .b64 first");
  emit(".param .b64 second");
  emit(".param .b32 depth");
  emit(".param .b64 got");
  emit("st.param.b64 [first], {}", passed());
  emit("st.param.b64 [second], {}", passed());
  emit("st.param.b32 [depth], {}", depth);
  emit("call{} (got), {}, (first, second, depth)", random_.percent(50) ? ".uni" : "", callee.name);
  readUniform_ = false;
  emit("ld.param.b64 {}, [got]", callee.givesPointer ? pointer() : result(Kind::B64));
  code_ += "  }\n";
}

} // namespace orias::generator
