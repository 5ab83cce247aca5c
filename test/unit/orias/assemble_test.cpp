#include "encoder/cubin/cubin.h"
#include "orias/orias.h"
#include "support/check.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

using namespace orias;

namespace {

std::string example(const char* name) {
  std::ifstream file(std::string(ORIAS_SOURCE_DIR) + "/examples/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr std::string_view kTwoKernels = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 p) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry second() { ret; }
)";

} // namespace

TEST_CASE("PTX in, a cubin and statistics out") {
  Result result = assemble(kTwoKernels);
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  CHECK(result.diagnostics.empty());

  cubin::Module cubin = cubin::read(result.cubin);
  REQUIRE(cubin.functions.size() == 2);
  REQUIRE(result.statistics.functions.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const FunctionReport& report = result.statistics.functions[i];
    CHECK(report.registers == cubin.functions[i].registerCount);
    CHECK(report.instructions > 0);
    CHECK(report.instructions * 16 < cubin.functions[i].code.size());
  }
  CHECK(result.statistics.functions[0].name == "first");
  CHECK(result.statistics.functions[0].constantBytes == 0x210 + 8);
}

TEST_CASE("the same input gives the same bytes, for any number of threads") {
  for (const char* name : {"saxpy.ptx", "stencil.ptx"}) {
    std::string both = example(name);
    Options options;
    Result once = assemble(both, options);
    options.threads = 4;
    Result again = assemble(both, options);
    CHECK(!once.cubin.empty());
    CHECK(once.cubin == again.cubin);
  }
  Options threads;
  threads.threads = 4;
  CHECK(assemble(kTwoKernels).cubin == assemble(kTwoKernels, threads).cubin);
}

TEST_CASE("a virtual architecture is checked only") {
  Options options;
  options.arch = "compute_90";
  Result result = assemble(kTwoKernels, options);
  CHECK(result.status == Status::Ok);
  CHECK(result.cubin.empty());
}

TEST_CASE("errors in the input: told with their places, and no cubin") {
  Result result =
      assemble(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { .reg .b32 %r1; bogus.u32 %r1; nope; }\n");
  CHECK(result.status == Status::InputErrors);
  CHECK(result.cubin.empty());
  CHECK(result.errorCount >= 2);
  CHECK(result.diagnostics.find("<input>:4:29: error:") != std::string::npos);
}

TEST_CASE("entries: only those that are named, and only names that there are") {
  Options options;
  options.entries = {"second"};
  Result result = assemble(kTwoKernels, options);
  REQUIRE(result.statistics.functions.size() == 1);
  CHECK(result.statistics.functions[0].name == "second");
  CHECK(cubin::read(result.cubin).functions.size() == 1);

  options.entries = {"secondd"};
  result = assemble(kTwoKernels, options);
  CHECK(result.status == Status::InputErrors);
  CHECK(result.diagnostics.find("did you mean 'second'?") != std::string::npos);
}

TEST_CASE("several inputs become one cubin; a name may be defined once") {
  std::string saxpy = example("saxpy.ptx");
  Input inputs[] = {{"a.ptx", kTwoKernels}, {"b.ptx", saxpy}};
  Result result = assemble(inputs);
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  CHECK(cubin::read(result.cubin).functions.size() == 3);

  Input twice[] = {{"a.ptx", saxpy}, {"b.ptx", saxpy}};
  result = assemble(twice);
  CHECK(result.status == Status::InputErrors);
  CHECK(result.diagnostics.starts_with("b.ptx:"));
}

TEST_CASE("options that make no sense are errors") {
  auto failsWith = [](auto&& change) {
    Options options;
    change(options);
    CHECK_THROWS_AS(assemble(kTwoKernels, options), Error);
  };
  failsWith([](Options& o) { o.arch = "sm_1"; });
  failsWith([](Options& o) { o.knobs = {"NoSuchKnob=1"}; });
  failsWith([](Options& o) { o.phases.dumpAfter = {"NoSuchPhase"}; });
  failsWith([](Options& o) { o.phases.stopAfter = "9999"; });
}

TEST_CASE("phases can be watched and stopped") {
  Options options;
  options.phases.dumpAfter = {"0"};
  options.phases.timePhases = true;
  options.phases.verifyEach = true;
  Result result = assemble(kTwoKernels, options);
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  CHECK(result.phaseText.find("OriCheckInitialProgram") != std::string::npos);
  CHECK(result.phaseText.find("parse") != std::string::npos);
  CHECK(!result.cubin.empty());

  options.phases.stopAfter = "OriCheckInitialProgram";
  result = assemble(kTwoKernels, options);
  CHECK(result.status == Status::Ok);
  CHECK(result.cubin.empty());
}

TEST_CASE("remarks are JSON") {
  Options options;
  options.wantRemarks = true;
  Result result = assemble(kTwoKernels, options);
  CHECK(nlohmann::json::parse(result.remarks).is_array());
}

TEST_CASE("the listing has every function, in each format") {
  Options options;
  options.wantListing = true;
  for (ListingFormat format : {ListingFormat::Plain, ListingFormat::Annotated, ListingFormat::Json}) {
    options.listingFormat = format;
    Result result = assemble(kTwoKernels, options);
    CHECK(result.listing.find("first") != std::string::npos);
    CHECK(result.listing.find("second") != std::string::npos);
    if (format == ListingFormat::Json) CHECK(nlohmann::json::parse(result.listing).size() == 2);
  }
}

TEST_CASE("the file says which kernels read where the system's part of shared memory lies") {
  for (const char* target : {"sm_80", "sm_90"}) {
    Options options;
    options.arch = target;
    const Result result = assemble(fmt::format(".version 8.0\n.target {}\n", target) + R"(
.address_size 64
.visible .entry reads(.param .u64 p) {
  .reg .b64 %rd<2>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %reserved_smem_offset_cap;
  mov.u32 %r2, %reserved_smem_offset_end;
  st.global.u32 [%rd1], %r1;
  st.global.u32 [%rd1+8], %r2;
  ret;
}
.visible .entry none() { ret; }
)",
                                   options);
    REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
    const cubin::Module module = cubin::read(result.cubin);
    const auto says = [&](const char* name) {
      for (const cubin::Function& function : module.functions)
        if (function.name == name)
          for (const cubin::Attribute& attribute : function.otherAttributes)
            if (attribute.id == cubin::AttributeId::ReservedSmemUsed) return true;
      return false;
    };
    CHECK(says("reads"));
    CHECK_FALSE(says("none"));
  }
}

// The addresses that ptxas' code reads on these chips.
TEST_CASE("special registers lie elsewhere in the constant bank before sm_90") {
  const auto listing = [](const char* target, const char* reg, const char* type) {
    Options options;
    options.arch = target;
    options.wantListing = true;
    options.listingFormat = ListingFormat::Plain;
    return assemble(fmt::format(".version 8.8\n.target {0}\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n"
                                ".reg .b64 %p; .reg .{2} %v; ld.param.u64 %p, [p];\n"
                                "mov.{2} %v, %{1}; st.global.{2} [%p], %v; ret; }}\n",
                                target, reg, type),
                    options);
  };
  const auto reads = [&](const char* target, const char* reg, const char* type, const char* what) {
    const Result result = listing(target, reg, type);
    REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
    CHECK_MESSAGE(result.listing.find(what) != std::string::npos, target << ' ' << reg << ": " << result.listing);
  };
  reads("sm_75", "envreg5", "u32", "c[0x0][0x9c]");
  reads("sm_80", "envreg0", "u32", "c[0x0][0x88]");
  reads("sm_90", "envreg0", "u32", "c[0x0][0x40]");
  reads("sm_75", "current_graph_exec", "u64", "c[0x0][0x120]");
  reads("sm_86", "current_graph_exec", "u64", "c[0x0][0x130]");
  reads("sm_90", "current_graph_exec", "u64", "c[0x0][0x190]");
  reads("sm_80", "reserved_smem_offset_1", "u32", "c[0x0][0x124]");
  reads("sm_86", "nwarpid", "u32", "0x30");
  reads("sm_75", "pm3", "u32", "SR_PM3");
  reads("sm_90", "pm7_64", "u64", "CS2R R");
  reads("sm_89", "reserved_smem_offset_begin", "u32", "c[0x0][0x114]");
  reads("sm_80", "reserved_smem_offset_0", "u32", "c[0x0][0x114]");
  reads("sm_80", "reserved_smem_offset_cap", "u32", "SR_SMEMSZ");
  reads("sm_90", "reserved_smem_offset_cap", "u32", "0x400");
  // Regression, found by comparison with ptxas: it was 0, as on sm_90.
  reads("sm_100a", "reserved_smem_offset_0", "u32", "0x40");
  reads("sm_103a", "reserved_smem_offset_0", "u32", "0x40");
  reads("sm_90", "aggr_smem_size", "u32", "c[0x0][0x13c]");
  reads("sm_90", "gridid", "u32", "c[0x0][0x30]");
  CHECK(listing("sm_75", "total_smem_size", "u32").listing.find("0x114") == std::string::npos);
  CHECK(listing("sm_80", "total_smem_size", "u32").listing.find("c[0x0][0x114]") != std::string::npos);
  const Result cluster = listing("sm_80", "cluster_ctarank", "u32");
  CHECK(cluster.status != Status::Ok);
  CHECK(cluster.diagnostics.find("'%cluster_ctarank' requires .target sm_90 or higher") != std::string::npos);
}

TEST_CASE("managed variables are marked in the symbol table, also in objects") {
  constexpr std::string_view text = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .attribute(.managed) .u32 shared = 3;
.visible .global .attribute(.managed) .u8 flag;
.visible .global .u32 device;
.visible .entry k() {
  .reg .b32 %r<2>;
  ld.global.u32 %r1, [shared];
  st.global.u8 [flag], %r1;
  st.global.u32 [device], %r1;
  ret;
}
)";
  for (const bool relocatable : {false, true}) {
    CAPTURE(relocatable);
    Options options;
    options.relocatable = relocatable;
    Result result = assemble(text, options);
    REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
    const cubin::Module cubin = cubin::read(result.cubin);
    REQUIRE(cubin.variables.size() == 3);
    for (const cubin::Variable& variable : cubin.variables)
      CHECK_MESSAGE(variable.managed == (variable.name != "device"), variable.name);
  }
}

