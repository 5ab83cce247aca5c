#include "frontend/instr_groups.h"

namespace orias::ptx {

namespace {

constexpr NamedGroup kGroups[] = {
    // Types
    {"INT", "u16|u32|u64|s16|s32|s64"},
    {"WORD", "u32|s32|u64|s64"},
    {"BITS", "b16|b32|b64"},
    {"SCALAR", "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64"},
    {"MEMTYPE", "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"},
    {"CVTTYPE", "u8|u16|u32|u64|s8|s16|s32|s64"},
    // Rounding
    {"RND", "rn|rz|rm|rp"},
    {"IRND", "rni|rzi|rmi|rpi"},
    // Comparison: of signed integers, unsigned integers, bits, floating-point values
    {"CMPS", "eq|ne|lt|le|gt|ge", Slot::Compare},
    {"CMPU", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs", Slot::Compare},
    {"CMPB", "eq|ne", Slot::Compare},
    {"CMPF", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan", Slot::Compare},
    {"BOOLOP", "and|or|xor", Slot::BoolOp},
    {"LOPOP", "and|or", Slot::BoolOp},
    // Memory
    {"SPACE", "const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster"},
    {"ADDRSPACE", "const|global|local|param|param::entry|shared|shared::cta|shared::cluster"},
    {"STSPACE", "global|local|param|param::func|shared|shared::cta|shared::cluster"},
    {"GSPACE", "global|shared|shared::cta|shared::cluster"},
    {"SHARED", "shared|shared::cta"},
    {"SHAREDANY", "shared|shared::cta|shared::cluster"},
    {"SCOPE", "cta|cluster|gpu|sys"},
    {"ATOMSEM", "relaxed|acquire|release|acq_rel"},
    {"CLUSTERSCOPE", "cta|cluster"},
    {"ARRIVESEM", "release|relaxed"},
    {"WAITSEM", "acquire|relaxed"},
    {"LDCOP", "ca|cg|cs|lu|cv"},
    {"STCOP", "wb|cg|cs|wt"},
    {"EVICT1", "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"},
    {"EVICT2", "L2::evict_normal|L2::evict_first|L2::evict_last"},
    {"PREFETCH", "L2::64B|L2::128B|L2::256B"},
    {"POLICY", "L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged"},
    {"POLICYTWO", "L2::evict_first|L2::evict_unchanged"},
    {"VEC", "v2|v4|v8"},
    {"VEC4", "v2|v4"},
    // Asynchronous copies
    {"DIM", "1d|2d|3d|4d|5d"},
    {"TENSORLOAD", "tile|tile::gather4|im2col|im2col::w|im2col::w::128"},
    {"MAPSPACE", "global|shared::cta"},
    {"CTAGROUP", "cta_group::1|cta_group::2"},
    // Matrices
    {"LAYOUT", "row|col"},
    {"FLOAT8", "e4m3|e5m2"},
    {"FLOAT864", "e4m3|e5m2|e3m2|e2m3|e2m1"},
    {"INT8", "u8|s8"},
    {"INT4", "u4|s4"},
    {"WMMASHAPE", "m16n16k16|m8n32k16|m32n8k16"},
    {"WMMASPACE", "global|shared|shared::cta"},
    {"SPARSE", "sp|sp::ordered_metadata"},
    {"TMEMSHAPE", "16x64b|16x128b|16x256b|32x32b"},
    {"TMEMCOUNT", "x1|x2|x4|x8|x16|x32|x64|x128"},
    {"TMEMCOUNT2", "x2|x4|x8|x16|x32|x64|x128"},
    {"TMEMKIND", "kind::f16|kind::tf32|kind::f8f6f4|kind::i8"},
    {"COLLECTA", "collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard"},
    {"COLLECTB", "collector::b0::fill|collector::b0::use|collector::b0::lastuse|collector::b0::discard|"
                 "collector::b1::fill|collector::b1::use|collector::b1::lastuse|collector::b1::discard|"
                 "collector::b2::fill|collector::b2::use|collector::b2::lastuse|collector::b2::discard|"
                 "collector::b3::fill|collector::b3::use|collector::b3::lastuse|collector::b3::discard"},
    // Video
    {"SIMD2", "u32|s32"},
    {"OP2", "add|min|max"},
    // Surfaces and textures
    {"TEXGEOM", "1d|2d|3d|a1d|a2d"},
    {"TEXTYPE", "u32|s32|f16|f32"},
    {"SURFGEOM", "1d|2d|3d|a1d|a2d"},
    {"SURFCOP", "ca|cg|cs|cv"},
    {"CLAMP", "trap|clamp|zero"},
};

struct WordSince {
  Op op = Op::None; ///< None: any operation without an entry of its own
  std::string_view word;
  std::string_view since;
};

/// Requirements of modifiers and types beyond those of their row. Observed with ptxas 13.0 (test/peers/ptx_table.py
/// since). The first match applies.
constexpr WordSince kWordSince[] = {
    {Op::CpAsync, "shared::cta", ""},
    {Op::None, "shared::cta", "7.8 sm_30"},
    {Op::None, "shared::cluster", "7.8 sm_90"},
    {Op::None, "cluster", "7.8 sm_90"},
    {Op::Isspacep, "param", "7.7 sm_70"},
    {Op::Cvta, "param", "7.7 sm_70"},
    {Op::Isspacep, "param::entry", "8.3 sm_70"},
    {Op::Cvta, "param::entry", "8.3 sm_70"},
    {Op::None, "param::entry", "8.3 sm_30"},
    {Op::None, "param::func", "8.3 sm_30"},
    {Op::None, "L2::cache_hint", "7.4 sm_80"},
    {Op::None, "L1::evict_normal", "7.4 sm_70"},
    {Op::None, "L1::evict_unchanged", "7.4 sm_70"},
    {Op::None, "L1::evict_first", "7.4 sm_70"},
    {Op::None, "L1::evict_last", "7.4 sm_70"},
    {Op::None, "L1::no_allocate", "7.4 sm_70"},
    {Op::None, "L2::64B", "7.4 sm_75"},
    {Op::None, "L2::128B", "7.4 sm_75"},
    {Op::None, "L2::256B", "7.4 sm_80"},
    {Op::MbarrierArrive, "relaxed", "8.0 sm_90"},
    {Op::MbarrierArriveDrop, "relaxed", "8.0 sm_90"},
    {Op::MbarrierTestWait, "relaxed", "8.0 sm_90"},
    {Op::None, "weak", "6.0 sm_70"},
    {Op::None, "relaxed", "6.0 sm_70"},
    {Op::None, "acquire", "6.0 sm_70"},
    {Op::None, "release", "6.0 sm_70"},
    {Op::None, "acq_rel", "6.0 sm_70"},
    {Op::Atom, "cta", "5.0 sm_60"},
    {Op::Atom, "gpu", "5.0 sm_60"},
    {Op::Atom, "sys", "5.0 sm_60"},
    {Op::Red, "cta", "5.0 sm_60"},
    {Op::Red, "gpu", "5.0 sm_60"},
    {Op::Red, "sys", "5.0 sm_60"},
    {Op::Atom, "f64", "5.0 sm_60"},
    {Op::Red, "f64", "5.0 sm_60"},
    {Op::Atom, "b16", "6.3 sm_70"},
    {Op::Atom, "f16", "6.3 sm_70"},
    {Op::Red, "f16", "6.3 sm_70"},
    {Op::Shfl, "sync", "6.0 sm_30"},
    {Op::Vote, "sync", "6.0 sm_30"},
    {Op::Min, "NaN", "7.0 sm_80"},
    {Op::Max, "NaN", "7.0 sm_80"},
    {Op::Ld, "b128", "8.3 sm_70"},
    {Op::St, "b128", "8.3 sm_70"},
    {Op::Ldu, "b128", "8.3 sm_70"},
    {Op::None, "cp_mask", "8.6 sm_100"},
};

} // namespace

const NamedGroup* findGroup(std::string_view name) {
  for (const NamedGroup& group : kGroups)
    if (group.name == name) return &group;
  return nullptr;
}

std::string_view sinceOf(Op op, std::string_view word) {
  for (const WordSince& entry : kWordSince)
    if ((entry.op == op || entry.op == Op::None) && entry.word == word) return entry.since;
  return {};
}

} // namespace orias::ptx
