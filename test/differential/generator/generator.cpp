#include "test/differential/generator/generator.h"
#include "test/differential/generator/function_writer.h"
#include "test/differential/generator/layout.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace orias::generator {

namespace {

using launch::Buffer;
using launch::ElementType;

/// From this seed on a third of the programs has a directive with the shape of the block. Earlier programs must not
/// change, because known.txt refers to them.
constexpr std::uint64_t kFirstWithShape = 1'000'000;

template <typename T> void append(std::vector<std::byte>& bytes, T value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::uint32_t randomWord(Random& random) {
  constexpr std::uint32_t kSpecial[] = {0,          1,      2,       0xffffffff, 0xfffffffe, 0x80000000, 0x7fffffff,
                                        0x80000001, 0xffff, 0x8000,  0x7fff,     0xff,       0x80,       0x7f,
                                        31,         32,     0x10000, 0xffff0000, 0x55555555, 100};
  switch (random.below(4)) {
  case 0: return random.pick(kSpecial);
  case 1: return random.below(256) - 64;
  default: return static_cast<std::uint32_t>(random.next());
  }
}

float randomFloat(Random& random) {
  constexpr std::uint32_t kSpecial[] = {
      0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x80000001,
      0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3effffff, 0x3f7fffff, 0x4b800001, 0x4f000000, 0x4f800000,
      0xcf000000, 0x5f000000, 0x3f000000, 0x3fc00000, 0x40200000, 0xc0200000, 0x437f8000, 0x47800000};
  switch (random.below(4)) {
  case 0: return std::bit_cast<float>(random.pick(kSpecial));
  case 1: return std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
  case 2: return static_cast<float>(static_cast<std::int32_t>(random.next()) >> random.below(32)) * 0.5f;
  default: // between 2^-8 and 2^8
    return std::bit_cast<float>((static_cast<std::uint32_t>(random.next()) & 0x807fffff) | (119 + random.below(16))
                                                                                               << 23);
  }
}

double randomDouble(Random& random) {
  constexpr std::uint64_t kSpecial[] = {0,
                                        0x8000000000000000,
                                        0x3ff0000000000000,
                                        0x7ff0000000000000,
                                        0xfff0000000000000,
                                        0x7ff8000000000000,
                                        1,
                                        0x800fffffffffffff,
                                        0x0010000000000000,
                                        0x7fefffffffffffff,
                                        0x41dfffffffc00000,
                                        0x43e0000000000000,
                                        0x3690000000000000,
                                        0x3fe0000000000000,
                                        0x47efffffe0000000,
                                        0x4004000000000000};
  switch (random.below(4)) {
  case 0: return std::bit_cast<double>(random.pick(kSpecial));
  case 1: return std::bit_cast<double>(random.next());
  case 2: return double{randomFloat(random)};
  default:
    return std::bit_cast<double>((random.next() & 0x800fffffffffffff) | std::uint64_t{1015 + random.below(16)} << 52);
  }
}

Buffer makeBuffer(const char* name, ElementType type, std::uint64_t elements) {
  Buffer buffer;
  buffer.name = name;
  buffer.type = type;
  buffer.elements = elements;
  return buffer;
}

void addArguments(launch::Launch& launch, Random& random) {
  for (int buffer = 0; buffer < static_cast<int>(launch.buffers.size()); ++buffer) {
    launch::Argument& argument = launch.arguments.emplace_back();
    argument.buffer = buffer;
  }
  const auto scalar = [&](auto value) {
    launch::Argument argument;
    append(argument.bytes, value);
    launch.arguments.push_back(std::move(argument));
  };
  scalar(randomWord(random));
  scalar(static_cast<std::int16_t>(randomWord(random)));
  scalar(static_cast<std::uint8_t>(randomWord(random)));
  scalar(randomFloat(random));
  scalar(std::int64_t{static_cast<std::int32_t>(randomWord(random))} << random.below(20));
  scalar(randomDouble(random));
  launch::Argument block;
  for (int i = 0; i < 4; ++i)
    append(block.bytes, randomWord(random));
  launch.arguments.push_back(std::move(block));
}

/// A generic pointer, with or without PTX attributes, and a struct with two pointers.
std::string pointerParameters(Random& random) {
  constexpr const char* kSaid[] = {"", "", ".ptr ", ".ptr .align 16 ", ".ptr .global .align 4 "};
  return fmt::format(",\n  .param .u64 {}{}, .param .align 8 .b8 {}[24]", random.pick(kSaid), kPointerParameter,
                     kStructParameter);
}

/// All of them point to the scratch buffer.
void addPointerArguments(launch::Launch& launch) {
  constexpr int kScratch = 4;
  launch.arguments.emplace_back().buffer = kScratch;
  launch::Argument& holder = launch.arguments.emplace_back();
  holder.bytes.assign(24, std::byte{0x11});
  holder.pointers = {{8, kScratch, 0}, {16, kScratch, kOwnBytes / 2}};
}

} // namespace

Program generate(std::uint64_t seed, const Profile& profile) {
  Random random(seed * 0x2545f4914f6cdd1d + profile.name.size());
  Program program;
  program.seed = seed;
  launch::Launch& launch = program.launch;
  launch.kernel = "k" + std::to_string(seed);
  launch.name = std::string(profile.name) + ":" + std::to_string(seed);
  constexpr launch::Dim3 kBlocks[] = {{32, 1, 1}, {32, 1, 1}, {64, 1, 1}, {128, 1, 1}, {8, 4, 1},
                                      {20, 3, 1}, {33, 1, 1}, {7, 1, 1},  {96, 1, 1}};
  constexpr launch::Dim3 kWholeWarps[] = {{32, 1, 1}, {64, 1, 1}, {128, 1, 1}, {128, 1, 1}, {8, 4, 1}};
  launch.block = profile.hasTensorMemory() ? random.pick(kWholeWarps)
                 : profile.isSmall         ? launch::Dim3{random.percent(80) ? 32u : 7u, 1, 1}
                                           : random.pick(kBlocks);
  launch.grid = {profile.isSmall ? 1 : random.between(1, 2), 1, 1};
  if (profile.hasClusters()) {
    constexpr std::uint32_t kClusters[] = {2, 2, 3, 4};
    launch.cluster = launch::Dim3{random.pick(kClusters), 1, 1};
    launch.grid.x *= launch.cluster->x;
  }
  const unsigned threads = static_cast<unsigned>(launch.block.count()), all = threads * launch.grid.x;

  ModuleText module;
  module.suffix = "_" + std::to_string(seed);
  module.threads = threads;
  if (profile.hasClusters()) module.clusterBlocks = launch.cluster->x;
  if (profile.hasClusters() && random.percent(50))
    module.directives = fmt::format(".reqnctapercluster {}\n", launch.cluster->x);
  if (seed >= kFirstWithShape && seed % 3 == 0) {
    module.directives += fmt::format(".reqntid {}, {}, {}\n", launch.block.x, launch.block.y, launch.block.z);
    module.knowsBlock = true;
  }
  if (profile.hasPointers()) module.pointerParameters = pointerParameters(random);
  program.text = FunctionWriter(random.next(), profile, module, true).kernel(launch.kernel);

  Buffer in = makeBuffer("in", ElementType::U32, kInputBytes / 4);
  for (unsigned i = 0; i < kInputBytes / 4; ++i)
    append(in.initial, randomWord(random));
  Buffer floats = makeBuffer("inf", ElementType::F32, kFloatInputs);
  for (unsigned i = 0; i < kFloatInputs; ++i)
    append(floats.initial, randomFloat(random));
  Buffer doubles = makeBuffer("ind", ElementType::F64, kDoubleInputs);
  for (unsigned i = 0; i < kDoubleInputs; ++i)
    append(doubles.initial, randomDouble(random));
  Buffer scratch = makeBuffer("scratch", ElementType::U32, all * kScratchRecord / 4);
  for (unsigned i = 0; i < scratch.elements; ++i)
    append(scratch.initial, randomWord(random));
  Buffer out = makeBuffer("out", ElementType::U32, all * recordBytes(module) / 4);
  out.initial.assign(out.elements * 4, std::byte{0xa5}); // so that unwritten bytes are visible
  Buffer accumulators = makeBuffer("accumulators", ElementType::U32, kMaxAccumulators / 4);
  accumulators.initial.assign(kMaxAccumulators, std::byte{0});
  launch.buffers = {in, floats, doubles, out, scratch, accumulators};
  addArguments(launch, random);
  if (profile.hasPointers()) addPointerArguments(launch);
  return program;
}

std::string moduleText(std::span<const Program> programs, std::string_view chip) {
  const bool isNewer = chip.starts_with("sm_1");
  std::string text = fmt::format(".version {}\n.target {}\n.address_size 64\n", isNewer ? "9.0" : "8.5", chip);
  for (const Program& program : programs)
    text += program.text;
  return text;
}

} // namespace orias::generator
