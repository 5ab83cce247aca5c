#include <doctest/doctest.h>

#include "sample.h"

using namespace orias::cubin;
using orias::cubin::test::bytesOf;
using orias::cubin::test::variable;

namespace {

std::uint64_t offsetOf(const std::vector<Variable>& variables, const std::string& name) {
  for (const Variable& v : variables)
    if (v.name == name) return v.offset;
  FAIL("no variable " << name);
  return 0;
}

} // namespace

TEST_CASE("constants keep their order, visible ones first") {
  std::vector<Variable> variables{
      variable("c1", Variable::Space::Constant, 4, 4), variable("c2", Variable::Space::Constant, 8, 12),
      variable("c3", Variable::Space::Constant, 2, 2), variable("c4", Variable::Space::Constant, 16, 16),
      variable("cv", Variable::Space::Constant, 4, 4)};
  variables[4].binding = Binding::Global;
  layOutVariables(variables);
  // As ptxas 13.0 places them.
  CHECK(offsetOf(variables, "cv") == 0);
  CHECK(offsetOf(variables, "c1") == 4);
  CHECK(offsetOf(variables, "c2") == 8);
  CHECK(offsetOf(variables, "c3") == 0x14);
  CHECK(offsetOf(variables, "c4") == 0x20);
}

TEST_CASE("globals go by falling alignment, then by rising size, apart for initialised ones") {
  const Bytes one = bytesOf({1});
  std::vector<Variable> variables{
      variable("zero", Variable::Space::Global, 4, 16),
      variable("gi", Variable::Space::Global, 4, 16, one),
      variable("gp", Variable::Space::Global, 8, 8, one),
      variable("gpa", Variable::Space::Global, 8, 24, one),
      variable("gs", Variable::Space::Global, 4, 4, one),
      variable("galign", Variable::Space::Global, 128, 1, one),
      variable("str", Variable::Space::Global, 1, 11, one),
      variable("str1", Variable::Space::Global, 1, 4, one),
      variable("elsewhere", Variable::Space::Global, 4, 4, one),
  };
  variables.back().defined = false;
  layOutVariables(variables);
  // As ptxas 13.0 places them.
  CHECK(offsetOf(variables, "zero") == 0);
  CHECK(offsetOf(variables, "galign") == 0);
  CHECK(offsetOf(variables, "gp") == 8);
  CHECK(offsetOf(variables, "gpa") == 0x10);
  CHECK(offsetOf(variables, "gs") == 0x28);
  CHECK(offsetOf(variables, "gi") == 0x2c);
  CHECK(offsetOf(variables, "str1") == 0x3c);
  CHECK(offsetOf(variables, "str") == 0x40);
  CHECK(offsetOf(variables, "elsewhere") == 0);
}
