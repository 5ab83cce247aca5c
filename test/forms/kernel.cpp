#include "test/forms/kernel.h"

#include "test/forms/values.h"

#include <fmt/format.h>

namespace orias::forms {

using launch::ElementType;
using ptx::Mod;
using ptx::Op;
using ptx::StateSpace;
using ptx::Type;

namespace {

constexpr unsigned kBlock = 64, kGrid = 2, kLanes = kBlock * kGrid;
/// Memory of a lane, of each space. A warp's is enough for the largest matrix of wmma.load with a stride of 32.
constexpr unsigned kLaneBytes = 128;
constexpr unsigned kParameterBytes = 128;

/// The results of approximate instructions may differ; the manual states larger bounds for all of these.
launch::Tolerance toleranceOf(const ptx::Form& form, Type type) {
  const bool isApproximate =
      form.rounding() == Mod::Approx || form.rounding() == Mod::Full || form.op == Op::Tanh || form.op == Op::Ex2;
  if (!isApproximate) return {};
  const bool isHalf = elementOf(type) == ElementType::F16 || elementOf(type) == ElementType::BF16;
  if (isHalf) return {0x1p-9, 0x1p-6};
  // Quotients by numbers above 2^126 may be flushed to zero.
  return form.op == Op::Sin || form.op == Op::Cos ? launch::Tolerance{0x1p-20, 0}
                                                  : launch::Tolerance{0x1p-126, 0x1p-10};
}

struct Access {
  std::string_view load, store; ///< the type of the instruction that reads and writes the register
  unsigned bytes;
};

Access accessOf(const Use& use) {
  switch (use.name[1]) {
  case 'c': return {"u8", "u8", 1};
  case 'h': return {"b16", "b16", 2};
  case 'r': return {"b32", "b32", 4};
  default: return {"b64", "b64", 8};
  }
}

/// Writes the kernel's text and the buffers that it gets, together.
class Writer {
 public:
  Writer(const Statement& statement, std::string_view arch, std::uint64_t seed)
      : statement_(statement), arch_(arch), seed_(seed) {}

  Kernel write() {
    std::string body = sources();
    body += memoryIn();
    body += carryIn();
    body += "  " + statement_.text + "\n";
    body += carryOut();
    body += results();
    body += memoryOut();
    Kernel kernel;
    kernel.text = header() + body + "L1:\n  ret;\n}\n";
    launch_.name = statement_.opcode;
    launch_.kernel = "k";
    launch_.grid = {kGrid, 1, 1};
    launch_.block = {kBlock, 1, 1};
    kernel.launch = std::move(launch_);
    return kernel;
  }

 private:
  std::string header() const {
    std::string text = fmt::format(".version 9.0\n.target {}\n.address_size 64\n", arch_);
    const auto needs = [&](std::string_view name) { return statement_.text.find(name) != std::string::npos; };
    if (needs("cbuf")) text += constants();
    if (needs("fn0")) text += ".func fn0() { ret; }\n";
    text += ".visible .entry k(";
    for (std::size_t i = 0; i < launch_.buffers.size(); ++i)
      text += fmt::format(".param .u64 {}, ", launch_.buffers[i].name);
    text += fmt::format(".param .align 16 .b8 tm[{}])\n{{\n", kParameterBytes);
    text += "  .reg .pred %p<10>;\n  .reg .b8 %c<10>;\n  .reg .b16 %h<140>;\n  .reg .b32 %r<140>;\n"
            "  .reg .b64 %d<140>;\n  .reg .b128 %q<10>;\n  .reg .b64 %at;\n  .reg .b32 %lane, %index, %carry;\n"
            "  .reg .b32 %w<4>;\n  .reg .b16 %flag;\n  .reg .b64 %half<2>;\n";
    if (usesSpace(StateSpace::Shared)) text += fmt::format("  .shared .align 128 .b8 sbuf[{}];\n", kBlock * kLaneBytes);
    if (usesSpace(StateSpace::Local)) text += fmt::format("  .local .align 16 .b8 lbuf[{}];\n", kLaneBytes);
    if (needs("callparam")) text += "  .param .align 16 .b8 callparam[64];\n";
    if (needs("TL")) text += "TL: .branchtargets L1;\n";
    text += fmt::format(
        "  mov.u32 %lane, %tid.x;\n  mov.u32 %index, %ctaid.x;\n  mad.lo.u32 %index, %index, {}, %lane;\n", kBlock);
    return text;
  }

  static std::string constants() {
    std::string text = ".const .align 16 .b8 cbuf[64] = {";
    for (unsigned i = 0; i < 64; ++i)
      text += fmt::format("{}{}", i ? "," : "", (i * 37 + 11) % 256);
    return text + "};\n";
  }

  bool usesSpace(StateSpace space) const {
    for (const Use& use : statement_.uses)
      if (use.role == Role::Address && use.space == space) return true;
    return false;
  }
  const Use* address() const {
    for (const Use& use : statement_.uses)
      if (use.role == Role::Address) return &use;
    return nullptr;
  }

