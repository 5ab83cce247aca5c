#include "frontend/instr_table.h"

// Moves within and between threads, and address conversion.

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"mov.SCALAR",                              "=d, %&a"},
    {"mov.pred",                                "=d, !%a"},
    {"mov.b128",                                "=d, a", "8.3 sm_70"},
    {"mov.VEC4.SCALAR",                         "=d*V, %a*V"},
    {"prmt.b32{.(f4e|b4e|rc8|ecl|ecr|rc16)}",   "=d, a, b, c"},
    {"shfl{.sync}.(up|down|bfly|idx).b32",      "=d{|p}, a, b, c, mask@sync"},

    {"cvta.ADDRSPACE.(u32|u64)",                    "=d, &a"},
    {"cvta.to.ADDRSPACE.(u32|u64)",                 "=d, a"},
    {"isspacep.ADDRSPACE",                          "=p:pred, a:u64 / =p:pred, a:u32"},
    {"istypep.(texref|samplerref|surfref)",     "=p:pred, $a:b64"},
    {"mapa{.shared::cluster}.(u32|u64)",        "=d, &a, b:u32", "7.8 sm_90"},
    {"getctarank{.shared::cluster}.(u32|u64)",  "=d:u32, &a",    "7.8 sm_90"},
};
// clang-format on

} // namespace

std::span<const Row> dataRows() {
  return kRows;
}

} // namespace orias::ptx
