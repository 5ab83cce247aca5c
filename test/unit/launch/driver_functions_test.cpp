#include "tools/launch/driver_functions.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

using namespace orias::launch;

namespace {

/// Strings and arguments at chosen addresses.
struct World {
  Memory global{0x1000};
  std::string printed;

  std::uint64_t place(const void* bytes, std::size_t size) {
    const std::uint64_t at = global.allocate("bytes " + std::to_string(global.allocations().size()), size);
    std::memcpy(global.at(at, size), bytes, size);
    return at;
  }
  std::uint64_t text(const char* s) { return place(s, std::strlen(s) + 1); }
  DriverResult call(std::string_view name, std::vector<std::uint64_t> arguments) {
    DriverCall call{driverFunction(name), std::move(arguments), "thread (0, 0, 0)",
                    [&](std::uint64_t at, auto out) { return global.read(at, out) == Fault::None; },
                    [&](std::uint64_t at, auto in) { return global.write(at, in) == Fault::None; }};
    return callDriver(call, global, printed);
  }
};

} // namespace

TEST_CASE("vprintf takes its arguments at multiples of their sizes") {
  World w;
  struct {
    std::int32_t i = -7;
    double d = 2.5;
    std::uint32_t x = 255;
    std::uint64_t text = 0;
    std::int64_t big = -5'000'000'000;
  } arguments;
  arguments.text = w.text("word");
  const DriverResult r =
      w.call("vprintf", {w.text("%d %.2f %04x [%6s] %lld 100%%\n"), w.place(&arguments, sizeof arguments)});
  CHECK(w.printed == "-7 2.50 00ff [  word] -5000000000 100%\n");
  CHECK(r.value == 5);
  CHECK(r.failure == "");
}

TEST_CASE("vprintf of a text that cannot be read fails") {
  World w;
  CHECK(w.call("vprintf", {0x20, 0}).failure != "");
}

TEST_CASE("malloc gives blocks of memory, and nothing for too much") {
  World w;
  const std::uint64_t a = w.call("malloc", {24}).value, b = w.call("malloc", {8}).value;
  CHECK(a != 0);
  CHECK(w.global.at(a, 24) != nullptr);
  CHECK(w.global.at(a, 25) == nullptr);
  CHECK(b != a);
  CHECK(w.call("malloc", {1u << 30}).value == 0);
  CHECK(w.call("free", {a}).failure == "");
}

TEST_CASE("a failed assertion ends the program and says where") {
  World w;
  const std::string why = w.call("__assertfail", {w.text("i < n"), w.text("f.cu"), 12, w.text("kernel"), 1}).failure;
  CHECK(why == "f.cu:12: kernel: thread (0, 0, 0): assertion `i < n' failed");
}

TEST_CASE("nobody else is the driver's") {
  CHECK(driverFunction("printf") == nullptr);
}
