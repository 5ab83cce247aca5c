// Functions that are not inlined in whole programs, and the file's records of calls, kernels and launches.

#include "encoder/cubin/cubin.h"
#include "orias/lower_options.h"
#include "orias/orias.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>

using namespace orias;

namespace {

std::string header(const std::string& items) {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + items;
}

/// A function that is too large to be inlined for several calls.
std::string large(const std::string& name, const std::string& more = {}) {
  std::string body;
  for (unsigned n = 0; n < 2100; ++n)
    body += fmt::format("mad.lo.s32 %r{}, %r{}, %r{}, {};\n", 1 + n % 50, 1 + n % 7, 1 + n % 50, n);
  return ".func " + name + "(.param .b32 a) { .reg .b32 %r<60>; .reg .b64 %rd<4>; ld.param.b32 %r1, [a];\n" + body +
         more + "mov.u64 %rd1, out; st.global.u32 [%rd1], %r3; ret; }\n";
}

std::string callsOf(const std::string& function) {
  const std::string call = "{ .param .b32 x; st.param.b32 [x], %r1; call.uni " + function + ", (x); }\n";
  return call + call;
}

/// Options with which large functions are not inlined.
Options unshared() {
  Options options;
  options.knobs = {"InlineSharedCalls=0"};
  return options;
}

cubin::Module assembled(const std::string& text, const Options& options = {}) {
  const Result result = assemble(text, options);
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  return cubin::read(result.cubin);
}

const cubin::Function* find(const cubin::Module& module, const std::string& name) {
  const auto at = std::ranges::find(module.functions, name, &cubin::Function::name);
  return at == module.functions.end() ? nullptr : &*at;
}

constexpr const char* kOut = ".visible .global .u32 out;\n";

} // namespace

TEST_CASE("a large function with two calls is in the file once, and a remark says why") {
  Options options = unshared();
  options.wantRemarks = true;
  const std::string text = header(kOut + large("f") + ".visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %tid.x;\n" +
                                  callsOf("f") + "ret; }\n");
  const Result result = assemble(text, options);
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  const cubin::Module module = cubin::read(result.cubin);
  REQUIRE(find(module, "f"));
  CHECK(find(module, "k")->code.size() < 1024);
  const auto remarks = nlohmann::json::parse(result.remarks);
  const auto isCall = [](const nlohmann::json& r) { return r["phase"] == "M5"; };
  REQUIRE(std::ranges::count_if(remarks, isCall) == 2);
  const auto& remark = *std::ranges::find_if(remarks, isCall);
  CHECK(remark["function"] == "k");
  CHECK(remark["done"] == false);
  CHECK(remark["line"] > 2100);
  CHECK(remark["message"].get<std::string>().find("the call of 'f' is not inlined") == 0);
}

TEST_CASE("knobs decide which calls are inlined, and the remark names them") {
  std::string body;
  for (unsigned n = 0; n < 40; ++n)
    body += fmt::format("mad.lo.s32 %r1, %r1, %r1, {};\n", n);
  const std::string f = ".func f(.param .b32 a) { .reg .b32 %r<3>; .reg .b64 %rd<2>; ld.param.b32 %r1, [a];\n" + body +
                        "mov.u64 %rd1, out; st.global.u32 [%rd1], %r1; ret; }\n";
  const std::string text =
      header(kOut + f + ".visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %tid.x;\n" + callsOf("f") + "ret; }\n");
  const auto messages = [&](const std::vector<std::string>& knobs) {
    Options options;
    options.wantRemarks = true;
    options.knobs = knobs;
    options.knobs.push_back("InlineSharedCalls=0");
    const Result result = assemble(text, options);
    REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
    std::string all;
    for (const auto& remark : nlohmann::json::parse(result.remarks))
      if (remark["phase"] == "M5" && !remark["done"]) all += remark["message"].get<std::string>() + '\n';
    CHECK((find(cubin::read(result.cubin), "f") != nullptr) == !all.empty());
    return all;
  };
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  CHECK(messages({}).empty());
  CHECK(has(messages({"InlineLargeInstructions=40"}), "the limit for several calls is 40 instructions"));
  const std::string noBudget = "InlineModuleInstructions=0,InlineGrowthPercent=0";
  CHECK(has(messages({noBudget}), "its budget is 0 (InlineModuleInstructions, InlineGrowthPercent)"));
  CHECK(messages({noBudget, "InlineSmallInstructions=50"}).empty());
  CHECK(messages({"InlineModuleInstructions=0,InlineGrowthPercent=200"}).empty());
}

TEST_CASE("the defaults of the knobs are the limits of inlining") {
  CHECK(inlineLimits(phases::Knobs()) == ptx::InlineLimits{});
}

