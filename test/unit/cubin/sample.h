#pragma once

#include <algorithm>
#include <initializer_list>

#include "encoder/cubin/cubin.h"

namespace orias::cubin::test {

inline Bytes bytesOf(std::initializer_list<int> values) {
  Bytes bytes;
  for (int value : values)
    bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// An empty kernel as from ptxas: the exit is the second instruction.
inline Function emptyKernel(std::string name) {
  Function function;
  function.name = std::move(name);
  function.code.resize(256);
  function.registerCount = 4;
  function.exitOffsets = {16};
  return function;
}

inline Variable variable(std::string name, Variable::Space space, std::uint64_t alignment, std::uint64_t size,
                         Bytes init = {}) {
  Variable v;
  v.name = std::move(name);
  v.space = space;
  v.alignment = alignment;
  v.size = size;
  v.init = std::move(init);
  return v;
}

/// A module with one object of each kind, in the form that read() returns.
inline Module sampleModule(unsigned smArch) {
  Module module;
  module.abi = abiOf(smArch);
  module.virtualArch = 70;
  module.producer = {"", "orias", "release 0.1", "main", "-arch sm_90"};

  module.variables.push_back(variable("table", Variable::Space::Global, 8, 8, bytesOf({1, 0, 0, 0, 2, 0, 0, 0})));
  module.variables.push_back(variable("pointer", Variable::Space::Global, 8, 8));
  module.variables.back().relocations = {{RelocationType::Generic64, 0, "table", 4}};
  module.variables.push_back(variable("zeros", Variable::Space::Global, 64, 256));
  module.variables.push_back(variable("factor", Variable::Space::Constant, 4, 4, bytesOf({7, 0, 0, 0})));
  module.variables.push_back(variable("weak", Variable::Space::Constant, 4, 4));
  module.variables.back().binding = Binding::Weak;
  layOutVariables(module.variables);
  // The writer places weak variables first, and the reader returns variables in the order of the file.
  std::rotate(module.variables.begin(), module.variables.end() - 1, module.variables.end());
  module.addressTable = {{"table", 0}, {"pointer", 0}, {"zeros", 0}, {"vprintf", 0}};

  Function plain = emptyKernel("plain");
  plain.parameters = {{0, 8, 4, 4}, {8, 4, 0, 0}};
  plain.parameterSize = 12;
  plain.maxThreads = Dim3{128, 2, 1};
  plain.maxRegisters = 168;
  module.functions.push_back(plain);

  Function busy = emptyKernel("busy");
  busy.binding = Binding::Weak;
  busy.code.resize(512);
  busy.registerCount = 40;
  busy.barrierCount = 2;
  busy.frameSize = 48;
  busy.minStackSize = 48;
  busy.frameSetupOffset = 64;
  busy.crsStackSize = 0;
  busy.staticSharedSize = 100;
  busy.sharedAlignment = 16;
  busy.usesSharedAddress = smArch >= 90; // the mark only exists there
  busy.exitOffsets = {128, 160};
  busy.syscallOffsets = {96};
  busy.externals = {"vprintf"};
  busy.warpCooperations = {{32, 0xffffffff}, {48, 0x05000007}};
  busy.warpWideOffsets = {80};
  busy.requiredThreads = Dim3{32, 1, 1};
  busy.clusterShape = Dim3{2, 1, 1};
  busy.explicitCluster = true;
  busy.inner = {{"$busy$helper", 256, 128, 16, Binding::Local, 6}};
  busy.constant2 = bytesOf({0, 1, 0, 0, 0x80, 0, 0, 0});
  busy.indirectBranches = {{112, {128, 160}}};
  busy.otherAttributes = {noValueAttribute(AttributeId::WmmaUsed)};
  module.functions.push_back(busy);

  module.sourceFiles = {{"/src/sample.cu", 1700000000, 300}, {"helper.cuh", 0, 0}, {"/src/inc/far.cuh", 0, 0}};
  module.debugStrings = bytesOf({'_', 'Z', '2', 's', 'q', 'f', 0});
  module.ptxText = bytesOf({0, '.', 'v', 'e', 'r', 's', 'i', 'o', 'n', ' ', '9', 0});
  module.functions[0].lines = {{0, 0, 12}, {16, 0, 13}};
  // An inlined call, steps of all sizes, a repeated line, and a large step back.
  module.functions[1].lines = {{0, 0, 5},       {32, 0, 9},       {32, 1, 3, 2, 1}, {48, 0, 9},
                               {64, 2, 100000}, {64, 1, 7, 5, 1}, {400, 0, 9},      {416, 0, 9}};
  module.functions[1].ptxLines = {{0, LineRow::kPtx, 20}, {16, LineRow::kPtx, 2}, {496, LineRow::kPtx, 900}};

  Function local = emptyKernel("local");
  local.binding = Binding::Local;
  local.seesDynamicShared = true;
  local.sharedAlignment = 16;
  module.functions.push_back(local);
  return module;
}

} // namespace orias::cubin::test
