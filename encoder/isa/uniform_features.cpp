#include "encoder/isa/uniform_features.h"

#include "encoder/isa/target.h"

#include <array>

namespace orias::isa {

namespace {

using Load = UniformFeatures::LoadConstant;

struct Row {
  unsigned firstSm;
  UniformFeatures features;
};

// From the oldest chip on; each row holds up to the next one. REDUX: observed in ptxas' code from sm_80 on.
constexpr std::array kRows = {
    Row{30, {false, false, false, false, Load::None}}, Row{75, {true, true, false, false, Load::None}},
    Row{80, {true, true, true, false, Load::None}},    Row{90, {true, true, true, false, Load::TextOnly}},
    Row{100, {true, true, true, true, Load::Full}},
};

} // namespace

UniformFeatures uniformFeatures(unsigned smVersion) {
  UniformFeatures found;
  for (const Row& row : kRows)
    if (row.firstSm <= smVersion) found = row.features;
  return found;
}

UniformFeatures uniformFeatures(const Target& target) {
  return uniformFeatures(target.smVersion());
}

std::string_view loadConstantUniformProblem(const Target& target, bool isTextOnly) {
  const Load load = uniformFeatures(target).loadConstant;
  if (load == Load::Full || (load == Load::TextOnly && isTextOnly)) return {};
  return "SM does not support LDCU. On SM90 -knob EmitLDCU is only supported when options '-forcetext' and '-sso "
         "out.sass' are provided.";
}

} // namespace orias::isa