TEST_CASE("unified functions and variables are refused") {
  constexpr std::string_view text = R"(
.version 9.0
.target sm_90
.address_size 64
.visible .global .attribute(.unified(1, 2)) .u32 v;
.visible .func .attribute(.unified(3, 4)) f() { ret; }
)";
  Options options;
  options.relocatable = true;
  const Result result = assemble(text, options);
  CHECK(result.status == Status::InputErrors);
  CHECK(result.diagnostics.find("'v' has the attribute .unified") != std::string::npos);
  CHECK(result.diagnostics.find("'f' has the attribute .unified") != std::string::npos);
}

TEST_CASE("other calling conventions are refused in objects, whose callers may be elsewhere") {
  constexpr std::string_view text = R"(
.version 9.0
.target sm_90
.address_size 64
.visible .func kept(.param .u64 p) .abi_preserve 8 { ret; }
.visible .entry k(.param .u64 f) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [f];
  P: .callprototype _ (.param .u64 _) .abi_preserve_control 2;
  { .param .u64 q; st.param.u64 [q], %rd1; call %rd1, (q), P; }
  ret;
}
)";
  Options options;
  CHECK(assemble(text, options).status == Status::Ok);
  options.relocatable = true;
  const Result result = assemble(text, options);
  CHECK(result.status == Status::InputErrors);
  CHECK(result.diagnostics.find("relocatable code ('kept')") != std::string::npos);
  CHECK(result.diagnostics.find("relocatable code ('P')") != std::string::npos);
}

TEST_CASE("a shape of clusters alone does not make them explicit") {
  const auto functionOf = [](const std::string& directives) {
    const Result result =
        assemble(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() " + directives + " { ret; }\n");
    REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
    return cubin::read(result.cubin).functions.at(0);
  };
  CHECK(functionOf(".reqnctapercluster 2, 1, 1").clusterShape.has_value());
  CHECK(!functionOf(".reqnctapercluster 2, 1, 1").explicitCluster);
  CHECK(functionOf(".explicitcluster .reqnctapercluster 2, 1, 1").explicitCluster);
}
