#include "tools/launch/driver_functions.h"

#include "support/check.h"
#include "tools/launch/device_runtime.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <fmt/format.h>

namespace orias::launch {

namespace {

constexpr std::size_t kLongestText = 4096;

class Caller {
 public:
  Caller(const DriverCall& call, Memory& global, std::string& printed)
      : call_(call), global_(global), printed_(printed) {}

  DriverResult run() {
    const std::string_view name = call_.function->name;
    if (name == "vprintf") return {print(), failure_, "driver"};
    if (name == "malloc") return {allocateOnHeap(global_, call_.arguments[0], call_.thread), {}, {}};
    if (name == "free") return {};
    return {0,
            fmt::format("{}:{}: {}: {}: assertion `{}' failed", text(call_.arguments[1]), call_.arguments[2],
                        text(call_.arguments[3]), call_.thread, text(call_.arguments[0])),
            "assert"};
  }

 private:
  template <typename T> T load(std::uint64_t address) {
    T value{};
    if (!call_.read(address, std::as_writable_bytes(std::span(&value, 1))) && failure_.empty())
      failure_ = fmt::format("{} cannot read at {:#x}", call_.function->name, address);
    return value;
  }

  std::string text(std::uint64_t address) {
    std::string out;
    while (out.size() < kLongestText && failure_.empty()) {
      const char c = load<char>(address++);
      if (!c) break;
      out += c;
    }
    return out;
  }

  /// Arguments follow each other at multiples of their sizes.
  template <typename T> T argument() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const T value = load<T>(call_.arguments[1] + at_);
    at_ += sizeof(T);
    return value;
  }

  /// Returns the number of arguments in the format, as CUDA's printf does.
  std::uint64_t print() {
    const std::string format = text(call_.arguments[0]);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < format.size() && failure_.empty(); ++i) {
      if (format[i] != '%') {
        printed_ += format[i];
        continue;
      }
      if (i + 1 < format.size() && format[i + 1] == '%') {
        printed_ += '%';
        ++i;
        continue;
      }
      std::string spec = "%";
      for (++i; i < format.size() && std::string_view("-+ #0123456789.*").find(format[i]) != std::string_view::npos;
           ++i)
        if (format[i] == '*') {
          spec += std::to_string(argument<std::int32_t>());
          ++count;
        } else {
          spec += format[i];
        }
      bool isLong = false;
      for (; i < format.size() && std::string_view("hljzt").find(format[i]) != std::string_view::npos; ++i)
        isLong |= format[i] != 'h';
      if (i == format.size()) break;
      convert(spec, format[i], isLong);
      ++count;
    }
    return count;
  }

  void convert(const std::string& spec, char kind, bool isLong) {
    std::array<char, 512> buffer{};
    const auto put = [&](const std::string& full, auto value) {
      std::snprintf(buffer.data(), buffer.size(), full.c_str(), value);
      printed_ += buffer.data();
    };
    switch (kind) {
    case 'd':
    case 'i':
      return put(spec + "lld", isLong ? static_cast<long long>(argument<std::int64_t>()) : argument<std::int32_t>());
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return put(spec + "ll" + kind, isLong ? static_cast<unsigned long long>(argument<std::uint64_t>())
                                            : static_cast<unsigned long long>(argument<std::uint32_t>()));
    case 'c': return put(spec + 'c', argument<std::int32_t>());
    case 'p': return put("%#llx", static_cast<unsigned long long>(argument<std::uint64_t>()));
    case 's': return put(spec + 's', text(argument<std::uint64_t>()).c_str());
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': return put(spec + kind, std::bit_cast<double>(argument<std::uint64_t>()));
    default: printed_ += spec + kind;
    }
  }

  const DriverCall& call_;
  Memory& global_;
  std::string& printed_;
  std::string failure_;
  std::uint64_t at_ = 0;
};

} // namespace

const DriverFunction* driverFunction(std::string_view name) {
  static const std::array<DriverFunction, 4> kAll{
      {{"vprintf", {8, 8}, 4}, {"malloc", {8}, 8}, {"free", {8}, 0}, {"__assertfail", {8, 8, 4, 8, 8}, 0}}};
  const auto at = std::find_if(kAll.begin(), kAll.end(), [&](const DriverFunction& f) { return f.name == name; });
  return at == kAll.end() ? runtimeFunction(name) : &*at;
}

void DriverCall::takeArguments(const std::function<std::uint32_t(unsigned)>& word) {
  unsigned at = 0;
  for (const unsigned bytes : function->arguments) {
    const bool isPair = bytes == 8;
    if (isPair) at = (at + 1) / 2 * 2;
    for (unsigned w = 0; w < bytes / 4; w += isPair ? 2 : 1, at += isPair ? 2 : 1)
      arguments.push_back(isPair ? word(at) | std::uint64_t{word(at + 1)} << 32 : word(at));
  }
}

std::uint64_t allocateOnHeap(Memory& global, std::uint64_t size, const std::string& thread) {
  if (size == 0 || size > (std::uint64_t{8} << 20)) return 0; // the heap of a device is 8 MB
  // The name of a block does not depend on the order of threads.
  std::string name;
  for (unsigned n = 0;; ++n) {
    name = fmt::format("block {} of the heap, {}", n, thread);
    if (!global.find(name)) break;
  }
  return global.allocate(std::move(name), size, 16);
}

DriverResult callDriver(const DriverCall& call, Memory& global, std::string& printed) {
  ORIAS_CHECK(call.function && call.arguments.size() == call.function->arguments.size());
  return Caller(call, global, printed).run();
}

} // namespace orias::launch
