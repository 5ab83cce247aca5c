#include "test/forms/writer.h"

#include "support/check.h"
#include "test/forms/values.h"

#include <cstring>

namespace orias::forms {

using launch::ElementType;
using ptx::Mod;
using ptx::Op;
using ptx::StateSpace;
using ptx::Type;

namespace {

/// The tolerance for approximate instructions. The manual states larger bounds for all of these.
launch::Tolerance toleranceOf(const ptx::Form& form, Type type) {
  const bool isApproximate =
      form.rounding() == Mod::Approx || form.rounding() == Mod::Full || form.op == Op::Tanh || form.op == Op::Ex2;
  if (!isApproximate) return {};
  const bool isHalf = elementOf(type) == ElementType::F16 || elementOf(type) == ElementType::BF16;
  if (isHalf) return {0x1p-9, 0x1p-6};
  // Quotients with divisors above 2^126 may be flushed to zero.
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

} // namespace

void KernelWriter::shared(std::string_view name, unsigned bytes, unsigned align) {
  declare(fmt::format("  .shared .align {} .b8 {}[{}];\n", align, name, bytes));
}

std::string KernelWriter::header() const {
  std::string text = fmt::format(".version 9.0\n.target {}{}\n.address_size 64\n", arch_,
                                 statement_.hasSamplers ? ", texmode_independent" : "") +
                     outside_;
  text += ".visible .entry k(";
  text += parameters_;
  text += fmt::format(".param .align 128 .b8 tm[{}])\n{{\n", kParameterBytes);
  text += "  .reg .pred %p<10>, %ok<4>;\n  .reg .b8 %c<10>;\n  .reg .b16 %h<140>;\n  .reg .b32 %r<140>;\n"
          "  .reg .b64 %d<140>;\n  .reg .b128 %q<10>;\n  .reg .b64 %at, %x<8>;\n  .reg .b32 %lane, %index, %carry;\n"
          "  .reg .b32 %w<8>;\n  .reg .b16 %flag;\n  .reg .b64 %half<2>;\n";
  text += declarations_;
  text += fmt::format(
      "  mov.u32 %lane, %tid.x;\n  mov.u32 %index, %ctaid.x;\n  mad.lo.u32 %index, %index, {}, %lane;\n", block);
  return text;
}

void KernelWriter::addBuffer(std::string name, ElementType type, std::vector<std::byte> initial, std::uint64_t bytes,
                             launch::Tolerance tolerance) {
  parameters_ += fmt::format(".param .u64 {}, ", name);
  launch::Buffer buffer;
  buffer.name = std::move(name);
  buffer.type = type;
  buffer.elements = bytes / launch::elementBytes(type);
  buffer.initial = std::move(initial);
  buffer.tolerance = tolerance;
  launch::Argument argument;
  argument.buffer = static_cast<int>(launch_.buffers.size());
  launch_.arguments.push_back(argument);
  launch_.buffers.push_back(std::move(buffer));
}

void KernelWriter::buffer(std::string name, ElementType type, std::vector<std::byte> initial, unsigned laneBytes,
                          launch::Tolerance tolerance) {
  put("  ld.param.u64 %at, [{}];\n  mad.wide.u32 %at, %index, {}, %at;\n", name, laneBytes);
  addBuffer(std::move(name), type, std::move(initial), std::uint64_t{laneBytes} * lanes(), tolerance);
}

void KernelWriter::wholeBuffer(std::string_view reg, std::string name, std::vector<std::byte> initial,
                               ElementType type) {
  put("  ld.param.u64 {}, [{}];\n", reg, name);
  const std::uint64_t bytes = initial.size();
  addBuffer(std::move(name), type, std::move(initial), bytes, {});
}

void KernelWriter::parameter(std::string_view reg, std::string_view name, std::uint64_t value) {
  parameters_ += fmt::format(".param .u64 {}, ", name);
  put("  ld.param.u64 {}, [{}];\n", reg, name);
  launch::Argument argument;
  const auto bytes = std::as_bytes(std::span(&value, 1));
  argument.bytes.assign(bytes.begin(), bytes.end());
  launch_.arguments.push_back(std::move(argument));
}

const Use& KernelWriter::use(Role role, unsigned k) const {
  for (const Use& use : statement_.uses)
    if (use.role == role && k-- == 0) return use;
  ORIAS_UNREACHABLE("an operand that a statement does not have");
}

unsigned KernelWriter::uses(Role role) const {
  unsigned count = 0;
  for (const Use& use : statement_.uses)
    count += use.role == role;
  return count;
}

void KernelWriter::setSource(std::string_view operand, std::function<std::uint64_t(unsigned)> value) {
  fixed_.push_back({operand, std::move(value)});
}

std::vector<std::byte> KernelWriter::valuesOf(const Use& use, unsigned number) const {
  for (const Fixed& fixed : fixed_) {
    if (fixed.operand != use.operand) continue;
    const unsigned bits = ptx::bitWidth(use.type), bytes = bits <= 8 ? 1 : bits / 8;
    std::vector<std::byte> values(std::size_t{bytes} * lanes());
    for (unsigned lane = 0; lane < lanes(); ++lane) {
      const std::uint64_t value = fixed.value(lane);
      std::memcpy(values.data() + std::size_t{lane} * bytes, &value, std::min(bytes, 8u));
    }
    return values;
  }
  return sourceValues(statement_, use, lanes(), seed_ + number);
}

void KernelWriter::policySource(const Use& use, unsigned number) {
  std::vector<std::byte> fractions(std::size_t{4} * lanes());
  for (unsigned lane = 0; lane < lanes(); ++lane) {
    const float fraction = lane % 2 == 0 ? 0.5F : 0.25F;
    std::memcpy(fractions.data() + std::size_t{4} * lane, &fraction, 4);
  }
  buffer(fmt::format("in{}", number), ElementType::U32, std::move(fractions), 4);
  put("  ld.global.b32 %carry, [%at];\n  createpolicy.fractional.L2::evict_last.b64 {}, %carry;\n", use.name);
}

void KernelWriter::source(const Use& use, unsigned number, std::vector<std::byte> values) {
  if (use.operand == "policy") {
    policySource(use, number);
    return;
  }
  const bool isPredicate = use.type == Type::Pred, isWide = use.name[1] == 'q';
  const Access access = isPredicate ? Access{"u8", "u8", 1} : accessOf(use);
  buffer(fmt::format("in{}", number), ElementType::U8, std::move(values), isWide ? 16 : access.bytes);
  if (isPredicate)
    put("  ld.global.u8 %flag, [%at];\n  setp.ne.u16 {}, %flag, 0;\n", use.name);
  else if (isWide)
    put("  ld.global.v2.b64 {{%half0, %half1}}, [%at];\n  mov.b128 {}, {{%half0, %half1}};\n", use.name);
  else
    put("  ld.global.{} {}, [%at];\n", access.load, use.name);
}

void KernelWriter::sources(const std::function<std::vector<std::byte>(unsigned)>& values) {
  unsigned number = 0;
  for (const Use& use : statement_.uses) {
    if (use.role != Role::Source) continue;
    source(use, number, values ? values(number) : valuesOf(use, number));
    ++number;
  }
}

void KernelWriter::see(const Use& use) {
  const bool isPredicate = use.type == Type::Pred, isWide = use.name[1] == 'q';
  const Access access = isPredicate ? Access{"b32", "b32", 4} : accessOf(use);
  // tf32 is in untyped registers.
  const Type type = form().type() == Type::TF32 ? Type::TF32 : use.type;
  buffer(fmt::format("out{}", results_++), isPredicate ? ElementType::U32 : elementOf(type), {},
         isWide ? 16 : access.bytes, toleranceOf(form(), use.type));
  if (isPredicate)
    put("  selp.b32 %carry, 1, 0, {};\n  st.global.b32 [%at], %carry;\n", use.name);
  else if (isWide)
    put("  mov.b128 {{%half0, %half1}}, {};\n  st.global.v2.b64 [%at], {{%half0, %half1}};\n", use.name);
  else
    put("  st.global.{} [%at], {};\n", access.store, use.name);
}

void KernelWriter::results() {
  for (const Use& use : statement_.uses)
    if (use.role == Role::Result) see(use);
}

void KernelWriter::putStatement() {
  if (runsInClusters()) meet();
  put("  {}\n", statement_.text);
  if (runsInClusters()) meet();
}

void KernelWriter::placeShared(unsigned k, std::string_view variable, unsigned laneBytes, unsigned within, bool isOwn) {
  const Use& address = use(Role::Address, k);
  put("  mov.b32 %w7, {};\n  mad.lo.u32 %w7, %lane, {}, %w7;\n  add.u32 %w7, %w7, {};\n", variable, laneBytes, within);
  if (runsInClusters() && !isOwn) {
    putOther("%w6");
    put("  mapa.shared::cluster.u32 %w7, %w7, %w6;\n");
  }
  if (ptx::bitWidth(address.type) == 32)
    put("  mov.b32 {}, %w7;\n", address.name);
  else
    put("  cvt.u64.u32 {0}, %w7;\n  cvta.shared.u64 {0}, {0};\n", address.name);
}

void KernelWriter::see(std::string_view reg, unsigned bits) {
  buffer(fmt::format("see{}", seen_++), bits == 64 ? ElementType::U64 : ElementType::U32, {}, bits / 8);
  put("  st.global.b{} [%at], {};\n", bits, reg);
}

void KernelWriter::seePredicate(std::string_view reg) {
  put("  selp.b32 %carry, 1, 0, {};\n", reg);
  see("%carry");
}

void KernelWriter::seeShared(std::string_view variable, unsigned laneBytes, ElementType type) {
  buffer(fmt::format("see{}", seen_++), type, {}, laneBytes);
  put("  mov.b32 %w7, {};\n  mad.lo.u32 %w7, %lane, {}, %w7;\n", variable, laneBytes);
  for (unsigned at = 0; at < laneBytes; at += 4)
    put("  ld.shared.b32 %w6, [%w7+{0}];\n  st.global.b32 [%at+{0}], %w6;\n", at);
}

void KernelWriter::fillShared(std::string_view variable, std::string name, std::vector<std::byte> values,
                              unsigned laneBytes) {
  buffer(std::move(name), ElementType::U32, std::move(values), laneBytes);
  put("  mov.b32 %w7, {};\n  mad.lo.u32 %w7, %lane, {}, %w7;\n", variable, laneBytes);
  for (unsigned at = 0; at < laneBytes; at += 4)
    put("  ld.global.b32 %w6, [%at+{0}];\n  st.shared.b32 [%w7+{0}], %w6;\n", at);
}

Kernel KernelWriter::finish() {
  // The parameter after the buffers is always the same.
  launch::Argument parameter;
  parameter.bytes = memoryValues(statement_, kParameterBytes, seed_ + 1000);
  launch_.arguments.push_back(std::move(parameter));
  launch_.name = statement_.opcode;
  launch_.kernel = "k";
  launch_.grid = {grid, 1, 1};
  launch_.block = {block, 1, 1};
  put("L1:\n");
  // A block must not exit while the other one may access its memory.
  if (runsInClusters()) meet();
  Kernel kernel;
  kernel.text = header() + body_ + "  ret;\n}\n";
  kernel.statement = statement_.text;
  kernel.launch = std::move(launch_);
  return kernel;
}

} // namespace orias::forms
