#include "test/differential/generator/function_writer.h"
#include "test/differential/generator/layout.h"

#include <algorithm>

namespace orias::generator {

std::string FunctionWriter::kernel(const std::string& name) {
  context().mask = module_.threads % 32 == 0 ? kAllLanes : "%mask";
  module_.recordBytes = 16; // %hash and %sum
  firstValues();
  // Prefer small programs: more run in the same time, and failures are easier to read.
  const unsigned most = random_.percent(70) ? profile_.statements / 2 : profile_.statements;
  const unsigned count = random_.between(profile_.statements / 8, most);
  for (unsigned i = 0; i < count; ++i)
    statement();
  showValues();
  // No block exits while others may access its shared memory.
  if (module_.clusterBlocks != 0) clusterBarrier();
  if (profile_.hasTensorMemory()) tensorRelease();

  std::string text = module_.functions;
  std::string words;
  for (unsigned i = 0; i < kTableEntries; ++i)
    words += fmt::format("{}{:#x}", i ? ", " : "", static_cast<std::uint32_t>(random_.next()));
  text += fmt::format(".const .align 16 .b32 ct{}[{}] = {{{}}};\n", module_.suffix, kTableEntries, words);
  text += fmt::format(".global .align 16 .b32 gt{}[{}] = {{{}}};\n", module_.suffix, kTableEntries, words);
  text += fmt::format(
      ".visible .entry {}(.param .u64 in, .param .u64 inf, .param .u64 ind, .param .u64 out, .param .u64 scratch,\n"
      "  .param .u64 accumulators, .param .u32 pa, .param .s16 pb, .param .u8 pc, .param .f32 pd, .param .s64 pe,\n"
      "  .param .f64 pf, .param .align 8 .b8 pg[16]{})\n{}{{\n",
      name, module_.pointerParameters, module_.directives);
  text += declarations();
  text += "  .reg .b64 %in, %inf, %ind, %out, %scr, %acc, %loc, %locg, %shog, %hash;\n"
          "  .reg .b32 %ltid, %gtid, %sho, %shx, %sum, %mask, %t;\n";
  text += pointerDeclarations();
  return text + addresses() + code_ + "  ret;\n}\n";
}

void FunctionWriter::deviceFunction(const std::string& name) {
  context().blockUniform = false;
  context().mayExit = false;
  Callee callee{name, {}, kKinds[random_.between(1, 4)]};
  std::string parameters;
  const unsigned count = random_.between(1, 4);
  for (unsigned i = 0; i < count; ++i) {
    const Kind kind = kKinds[random_.between(1, 4)];
    parameters += fmt::format("{}.param .{} a{}", i ? ", " : "", info(kind).type, i);
    callee.parameters.push_back(kind);
    std::string value = fresh(kind);
    emit("ld.param.{} {}, [a{}]", info(kind).type, value, i);
    addValue(kind, value, false);
  }
  // One value of each kind, from the existing values.
  const Kind source = callee.parameters.front();
  emit("mov.b64 %hash, {}", wide(source, values_.of(source).front().name));
  emit("cvt.u32.u64 %sum, %hash");
  for (Kind kind : {Kind::B32, Kind::B64, Kind::F32, Kind::F64, Kind::B16, Kind::Pred}) {
    std::string value = fresh(kind);
    switch (kind) {
    case Kind::B32: emit("mov.b32 {}, %sum", value); break;
    case Kind::B64: emit("mov.b64 {}, %hash", value); break;
    case Kind::F32: emit("cvt.rn.f32.s32 {}, %sum", value); break;
    case Kind::F64: emit("cvt.rn.f64.s64 {}, %hash", value); break;
    case Kind::B16: emit("cvt.u16.u32 {}, %sum", value); break;
    case Kind::Pred: emit("setp.lt.s32 {}, %sum, {}", value, literal(Kind::B32)); break;
    }
    addValue(kind, value, false);
  }
  const unsigned statements = random_.between(2, profile_.isSmall ? 4 : 10);
  for (unsigned i = 0; i < statements; ++i)
    statement();
  for (Kind kind : kKinds)
    foldValue(kind, values_.of(kind).back().name);
  std::string result = fresh(callee.result);
  switch (callee.result) {
  case Kind::B32: emit("xor.b32 {}, %sum, {}", result, values_.of(Kind::B32).back().name); break;
  case Kind::B64: emit("mov.b64 {}, %hash", result); break;
  case Kind::F32: emit("cvt.rn.f32.u64 {}, %hash", result); break;
  default: emit("cvt.rn.f64.s32 {}, %sum", result); break;
  }
  const char* type = info(callee.result).type;
  emit("st.param.{} [returned], {}", type, result);
  module_.functions +=
      fmt::format(".func (.param .{} returned) {}({})\n{{\n{}  .reg .b64 %hash;\n  .reg .b32 %sum;\n{}  ret;\n}}\n",
                  type, name, parameters, declarations(), code_);
  module_.callees.push_back(std::move(callee));
}

/// At least one value of every kind, some of them uniform.
void FunctionWriter::firstValues() {
  const auto add = [&](Kind kind, bool uniform) -> std::string {
    std::string name = fresh(kind);
    addValue(kind, name, uniform);
    return name;
  };
  constexpr std::pair<const char*, Kind> kParameters[] = {
      {"u32 {}, [pa]", Kind::B32},   {"s16 {}, [pb]", Kind::B16},    {"u8 {}, [pc]", Kind::B32},
      {"f32 {}, [pd]", Kind::F32},   {"s64 {}, [pe]", Kind::B64},    {"f64 {}, [pf]", Kind::F64},
      {"b32 {}, [pg+4]", Kind::B32}, {"u16 {}, [pg+10]", Kind::B16}, {"b64 {}, [pg+8]", Kind::B64}};
  for (auto [text, kind] : kParameters)
    if (random_.percent(profile_.isSmall ? 15 : 50))
      emit("ld.param.{}", fmt::format(fmt::runtime(text), add(kind, true)));
  std::string block = add(Kind::B32, true), first = add(Kind::Pred, true);
  emit("mov.u32 {}, %ctaid.x", block);
  emit("setp.{}.u32 {}, {}, 0", random_.percent(50) ? "eq" : "ne", first, block);
  if (random_.percent(60)) {
    std::string parameter = add(Kind::B32, true), second = add(Kind::Pred, true);
    emit("ld.param.u32 {}, [pa]", parameter);
    emit("setp.{}.s32 {}, {}, {}", random_.percent(50) ? "lt" : "ge", second, parameter, literal(Kind::B32));
  }
  std::string thread = add(Kind::B32, false);
  emit("mov.u32 {}, %ltid", thread);
  if (module_.knowsBlock) {
    // Values that are uniform in rows of lanes of a warp, of any length.
    const std::string warp = add(Kind::B32, false), first = add(Kind::B32, false), isFirst = add(Kind::Pred, false);
    emit("shr.u32 {}, %ltid, 5", warp);
    emit("and.b32 {}, %ltid, -32", first);
    emit("setp.lt.u32 {}, %ltid, 32", isFirst);
  }
  struct Load {
    const char* base;
    unsigned bytes, count;
    Kind kind;
  };
  constexpr Load kLoads[] = {{"%in", 4, kInputBytes / 4, Kind::B32}, {"%in", 8, kInputBytes / 8, Kind::B64},
                             {"%in", 2, kInputBytes / 2, Kind::B16}, {"%inf", 4, kFloatInputs, Kind::F32},
                             {"%inf", 4, kFloatInputs, Kind::F32},   {"%ind", 8, kDoubleInputs, Kind::F64},
                             {"%ind", 8, kDoubleInputs, Kind::F64}};
  for (const Load& load : kLoads) {
    if (profile_.isSmall && !values_.of(load.kind).empty()) continue;
    std::string index = fresh(Kind::B32), address = fresh(Kind::B64), value = add(load.kind, false);
    emit("mad.lo.u32 {}, %gtid, {}, {}", index, random_.below(40) * 2 + 1, random_.below(100));
    emit("and.b32 {}, {}, {}", index, index, load.count - 1);
    emit("mad.wide.u32 {}, {}, {}, {}", address, index, load.bytes, load.base);
    emit("ld.global.{} {}, [{}]", info(load.kind).type, value, address);
  }
  std::string isOdd = add(Kind::Pred, false), isLess = add(Kind::Pred, false), bit = fresh(Kind::B32);
  emit("and.b32 {}, {}, {}", bit, thread, random_.between(1, 7));
  emit("setp.ne.u32 {}, {}, 0", isOdd, bit);
  emit("setp.lt.s32 {}, {}, {}", isLess, values_.of(Kind::B32).back().name, literal(Kind::B32));
  emit("mov.b64 %hash, {:#x}", random_.next());
  emit("mov.b32 %sum, {:#x}", static_cast<std::uint32_t>(random_.next()));
}

/// Adds every available value to the checksums, and stores some of them to memory.
void FunctionWriter::showValues() {
  for (Kind kind : kKinds) {
    const std::vector<Value>& pool = values_.of(kind);
    for (std::size_t i = 0; i < pool.size(); ++i) {
      if (profile_.isSmall && pool.size() - i > 3) continue;
      if (pool.size() - i <= 4)
        storeValue(kind, pool[i].name);
      else if (random_.percent(60))
        foldValue(kind, pool[i].name);
    }
  }
  if (profile_.hasPointers()) showPlaces();
  emit("st.global.b64 [%out], %hash");
  emit("st.global.b32 [%out+8], %sum");
}

/// The start of the body: the registers with the thread's number and addresses, which depend on the complete body.
std::string FunctionWriter::addresses() const {
  std::string text;
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    text += "  " + fmt::format(format, std::forward<Args>(args)...) + ";\n";
  };
  const std::string& suffix = module_.suffix;
  if (module_.usesLocal) line(".local .align 16 .b8 local[{}]", kOwnBytes);
  if (module_.usesShared) {
    line(".shared .align 16 .b8 sho{}[{}]", suffix, kOwnBytes * module_.threads);
    line(".shared .align 16 .b8 shx{}[{}]", suffix, kExchangeBytes * module_.threads);
    line(".shared .align 8 .b64 sha{}", suffix);
  }
  line("mov.u32 %ltid, %tid.y");
  line("mov.u32 %t, %ntid.x");
  line("mov.u32 %gtid, %tid.x");
  line("mad.lo.u32 %ltid, %ltid, %t, %gtid");
  line("mov.u32 %t, %ctaid.x");
  line("mad.lo.u32 %gtid, %t, {}, %ltid", module_.threads);
  for (auto [name, parameter] : {std::pair{"%in", "in"},
                                 {"%inf", "inf"},
                                 {"%ind", "ind"},
                                 {"%out", "out"},
                                 {"%scr", "scratch"},
                                 {"%acc", "accumulators"}}) {
    line("ld.param.u64 {}, [{}]", name, parameter);
    line("cvta.to.global.u64 {}, {}", name, name);
  }
  line("mad.wide.u32 %out, %gtid, {}, %out", recordBytes(module_));
  line("mad.wide.u32 %scr, %gtid, {}, %scr", kScratchRecord);
  if (module_.threads % 32 != 0) { // the last warp is partial
    line("and.b32 %t, %ltid, -32");
    line("sub.u32 %t, {}, %t", module_.threads);
    line("min.u32 %t, %t, 32");
    line("sub.u32 %t, 32, %t");
    line("shr.u32 %mask, {}, %t", kAllLanes);
  }
  if (module_.usesLocal) {
    line("mov.u64 %loc, local");
    line("cvta.local.u64 %locg, %loc");
    for (unsigned at = 0; at < kOwnBytes; at += 4)
      line("st.local.b32 [%loc+{}], %gtid", at);
  }
  if (module_.usesShared) {
    line("mov.u32 %sho, sho{}", suffix);
    line("mad.lo.u32 %sho, %ltid, {}, %sho", kOwnBytes);
    line("cvt.u64.u32 %shog, %sho");
    line("cvta.shared.u64 %shog, %shog");
    line("mov.u32 %shx, shx{}", suffix);
    line("mad.lo.u32 %shx, %ltid, {}, %shx", kExchangeBytes);
    for (unsigned at = 0; at < kOwnBytes; at += 4)
      line("st.shared.b32 [%sho+{}], %ltid", at);
  }
  text += pointerAddresses() + tensorAllocation();
  if (module_.clusterBlocks != 0) { // no block accesses shared memory before its block has started
    line("barrier.cluster.arrive.relaxed");
    line("barrier.cluster.wait");
  }
  return text;
}

unsigned recordBytes(const ModuleText& module) {
  return (module.recordBytes + 15) / 16 * 16;
}

} // namespace orias::generator