  /// A new buffer, and code that puts the address of the lane's element into %at.
  std::string lanesElement(std::string name, ElementType type, std::vector<std::byte> initial, unsigned laneBytes,
                           launch::Tolerance tolerance = {}) {
    launch::Buffer buffer;
    buffer.name = std::move(name);
    buffer.type = type;
    buffer.elements = std::uint64_t{laneBytes} * kLanes / launch::elementBytes(type);
    buffer.initial = std::move(initial);
    buffer.tolerance = tolerance;
    launch::Argument argument;
    argument.buffer = static_cast<int>(launch_.buffers.size());
    // The parameter after the buffers is always the same.
    if (launch_.arguments.empty()) launch_.arguments.push_back(bytesArgument());
    launch_.arguments.insert(launch_.arguments.end() - 1, argument);
    launch_.buffers.push_back(std::move(buffer));
    return fmt::format("  ld.param.u64 %at, [{}];\n  mad.wide.u32 %at, %index, {}, %at;\n", launch_.buffers.back().name,
                       laneBytes);
  }

  launch::Argument bytesArgument() const {
    launch::Argument argument;
    argument.bytes = memoryValues(statement_, kParameterBytes, seed_ + 1000);
    return argument;
  }

  std::string sources() {
    std::string text;
    unsigned number = 0;
    if (launch_.arguments.empty()) launch_.arguments.push_back(bytesArgument());
    for (const Use& use : statement_.uses) {
      if (use.role != Role::Source) continue;
      const bool isPredicate = use.type == Type::Pred, isWide = use.name[1] == 'q';
      const Access access = isPredicate ? Access{"u8", "u8", 1} : accessOf(use);
      const unsigned bytes = isWide ? 16 : access.bytes;
      std::vector<std::byte> values = sourceValues(statement_, use, kLanes, seed_ + number);
      text += lanesElement(fmt::format("in{}", number++), ElementType::U8, std::move(values), bytes);
      if (isPredicate)
        text += fmt::format("  ld.global.u8 %flag, [%at];\n  setp.ne.u16 {}, %flag, 0;\n", use.name);
      else if (isWide)
        text += fmt::format("  ld.global.v2.b64 {{%half0, %half1}}, [%at];\n  mov.b128 {}, {{%half0, %half1}};\n",
                            use.name);
      else
        text += fmt::format("  ld.global.{} {}, [%at];\n", access.load, use.name);
    }
    return text;
  }

  /// tf32 lies in untyped registers.
  Type resultType(const Use& use) const { return statement_.form.type() == Type::TF32 ? Type::TF32 : use.type; }

  std::string results() {
    std::string text;
    unsigned number = 0;
    for (const Use& use : statement_.uses) {
      if (use.role != Role::Result) continue;
      const bool isPredicate = use.type == Type::Pred, isWide = use.name[1] == 'q';
      const Access access = isPredicate ? Access{"b32", "b32", 4} : accessOf(use);
      text += lanesElement(fmt::format("out{}", number++), isPredicate ? ElementType::U32 : elementOf(resultType(use)),
                           {}, isWide ? 16 : access.bytes, toleranceOf(statement_.form, use.type));
      if (isPredicate)
        text += fmt::format("  selp.b32 %carry, 1, 0, {};\n  st.global.b32 [%at], %carry;\n", use.name);
      else if (isWide)
        text += fmt::format("  mov.b128 {{%half0, %half1}}, {};\n  st.global.v2.b64 [%at], {{%half0, %half1}};\n",
                            use.name);
      else
        text += fmt::format("  st.global.{} [%at], {};\n", access.store, use.name);
    }
    return text;
  }

  static std::string copy(std::string_view from, std::string_view to, std::string_view fromSpace,
                          std::string_view toSpace) {
    std::string text;
    for (unsigned at = 0; at < kLaneBytes; at += 16)
      text += fmt::format(
          "  ld.{}.v4.b32 {{%w0, %w1, %w2, %w3}}, [{}+{}];\n  st.{}.v4.b32 [{}+{}], {{%w0, %w1, %w2, %w3}};\n",
          fromSpace, from, at, toSpace, to, at);
    return text;
  }

  /// The address register, and what lies there.
  std::string memoryIn() {
    const Use* use = address();
    if (!use) return {};
    std::string text =
        lanesElement("memory", memoryElement(statement_),
                     memoryValues(statement_, std::size_t{kLanes} * kLaneBytes, seed_ + 2000), kLaneBytes);
    switch (use->space) {
    case StateSpace::Shared:
      text += fmt::format("  mov.b32 %r138, sbuf;\n  mad.lo.u32 %r138, %lane, {}, %r138;\n", kLaneBytes);
      text += copy("%at", "%r138", "global", "shared") + "  bar.sync 0;\n";
      text += fmt::format("  mov.b32 {}, {};\n  cvt.u64.u32 {}, %r138;\n", kAddress32, "%r138", kAddress64);
      break;
    case StateSpace::Local:
      text += fmt::format("  mov.b64 {}, lbuf;\n", kAddress64) + copy("%at", kAddress64, "global", "local");
      break;
    default: text += fmt::format("  mov.b64 {}, %at;\n", kAddress64);
    }
    if (isOfWarp()) text += warpAddress(use->space);
    return text;
  }

