#include "encoder/isa/uniform_features.h"

#include "encoder/isa/target.h"

namespace orias::isa {

UniformFeatures uniformFeatures(const Target& target) {
  using Load = UniformFeatures::LoadConstant;
  const bool hasRegisters = target.has(Capability::UniformRegisters);
  return {hasRegisters, hasRegisters, target.has(Capability::UniformReduction), target.has(Capability::UniformFloat),
          target.has(Capability::UniformLoadConstant)  ? Load::Full
          : target.has(Capability::LoadConstantAsText) ? Load::TextOnly
                                                       : Load::None};
}

std::string_view loadConstantUniformProblem(const Target& target, bool isTextOnly) {
  using Load = UniformFeatures::LoadConstant;
  const Load load = uniformFeatures(target).loadConstant;
  if (load == Load::Full || (load == Load::TextOnly && isTextOnly)) return {};
  return "SM does not support LDCU. On SM90 -knob EmitLDCU is only supported when options '-forcetext' and '-sso "
         "out.sass' are provided.";
}

} // namespace orias::isa
