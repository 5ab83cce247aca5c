#include "test/forms/kernel.h"

#include "test/forms/protocols.h"
#include "test/forms/values.h"
#include "test/forms/writer.h"

#include <fmt/format.h>

namespace orias::forms {

using launch::ElementType;
using ptx::Mod;
using ptx::Op;
using ptx::StateSpace;
using ptx::Type;

namespace {

/// Bytes of a lane in each space.
constexpr unsigned kLaneBytes = 128;

/// A kernel with a single statement. Its sources are loaded from buffers. Its results, the carry and the memory that it
/// may have changed are stored to buffers.
class Alone {
 public:
  explicit Alone(KernelWriter& writer) : w_(writer), statement_(writer.statement()) {}

  void write() {
    declare();
    w_.sources();
    memoryIn();
    carryIn();
    w_.putStatement();
    carryOut();
    w_.results();
    memoryOut();
  }

 private:
  void declare() {
    const auto needs = [&](std::string_view name) { return statement_.text.find(name) != std::string::npos; };
    if (needs("cbuf")) w_.outside(constants());
    if (const Use* use = address()) {
      if (use->space == StateSpace::Shared) w_.shared("sbuf", w_.block * kLaneBytes);
      if (use->space == StateSpace::Local) w_.declare(fmt::format("  .local .align 16 .b8 lbuf[{}];\n", kLaneBytes));
    }
    if (needs("callparam")) w_.declare("  .param .align 16 .b8 callparam[64];\n");
  }

  static std::string constants() {
    std::string text = ".const .align 16 .b8 cbuf[64] = {";
    for (unsigned i = 0; i < 64; ++i)
      text += fmt::format("{}{}", i ? "," : "", (i * 37 + 11) % 256);
    return text + "};\n";
  }

  const Use* address() const {
    for (const Use& use : statement_.uses)
      if (use.role == Role::Address) return &use;
    return nullptr;
  }

  void copy(std::string_view from, std::string_view to, std::string_view fromSpace, std::string_view toSpace) {
    for (unsigned at = 0; at < kLaneBytes; at += 16)
      w_.put("  ld.{}.v4.b32 {{%w0, %w1, %w2, %w3}}, [{}+{}];\n  st.{}.v4.b32 [{}+{}], {{%w0, %w1, %w2, %w3}};\n",
             fromSpace, from, at, toSpace, to, at);
  }

  /// Sets the address register, and the memory there.
  void memoryIn() {
    const Use* use = address();
    if (!use) return;
    w_.buffer("memory", memoryElement(statement_),
              memoryValues(statement_, std::size_t{w_.lanes()} * kLaneBytes, w_.seed() + 2000), kLaneBytes);
    switch (use->space) {
    case StateSpace::Shared:
      w_.put("  mov.b32 %w4, sbuf;\n  mad.lo.u32 %w4, %lane, {}, %w4;\n", kLaneBytes);
      copy("%at", "%w4", "global", "shared");
      w_.put("  bar.sync 0;\n  mov.b32 {}, %w4;\n", kAddress32);
      if (w_.runsInClusters()) {
        w_.putOther("%w5");
        w_.put("  mapa.shared::cluster.u32 {0}, {0}, %w5;\n", kAddress32);
      }
      w_.put("  cvt.u64.u32 {}, {};\n", kAddress64, kAddress32);
      break;
    case StateSpace::Local:
      w_.put("  mov.b64 {}, lbuf;\n", kAddress64);
      copy("%at", kAddress64, "global", "local");
      break;
    default: w_.put("  mov.b64 {}, %at;\n", kAddress64);
    }
  }

  void memoryOut() {
    const Use* use = address();
    if (!use || (use->space != StateSpace::Shared && use->space != StateSpace::Local)) return;
    const bool isShared = use->space == StateSpace::Shared;
    w_.put("{}  ld.param.u64 %at, [memory];\n  mad.wide.u32 %at, %index, {}, %at;\n", isShared ? "  bar.sync 0;\n" : "",
           kLaneBytes);
    copy(isShared ? "%w4" : kAddress64, "%at", isShared ? "shared" : "local", "global");
  }

  bool isSubtraction() const { return statement_.form.op == Op::Sub || statement_.form.op == Op::Subc; }
  bool readsCarry() const {
    const Op op = statement_.form.op;
    return op == Op::Addc || op == Op::Subc || op == Op::Madc;
  }
  bool writesCarry() const { return statement_.form.has(Mod::Cc); }

  void carryIn() {
    if (!readsCarry()) return;
    const Use flag{"%r138", Type::B32, Role::Source, "", StateSpace::None};
    w_.buffer("carryIn", ElementType::U32, sourceValues(statement_, flag, w_.lanes(), w_.seed() + 3000), 4);
    w_.put("  ld.global.b32 %carry, [%at];\n{}",
           isSubtraction() ? "  sub.cc.u32 %carry, 5, %carry;\n" : "  add.cc.u32 %carry, %carry, %carry;\n");
  }
  void carryOut() {
    if (!writesCarry()) return;
    w_.put("{}", isSubtraction() ? "  subc.u32 %carry, 0, 0;\n" : "  addc.u32 %carry, 0, 0;\n");
    w_.buffer("carryOut", ElementType::U32, {}, 4);
    w_.put("  st.global.b32 [%at], %carry;\n");
  }

  KernelWriter& w_;
  const Statement& statement_;
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
  if (isProtocol(statement)) return {};
  if (isOne({"cvta"}) && form.get(ptx::Slot::Space) == Mod::Const)
    return "a generic address has 64 bits: those of 32 bits lead nowhere";
  if (isOne({"istypep"})) return "needs an object that the host makes";
  return {};
}

Kernel kernelFor(const Statement& statement, std::string_view arch, std::uint64_t seed) {
  KernelWriter writer(statement, arch, seed);
  if (!writeProtocol(writer)) Alone(writer).write();
  return writer.finish();
}

} // namespace orias::forms