TEST_CASE("an object has no code of functions that are inlined at all their calls") {
  const std::string f = "f(.param .b32 a) { .reg .b32 %r<3>; .reg .b64 %rd<2>; ld.param.b32 %r1, [a]; mov.u64 %rd1, "
                        "out; st.global.u32 [%rd1], %r1; ret; }\n";
  const std::string kernel =
      ".visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %tid.x;\n" + callsOf("f") + "ret; }\n";
  Options object;
  object.relocatable = object.wantListing = true;
  const auto holds = [&](const std::string& linkage, const Options& options) {
    const Result result = assemble(header(kOut + linkage + ".func " + f + kernel), options);
    REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
    const std::string function = find(cubin::read(result.cubin), "f") ? "function" : "";
    return function + (result.listing.find("CALL") == std::string::npos ? "" : " calls");
  };
  CHECK(holds("", object).empty());
  CHECK(holds(".visible ", object) == "function");
  CHECK(holds(".weak ", object) == "function calls");
  Options asWritten = object;
  asWritten.knobs = {"InlineInObjects=0"};
  CHECK(holds("", asWritten) == "function calls");
  Options plain = object;
  plain.optLevel = 0;
  CHECK(holds("", plain) == "function calls");
}

TEST_CASE("functions of a kernel with few registers keep to them, and the kernel says what all need") {
  const std::string text = header(kOut + large("f") +
                                  ".visible .entry k() .maxnreg 32 { .reg .b32 %r<3>; mov.u32 %r1, "
                                  "%tid.x;\n" +
                                  callsOf("f") + "ret; }\n");
  const Result result = assemble(text, unshared());
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  const cubin::Module module = cubin::read(result.cubin);
  REQUIRE(find(module, "f"));
  CHECK(find(module, "k")->registerCount <= 32);
  CHECK(find(module, "k")->registerCount >= find(module, "f")->registerCount);
  for (const FunctionReport& report : result.statistics.functions)
    if (report.isKernel) CHECK(report.registers == find(module, "k")->registerCount);
}

TEST_CASE("a kernel names the driver's functions that recursion below it calls") {
  const std::string declared =
      ".extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 arguments);\n";
  const std::string says = "{ .param .b64 f; .param .b64 v; .param .b32 s; st.param.b64 [f], 0; st.param.b64 [v], 0;\n"
                           "call (s), vprintf, (f, v); }\n";
  const auto recursive = [&](const std::string& body) {
    return ".func r(.param .b32 a) { .reg .b32 %r<3>; .reg .pred %p<2>; ld.param.b32 %r1, [a];\n"
           "setp.eq.u32 %p1, %r1, 0; @%p1 bra end; sub.u32 %r1, %r1, 1;\n" +
           callsOf("r") + body + "end: ret; }\n";
  };
  const std::string kernel =
      ".visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %tid.x;\n" + callsOf("r") + "ret; }\n";
  const cubin::Module module = assembled(header(declared + recursive(says) + kernel));
  REQUIRE(find(module, "r"));
  CHECK(find(module, "r")->externals == std::vector<std::string>{"vprintf"});
  CHECK(find(module, "k")->externals == std::vector<std::string>{"vprintf"});
  CHECK(find(module, "k")->crsStackSize == ~0u);
  CHECK(find(assembled(header(declared + recursive("") + kernel)), "k")->externals.empty());
}

TEST_CASE("functions with code of their own that nothing calls are not in a whole program") {
  const std::string recursive =
      ".func r(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a];\n" + callsOf("r") + "mov.u32 %r2, 0; ret; }\n";
  const std::string dead = ".visible .func dead(.param .b32 a) { ret; }\n";
  const std::string text =
      header(kOut + recursive + dead + ".visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %tid.x;\n" + callsOf("r") +
             "ret; }\n.visible .entry other() { ret; }\n");
  const cubin::Module module = assembled(text);
  CHECK(find(module, "r"));
  CHECK(!find(module, "dead"));
  Options onlyOther;
  onlyOther.entries = {"other"};
  onlyOther.wantListing = onlyOther.wantRemarks = true;
  const Result chosen = assemble(text, onlyOther);
  CHECK(!find(cubin::read(chosen.cubin), "r"));
  CHECK(chosen.listing.find("CALL") == std::string::npos);
  CHECK(chosen.listing.find("other:") != std::string::npos);
  CHECK(chosen.remarks.find("not in the cubin: unreachable") != std::string::npos);
  CHECK(chosen.statistics.functions.size() == 1);
  Options object;
  object.relocatable = true;
  CHECK(find(assembled(text, object), "dead"));
  object.wantListing = true;
  CHECK(assemble(text, object).listing.find("dead:") != std::string::npos);
}

