#include "frontend/instr_table.h"

// Textures and surfaces.

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"tex.TEXGEOM.v4.TEXTYPE.s32",                             "=d*4{|q}, TEXTURE, ?offset:s32*G"},
    {"tex.(1d|2d|a1d|a2d).v4.TEXTYPE.f32",                             "=d*4{|q}, TEXTURE, ?offset:s32*G, ?dref:f32"},
    {"tex.3d.v4.TEXTYPE.f32",                             "=d*4{|q}, TEXTURE, ?offset:s32*G"},
    {"tex.(cube|acube).v4.TEXTYPE.f32",                        "=d*4{|q}, TEXTURE, ?dref:f32"},
    {"tex.(2dms|a2dms).v4.TEXTYPE.s32",                        "=d*4{|q}, TEXTURE, ?offset:s32*G"},
    {"tex.TEXGEOM.v2.f16x2.s32",                               "=d*2{|q}, TEXTURE, ?offset:s32*G", "4.2 sm_53"},
    {"tex.(1d|2d|a1d|a2d).v2.f16x2.f32",                               "=d*2{|q}, TEXTURE, ?offset:s32*G, ?dref:f32", "4.2 sm_53"},
    {"tex.3d.v2.f16x2.f32",                               "=d*2{|q}, TEXTURE, ?offset:s32*G", "4.2 sm_53"},
    {"tex.(cube|acube).v2.f16x2.f32",                          "=d*2{|q}, TEXTURE, ?dref:f32", "4.2 sm_53"},
    {"tex.(2dms|a2dms).v2.f16x2.s32",                          "=d*2{|q}, TEXTURE, ?offset:s32*G", "4.2 sm_53"},
    {"tex.base.TEXGEOM.v4.TEXTYPE.s32",                        "=d*4{|q}, TEXTURE, ?offset:s32*G", "3.1 sm_20"},
    {"tex.base.(1d|2d|a1d|a2d).v4.TEXTYPE.f32",                        "=d*4{|q}, TEXTURE, ?offset:s32*G, ?dref:f32", "3.1 sm_20"},
    {"tex.base.3d.v4.TEXTYPE.f32",                        "=d*4{|q}, TEXTURE, ?offset:s32*G", "3.1 sm_20"},
    {"tex.base.(cube|acube).v4.TEXTYPE.f32",                   "=d*4{|q}, TEXTURE, ?dref:f32", "3.1 sm_20"},
    {"tex.base.(2dms|a2dms).v4.TEXTYPE.s32",                   "=d*4{|q}, TEXTURE, ?offset:s32*G", "3.1 sm_20"},
    {"tex.base.TEXGEOM.v2.f16x2.s32",                          "=d*2{|q}, TEXTURE, ?offset:s32*G", "4.2 sm_53"},
    {"tex.base.(1d|2d|a1d|a2d).v2.f16x2.f32",                          "=d*2{|q}, TEXTURE, ?offset:s32*G, ?dref:f32", "4.2 sm_53"},
    {"tex.base.3d.v2.f16x2.f32",                          "=d*2{|q}, TEXTURE, ?offset:s32*G", "4.2 sm_53"},
    {"tex.base.(cube|acube).v2.f16x2.f32",                     "=d*2{|q}, TEXTURE, ?dref:f32", "4.2 sm_53"},
    {"tex.base.(2dms|a2dms).v2.f16x2.s32",                     "=d*2{|q}, TEXTURE, ?offset:s32*G", "4.2 sm_53"},
    {"tex.level.TEXGEOM.v4.TEXTYPE.s32",                       "=d*4{|q}, TEXTURE, lod:s32, ?offset:s32*G", "3.1 sm_20"},
    {"tex.level.(1d|2d|a1d|a2d).v4.TEXTYPE.f32",                       "=d*4{|q}, TEXTURE, lod:f32, ?offset:s32*G, ?dref:f32", "3.1 sm_20"},
    {"tex.level.3d.v4.TEXTYPE.f32",                       "=d*4{|q}, TEXTURE, lod:f32, ?offset:s32*G", "3.1 sm_20"},
    {"tex.level.(cube|acube).v4.TEXTYPE.f32",                  "=d*4{|q}, TEXTURE, lod:f32, ?dref:f32", "3.1 sm_20"},
    {"tex.level.TEXGEOM.v2.f16x2.s32",                         "=d*2{|q}, TEXTURE, lod:s32, ?offset:s32*G", "4.2 sm_53"},
    {"tex.level.(1d|2d|a1d|a2d).v2.f16x2.f32",                         "=d*2{|q}, TEXTURE, lod:f32, ?offset:s32*G, ?dref:f32", "4.2 sm_53"},
    {"tex.level.3d.v2.f16x2.f32",                         "=d*2{|q}, TEXTURE, lod:f32, ?offset:s32*G", "4.2 sm_53"},
    {"tex.level.(cube|acube).v2.f16x2.f32",                    "=d*2{|q}, TEXTURE, lod:f32, ?dref:f32", "4.2 sm_53"},
    {"tex.grad.(1d|2d|a1d|a2d).v4.TEXTYPE.f32",                        "=d*4{|q}, TEXTURE, dx:f32*G, dy:f32*G, ?offset:s32*G, ?dref:f32", "3.1 sm_20"},
    {"tex.grad.3d.v4.TEXTYPE.f32",                        "=d*4{|q}, TEXTURE, dx:f32*G, dy:f32*G, ?offset:s32*G", "3.1 sm_20"},
    {"tex.grad.(cube|acube).v4.TEXTYPE.f32",                   "=d*4{|q}, TEXTURE, dx:f32*G, dy:f32*G, ?dref:f32", "3.1 sm_20"},
    {"tex.grad.(1d|2d|a1d|a2d).v2.f16x2.f32",                          "=d*2{|q}, TEXTURE, dx:f32*G, dy:f32*G, ?offset:s32*G, ?dref:f32", "4.2 sm_53"},
    {"tex.grad.3d.v2.f16x2.f32",                          "=d*2{|q}, TEXTURE, dx:f32*G, dy:f32*G, ?offset:s32*G", "4.2 sm_53"},
    {"tex.grad.(cube|acube).v2.f16x2.f32",                     "=d*2{|q}, TEXTURE, dx:f32*G, dy:f32*G, ?dref:f32", "4.2 sm_53"},
    {"tld4.(r|g|b|a).(2d|a2d).v4.(u32|s32|f32).f32",           "=d*4{|q}, TEXTURE, ?offset:s32*G, ?dref:f32", "3.1 sm_20"},
    {"tld4.(r|g|b|a).(cube|acube).v4.(u32|s32|f32).f32",       "=d*4{|q}, TEXTURE, ?dref:f32", "3.1 sm_20"},
    {"txq.(width|height|depth|channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples)"
     ".b32",                                     "=d, TEXREF"},
    {"txq.level.(width|height|depth).b32",       "=d, TEXREF, lod:b32", "4.3 sm_30"},
    {"txq.(force_unnormalized_coords|filter_mode|addr_mode_0|addr_mode_1|addr_mode_2).b32", "=d, TEXREF"},

    {"suld.b.SURFGEOM{.SURFCOP}{.VEC4}.(b8|b16|b32|b64).CLAMP",   "=~d*V, SURFACE"},
    {"sust.b.SURFGEOM{.STCOP}{.VEC4}.(b8|b16|b32|b64).CLAMP",     "SURFACE, ~b*V"},
    {"sust.p.(1d|2d|3d|a1d|a2d){.VEC4}.b32.CLAMP",                "SURFACE, ~b*V"},
    {"sured.b.add.(1d|2d|3d).(u32|u64|s32).CLAMP",                "SURFACE, b"},
    {"sured.b.(min|max).(1d|2d|3d).(u32|s32).CLAMP",              "SURFACE, b"},
    {"sured.b.(min|max).(1d|2d|3d).(u64|s64).CLAMP",              "SURFACE, b", "8.1 sm_50"},
    {"sured.b.(and|or).(1d|2d|3d).b32.CLAMP",                     "SURFACE, b"},
    {"sured.p.(add|min|max|and|or).(1d|2d|3d).b32.CLAMP",         "SURFACE, b"},
    {"sured.p.(min|max).(1d|2d|3d).b64.CLAMP",                    "SURFACE, b", "8.1 sm_50"},
    {"suq.(width|height|depth|channel_data_type|channel_order|array_size|memory_layout).b32", "=d, SURFREF"},
};
// clang-format on

} // namespace

std::span<const Row> textureRows() {
  return kRows;
}

} // namespace orias::ptx
