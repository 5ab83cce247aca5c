#pragma once

#include <string_view>

/// Each thread stores its number. The `mov` is line 7.
inline constexpr std::string_view kKernel = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 p) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";
