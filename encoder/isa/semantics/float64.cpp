// Double-precision arithmetic.

#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"

namespace orias::isa::semantics {

void dadd(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.setF64(0, ieee::add(lane.f64(1), lane.f64(2), lane.rounding()));
}

void dmul(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.setF64(0, ieee::mul(lane.f64(1), lane.f64(2), lane.rounding()));
}

void dfma(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.setF64(0, ieee::fma(lane.f64(1), lane.f64(2), lane.f64(3), lane.rounding()));
}

void dsetp(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Bits a = lane.number(2, Format::F64), b = lane.number(3, Format::F64);
  const auto comparison = lane.modAs<FCmp>(Mod::Cmp);
  // The codes of F and T are MIN and MAX here. According to their use in ptxas' code for PTX min and max, the first
  // result is true if Ra is the minimum or maximum, the second if both are NaN.
  if (comparison == FCmp::F || comparison == FCmp::T) {
    const bool aNan = ieee::isNan(Format::F64, a), bNan = ieee::isNan(Format::F64, b);
    const Bits extremum = comparison == FCmp::F ? ieee::minimum(Format::F64, a, b) : ieee::maximum(Format::F64, a, b);
    lane.setPred(0, lane.combine(!aNan && extremum == a, lane.pred(4)));
    lane.setPred(1, lane.combine(aNan && bNan, lane.pred(4)));
    return;
  }
  lane.setComparison(0, compares(comparison, Format::F64, a, b), lane.pred(4));
}

} // namespace orias::isa::semantics
