#include "tools/launch/keys.h"

#include "support/check.h"

namespace orias::launch {

namespace {

constexpr std::string_view kLaunch[] = {"$schema",    "name",      "description",   "file",    "kernel",   "grid",
                                        "block",      "cluster",   "dynamicShared", "buffers", "textures", "samplers",
                                        "multicasts", "arguments", "variables",     "stops"};
constexpr std::string_view kTexture[] = {"name",
                                         "buffer",
                                         "offset",
                                         "shape",
                                         "size",
                                         "channels",
                                         "samples",
                                         "levels",
                                         "pitch",
                                         "address",
                                         "filter",
                                         "normalizedCoordinates",
                                         "normalizedValues",
                                         "comparison"};
constexpr std::string_view kSampler[] = {"name", "address", "filter", "forceUnnormalizedCoordinates", "comparison"};
constexpr std::string_view kVariable[] = {"name", "type", "expected", "tolerance"};
constexpr std::string_view kBuffer[] = {"name", "type", "count", "init", "expected", "tolerance", "print"};
constexpr std::string_view kTolerance[] = {"absolute", "relative"};
constexpr std::string_view kArgument[] = {"name",  "type",   "value", "count",   "init",    "buffer",    "offset",
                                          "bytes", "fields", "size",  "texture", "sampler", "multicast", "tensorMap"};
constexpr std::string_view kMulticast[] = {"name", "buffers"};
constexpr std::string_view kTensorMap[] = {"buffer", "offset",         "type",    "size", "strides",
                                           "box",    "elementStrides", "swizzle", "fill", "image"};
constexpr std::string_view kTensorImage[] = {"mode", "lower", "upper", "channels", "pixels"};
constexpr std::string_view kPointer[] = {"buffer", "offset"};

// Generators; the object's name is the value of its key "generator".
constexpr std::string_view kZeros[] = {"generator"};
constexpr std::string_view kConstant[] = {"generator", "value"};
constexpr std::string_view kRamp[] = {"generator", "start", "step", "period"};
constexpr std::string_view kRandom[] = {"generator", "seed", "low", "high"};
constexpr std::string_view kSeeded[] = {"generator", "seed"};
constexpr std::string_view kValues[] = {"generator", "values", "repeat"};
constexpr std::string_view kFile[] = {"generator", "path", "offset"};
constexpr std::string_view kFormula[] = {"generator", "formula"};
constexpr std::string_view kPointers[] = {"generator", "targets"};

constexpr ObjectKeys kObjects[] = {
    {"launch", kLaunch},       {"buffer", kBuffer},       {"tolerance", kTolerance},
    {"argument", kArgument},   {"variable", kVariable},   {"pointer", kPointer},
    {"zeros", kZeros},         {"constant", kConstant},   {"ramp", kRamp},
    {"random", kRandom},       {"bits", kSeeded},         {"permutation", kSeeded},
    {"edges", kSeeded},        {"values", kValues},       {"file", kFile},
    {"formula", kFormula},     {"pointers", kPointers},   {"texture", kTexture},
    {"multicast", kMulticast}, {"tensorMap", kTensorMap}, {"tensorImage", kTensorImage},
    {"sampler", kSampler},
};

} // namespace

std::span<const ObjectKeys> objectKeys() {
  return kObjects;
}

std::span<const std::string_view> keysOf(std::string_view object) {
  for (const ObjectKeys& o : kObjects)
    if (o.object == object) return o.keys;
  ORIAS_UNREACHABLE("an object of launch files");
}

} // namespace orias::launch