  /// A matrix in memory is one for the warp: all lanes give the address of the first lane's part.
  bool isOfWarp() const { return statement_.form.op == Op::WmmaLoad || statement_.form.op == Op::WmmaStore; }
  std::string warpAddress(StateSpace space) const {
    const std::string lane =
        fmt::format("  and.b32 %carry, %lane, 31;\n  mul.lo.u32 %carry, %carry, {};\n", kLaneBytes);
    if (space == StateSpace::Shared) return lane + fmt::format("  sub.u32 {0}, {0}, %carry;\n", kAddress32);
    return lane + fmt::format("  cvt.u64.u32 %half0, %carry;\n  sub.u64 {0}, {0}, %half0;\n", kAddress64);
  }

  std::string memoryOut() {
    const Use* use = address();
    if (!use || (use->space != StateSpace::Shared && use->space != StateSpace::Local)) return {};
    const bool isShared = use->space == StateSpace::Shared;
    const std::string at =
        fmt::format("  ld.param.u64 %at, [memory];\n  mad.wide.u32 %at, %index, {}, %at;\n", kLaneBytes);
    return (isShared ? "  bar.sync 0;\n" : "") + at +
           copy(isShared ? "%r138" : kAddress64, "%at", isShared ? "shared" : "local", "global");
  }

  bool isSubtraction() const { return statement_.form.op == Op::Sub || statement_.form.op == Op::Subc; }
  bool readsCarry() const {
    const Op op = statement_.form.op;
    return op == Op::Addc || op == Op::Subc || op == Op::Madc;
  }
  bool writesCarry() const { return statement_.form.has(Mod::Cc); }

  std::string carryIn() {
    if (!readsCarry()) return {};
    const Use flag{"%r138", Type::B32, Role::Source, "", StateSpace::None};
    std::string text =
        lanesElement("carryIn", ElementType::U32, sourceValues(statement_, flag, kLanes, seed_ + 3000), 4);
    return text + "  ld.global.b32 %carry, [%at];\n" +
           (isSubtraction() ? "  sub.cc.u32 %carry, 5, %carry;\n" : "  add.cc.u32 %carry, %carry, %carry;\n");
  }
  std::string carryOut() {
    if (!writesCarry()) return {};
    const std::string read = isSubtraction() ? "  subc.u32 %carry, 0, 0;\n" : "  addc.u32 %carry, 0, 0;\n";
    return read + lanesElement("carryOut", ElementType::U32, {}, 4) + "  st.global.b32 [%at], %carry;\n";
  }

  const Statement& statement_;
  std::string_view arch_;
  std::uint64_t seed_;
  launch::Launch launch_;
};

} // namespace

std::string_view whyNotAlone(const Statement& statement) {
  const ptx::Form& form = statement.form;
  const std::string_view op = ptx::opName(form.op);
  const auto isOne = [&](std::initializer_list<std::string_view> names) {
    for (std::string_view name : names)
      if (op == name || (op.starts_with(name) && op[name.size()] == '.')) return true;
    return false;
  };
  if (isOne({"ret", "exit", "bra", "brx", "call", "trap", "brkpt"})) return "control flow";
  if (isOne({"alloca", "stacksave", "stackrestore"})) return "moves the stack";
  if (isOne({"bar.arrive", "barrier.arrive", "barrier.cluster", "mbarrier", "cp", "st.async", "red.async", "st.bulk",
             "wgmma", "setmaxnreg", "griddepcontrol", "fence.mbarrier_init"}))
    return "one step of a protocol";
  if (isOne({"tex", "tld4", "txq", "suld", "sust", "sured", "suq", "tensormap", "multimem", "tcgen05",
             "clusterlaunchcontrol", "istypep"}))
    return "needs an object that the host makes";
  if (isOne({"cvta"}) && (form.get(ptx::Slot::Space) == Mod::Const))
    return "the window of constants is another in each engine";
  if (form.op == Op::Mma && (form.type(1) == Type::E4M3 || form.type(1) == Type::E5M2))
    return "its sums are rounded on the way, and the manual leaves open where";
  if (isOne({"wmma"})) return "how fragments lie in registers is up to the implementation";
  if (isOne({"ldmatrix", "stmatrix"}) && form.space() != StateSpace::Shared)
    return "a generic address of shared memory is wanted";
  if (isOne({"mapa", "getctarank"})) return "wants an address of shared memory and a CTA of the cluster";
  if (isOne({"discard"})) return "leaves memory undefined";
  if (isOne({"createpolicy"})) return "its result has no documented value";
  if (form.op == Op::St && form.space() == StateSpace::Param) return "part of a call";
  return {};
}

Kernel kernelFor(const Statement& statement, std::string_view arch, std::uint64_t seed) {
  return Writer(statement, arch, seed).write();
}

} // namespace orias::forms
