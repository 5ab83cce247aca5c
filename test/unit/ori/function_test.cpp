#include "ori/function.h"

#include "encoder/isa/target.h"
#include "ori/module.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace orias::ori;

TEST_CASE("the threads of a CTA follow from the exact bounds, or else from the maximum") {
  LaunchBounds bounds;
  CHECK(bounds.threads() == 0);
  bounds.maxntid[0] = 64;
  CHECK(bounds.threads() == 64);
  bounds.maxntid[1] = 3;
  bounds.maxntid[2] = 2;
  CHECK(bounds.threads() == 384);
  bounds.reqntid[0] = 32;
  CHECK(bounds.threads() == 32);
}

TEST_CASE("a function whose code was freed takes new code") {
  Module module(*orias::isa::Target::find("sm_90"));
  Function function(module, "f", true);
  const auto make = [&] {
    Block* block = function.newBlock();
    const VRegId guard = function.newVReg(File::P);
    Instr* instr = function.create(Op::NOP, {});
    function.setGuard(function.append(block, instr), function.use(guard));
    return function.hasUses(guard);
  };
  CHECK(make());
  function.releaseCode();
  CHECK(function.layout().empty());
  CHECK(make());
}

TEST_CASE("a register lists its definitions and its uses separately, the newest first") {
  Module module(*orias::isa::Target::find("sm_90"));
  Function function(module, "f", true);
  Block* block = function.newBlock();
  const VRegId reg = function.newVReg(File::R), other = function.newVReg(File::R);
  const auto copy = [&](VRegId to, VRegId from) {
    return function.append(block, function.create(Op::COPY, std::array{function.use(to), function.use(from)}));
  };
  const Instr* first = copy(reg, other);
  const Instr* use = copy(other, reg);
  CHECK(function.singleDef(reg) == first);
  Instr* second = copy(reg, other);
  CHECK(function.singleDef(reg) == nullptr);
  std::vector<const Instr*> owners;
  for (const Ref ref : function.refs(reg))
    owners.push_back(ref.owner);
  CHECK(owners == std::vector<const Instr*>{second, first, use});
  function.erase(second);
  CHECK(function.singleDef(reg) == first);
  function.forEachUse(reg, [&](Ref ref) { function.erase(ref.owner); });
  CHECK(!function.hasUses(reg));
  CHECK(function.vreg(reg).hasRefs());
  CHECK(function.hasSoundLinks(reg));
}