TEST_CASE("a kernel that calls no function has its shared memory and constants as if there were none") {
  const std::string shared = ".shared .align 4 .u32 common[16];\n.const .u32 three = 3;\n";
  const std::string apart =
      ".visible .entry apart(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %rd<2>; .shared .u32 own[4]; ld.param.u64 "
      "%rd1, "
      "[p]; ld.const.u32 %r1, [three]; st.shared.u32 [own], %r1; ld.shared.u32 %r2, [own]; st.global.u32 [%rd1], %r2; "
      "ret; }\n";
  const std::string text =
      header(shared + kOut + apart + large("f", "st.shared.u32 [common], %r1;\n") +
             ".visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %tid.x;\n" + callsOf("f") + "ret; }\n");
  const cubin::Module with = assembled(text, unshared()), alone = assembled(header(shared + kOut + apart));
  REQUIRE(find(with, "f"));
  CHECK(find(with, "apart")->code == find(alone, "apart")->code);
  CHECK(find(with, "apart")->staticSharedSize == 16);
  CHECK(find(with, "k")->staticSharedSize == 64);
}

TEST_CASE("no code remains after a call that does not return") {
  const std::string die =
      ".func die() .noreturn { .reg .b32 %r<2>; .reg .b64 %rd<2>; mov.u64 %rd1, out; mov.u32 %r1, 1; "
      "st.global.u32 [%rd1], %r1; exit; }\n";
  const std::string kernel =
      ".visible .entry k() { .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p; mov.u32 %r1, %tid.x; mov.u64 %rd1, out; "
      "setp.ne.s32 %p, %r1, 3; @%p bra L; call.uni die, (); mov.u32 %r2, 12345; st.global.u32 [%rd1+4], %r2;\nL: "
      "st.global.u32 [%rd1+8], %r1; ret; }\n";
  for (const bool relocatable : {false, true}) {
    CAPTURE(relocatable);
    Options options;
    options.wantListing = true;
    options.relocatable = relocatable;
    options.knobs = {"InlineInObjects=0"};
    const Result result = assemble(header(kOut + die + kernel), options);
    REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
    CHECK(result.listing.find("0x3039") == std::string::npos);
    const Result returning = assemble(header(kOut + die.substr(0, 11) + die.substr(21) + kernel), options);
    REQUIRE_MESSAGE(returning.status == Status::Ok, returning.diagnostics);
    if (relocatable) CHECK(returning.listing.find("0x3039") != std::string::npos);
  }
}

TEST_CASE("blocks that are clusters are said to be so") {
  const auto kernelOf = [](const std::string& directives) {
    return assembled(header(".visible .entry k() " + directives + " { ret; }\n")).functions.at(0);
  };
  CHECK(kernelOf(".reqntid 32 .reqnctapercluster 2 .blocksareclusters").blocksAreClusters);
  CHECK(!kernelOf(".reqntid 32 .reqnctapercluster 2").blocksAreClusters);
}

TEST_CASE("the address of a kernel is that of its descriptor") {
  const std::string text =
      header(".visible .entry child(.param .u64 p) { ret; }\n.visible .global .u64 table = child;\n"
             ".visible .entry k(.param .u64 p) { .reg .b64 %rd<3>; ld.param.u64 %rd1, [p]; mov.u64 "
             "%rd2, child; st.global.u64 [%rd1], %rd2; ret; }\n");
  const auto descriptors = [](const std::vector<cubin::Relocation>& relocations) {
    return std::ranges::count_if(relocations, [](const cubin::Relocation& r) {
      return r.symbol == "child" && (r.type == cubin::RelocationType::FunctionDescriptor64 ||
                                     r.type == cubin::RelocationType::FunctionDescriptor32Lo32 ||
                                     r.type == cubin::RelocationType::FunctionDescriptor32Hi32);
    });
  };
  const cubin::Module whole = assembled(text);
  CHECK(std::ranges::count(whole.addressTable, "child", &cubin::AddressSlot::symbol) == 1);
  CHECK(find(whole, "k")->externals == std::vector<std::string>{"child"});
  CHECK(find(whole, "k")->relocations.empty());
  REQUIRE(whole.variables.size() == 1);
  CHECK(descriptors(whole.variables[0].relocations) == 1);

  Options options;
  options.relocatable = true;
  const cubin::Module object = assembled(text, options);
  CHECK(descriptors(find(object, "k")->relocations) == 2);
  CHECK(descriptors(object.variables.at(0).relocations) == 1);
  CHECK(find(object, "k")->externals == std::vector<std::string>{"child"});
}

TEST_CASE("the address of a kernel of another file is left to the linker") {
  Options options;
  options.relocatable = true;
  const cubin::Module object = assembled(
      header(".extern .entry child(.param .u64 p);\n.visible .entry k(.param .u64 p) { .reg .b64 %rd<3>; ld.param.u64 "
             "%rd1, [p]; mov.u64 %rd2, child; st.global.u64 [%rd1], %rd2; ret; }\n"),
      options);
  const cubin::Function* k = find(object, "k");
  REQUIRE(k->relocations.size() == 2);
  for (const cubin::Relocation& r : k->relocations) {
    CHECK(r.symbol == "child");
    CHECK((r.type == cubin::RelocationType::FunctionDescriptor32Lo32 ||
           r.type == cubin::RelocationType::FunctionDescriptor32Hi32));
  }
  CHECK(k->externals == std::vector<std::string>{"child"});
}
