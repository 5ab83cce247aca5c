#include "test/differential/generator/profile.h"

#include <utility>
#include <vector>

namespace orias::generator {

namespace {

using enum Statement;
using Weights = std::vector<std::pair<Statement, std::uint8_t>>;

Profile make(std::string_view name, unsigned statements, unsigned depth, const Weights& weights) {
  Profile profile{name, {}, statements, depth};
  // Every kernel needs statements that make its values visible.
  profile.weights[static_cast<std::size_t>(Fold)] = 4;
  profile.weights[static_cast<std::size_t>(Store)] = 4;
  for (auto [statement, weight] : weights)
    profile.weights[static_cast<std::size_t>(statement)] = weight;
  return profile;
}

Profile makeSmall(std::string_view name, unsigned statements, unsigned depth, const Weights& weights) {
  Profile profile = make(name, statements, depth, weights);
  profile.isSmall = true;
  return profile;
}

std::vector<Profile> makeProfiles() {
  return {
      make("integer", 40, 1,
           {{Integer16, 10},
            {Integer32, 40},
            {Integer64, 18},
            {IntegerCast, 10},
            {Predicate, 10},
            {Carry, 3},
            {Pack, 4},
            {LoadInput, 4},
            {If, 1},
            {UniformLoop, 1}}),
      make("control", 16, 3,
           {{Integer32, 30},
            {Integer64, 6},
            {Predicate, 16},
            {LoadInput, 3},
            {If, 12},
            {Switch, 4},
            {UniformLoop, 5},
            {DivergentLoop, 6},
            {Goto, 5},
            {Exit, 2},
            {Call, 4},
            {Fold, 12}}),
      make("memory", 40, 2,
           {{Integer32, 16},
            {Integer64, 6},
            {Integer16, 3},
            {IntegerCast, 4},
            {Float32, 3},
            {Predicate, 4},
            {Pack, 2},
            {LoadInput, 10},
            {LoadTable, 6},
            {Scratch, 14},
            {Local, 12},
            {OwnShared, 8},
            {Exchange, 3},
            {SharedAtomic, 2},
            {GlobalAtomic, 3},
            {OwnAtomic, 3},
            {If, 2},
            {UniformLoop, 1},
            {DivergentLoop, 1}}),
      make("float", 40, 1,
           {{Float32, 40},
            {Float64, 20},
            {FloatCast, 14},
            {Predicate, 10},
            {Integer32, 8},
            {Bits, 4},
            {LoadInput, 8},
            {If, 1},
            {UniformLoop, 1}}),
      make("half", 40, 1,
           {{Half, 30},
            {HalfCast, 14},
            {Integer16, 8},
            {Integer32, 6},
            {Float32, 6},
            {Pack, 6},
            {Predicate, 4},
            {LoadInput, 8},
            {If, 1},
            {UniformLoop, 1}}),
      make("warp", 30, 3,
           {{Integer32, 24},
            {Integer64, 4},
            {Float32, 4},
            {Predicate, 10},
            {LoadInput, 3},
            {Shuffle, 12},
            {Vote, 12},
            {If, 6},
            {UniformLoop, 3},
            {DivergentLoop, 3},
            {Exit, 1},
            {Exchange, 3},
            {SharedAtomic, 2},
            {Fold, 8}}),
      make("mixed", 50, 3,
           {{Integer16, 4}, {Integer32, 24},   {Integer64, 10},   {IntegerCast, 6},   {Float32, 12}, {Float64, 5},
            {FloatCast, 5}, {Half, 3},         {HalfCast, 2},     {Predicate, 12},    {Carry, 2},    {Pack, 2},
            {Bits, 2},      {LoadInput, 5},    {LoadTable, 3},    {Scratch, 5},       {Local, 4},    {OwnShared, 3},
            {Exchange, 2},  {SharedAtomic, 1}, {GlobalAtomic, 1}, {OwnAtomic, 1},     {Shuffle, 3},  {Vote, 3},
            {If, 6},        {Switch, 2},       {UniformLoop, 3},  {DivergentLoop, 3}, {Goto, 2},     {Exit, 1},
            {Call, 2}}),
      make("pointers", 30, 3,
           {{Pointer, 34},
            {Frame, 14},
            {PointerCall, 8},
            {Local, 3},
            {OwnShared, 3},
            {Scratch, 3},
            {OwnAtomic, 2},
            {LoadTable, 2},
            {LoadInput, 4},
            {Integer32, 14},
            {Integer64, 4},
            {Predicate, 8},
            {If, 5},
            {Switch, 2},
            {UniformLoop, 3},
            {DivergentLoop, 3},
            {Goto, 2},
            {Exit, 1},
            {Call, 2}}),
      makeSmall("spaces", 14, 2,
                {{Pointer, 34},
                 {Frame, 14},
                 {PointerCall, 8},
                 {OwnAtomic, 2},
                 {Integer32, 12},
                 {Integer64, 3},
                 {Predicate, 8},
                 {If, 6},
                 {Switch, 1},
                 {UniformLoop, 4},
                 {DivergentLoop, 3},
                 {Goto, 1}}),
      // No exits and no calls: all threads of a cluster reach its barriers.
      make("cluster", 40, 2,
           {{Integer32, 20},
            {Integer64, 5},
            {Float32, 4},
            {Predicate, 6},
            {LoadInput, 6},
            {OwnShared, 4},
            {Exchange, 3},
            {SharedAtomic, 2},
            {ClusterExchange, 14},
            {ClusterAtomic, 8},
            {GlobalAtomic, 1},
            {Shuffle, 2},
            {Vote, 2},
            {If, 3},
            {UniformLoop, 2},
            {DivergentLoop, 2}}),
      make("alone", 50, 3,
           {{Integer16, 6},
            {Miscompiled, 30},
            {Integer32, 16},
            {Integer64, 10},
            {IntegerCast, 6},
            {Predicate, 8},
            {Float32, 4},
            {Float64, 3},
            {Carry, 2},
            {Pack, 4},
            {LoadInput, 5},
            {If, 3},
            {UniformLoop, 2},
            {DivergentLoop, 2},
            {Goto, 2},
            {TwoEntryLoop, 4}}),
      make("unusual", 50, 3,
           {{Integer16, 4},    {Unusual, 20},     {Integer32, 24},    {Integer64, 10}, {IntegerCast, 6}, {Float32, 12},
            {Float64, 5},      {FloatCast, 5},    {Predicate, 12},    {Carry, 2},      {Pack, 2},        {Bits, 2},
            {LoadInput, 5},    {LoadTable, 3},    {Scratch, 5},       {Local, 4},      {OwnShared, 3},   {Exchange, 2},
            {SharedAtomic, 1}, {GlobalAtomic, 1}, {OwnAtomic, 1},     {Shuffle, 3},    {Vote, 3},        {If, 6},
            {Switch, 2},       {UniformLoop, 3},  {DivergentLoop, 3}, {Goto, 2},       {Exit, 1},        {Call, 2}}),
      make("bignum", 16, 1,
           {{BigInteger, 40},
            {Carry, 8},
            {Integer32, 8},
            {Integer64, 6},
            {Predicate, 4},
            {LoadInput, 8},
            {Fold, 8},
            {If, 2},
            {UniformLoop, 2},
            {DivergentLoop, 1}}),
      make("lock", 30, 3,
           {{Integer32, 24},
            {Integer64, 4},
            {Predicate, 10},
            {LoadInput, 3},
            {Lock, 16},
            {Shuffle, 8},
            {Vote, 6},
            {If, 6},
            {UniformLoop, 6},
            {DivergentLoop, 3},
            {Exit, 1},
            {Exchange, 2},
            {SharedAtomic, 2},
            {Fold, 8}}),
      // No exits and no calls: all threads of a block reach its barriers.
      make("tensor", 30, 2,
           {{TensorAccess, 24},
            {TensorUnit, 16},
            {Integer32, 20},
            {Integer64, 4},
            {Predicate, 6},
            {LoadInput, 6},
            {OwnShared, 2},
            {Exchange, 3},
            {Shuffle, 2},
            {Vote, 2},
            {If, 4},
            {UniformLoop, 4},
            {DivergentLoop, 2}}),
  };
}

} // namespace

std::span<const Profile> profiles() {
  static const std::vector<Profile> all = makeProfiles();
  return all;
}

const Profile* findProfile(std::string_view name) {
  for (const Profile& profile : profiles())
    if (profile.name == name) return &profile;
  return nullptr;
}

} // namespace orias::generator
