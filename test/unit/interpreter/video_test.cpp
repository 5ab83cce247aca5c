#include "run.h"

namespace orias::interp {

TEST_CASE("scalar video instructions: parts, saturation, a second operation, a merge") {
  const std::string registers = "mov.u32 %r1, 0x80ff7f01; mov.u32 %r2, 0x00010203; mov.u32 %r3, 0x11223344; ";
  const auto value = [&](const std::string& text) { return valueOf(registers + text); };
  CHECK(value("vadd.s32.s32.s32 %r0, %r1.b2, %r2.b0;") == 2); // -1 + 3
  CHECK(value("vadd.s32.u32.s32 %r0, %r1.b2, %r2.b0;") == 258);
  CHECK(value("vsub.s32.s32.s32 %r0, %r1.h1, %r2.h0;") == 0xffff80ffu - 0x203);
  CHECK(value("vsub.u32.u32.u32.sat %r0, %r2.b0, %r1.b3;") == 0);
  CHECK(value("vabsdiff.u32.s32.s32 %r0, %r1.b3, %r1.b1;") == 255); // |-128 - 127|
  CHECK(value("vmin.s32.s32.u32 %r0, %r1.b2, %r2.b0;") == 0xffffffff);
  CHECK(value("vmax.s32.s32.u32.add %r0, %r1.b2, %r2.b0, %r3;") == 0x11223347);
  CHECK(value("vmax.s32.s32.u32.min %r0, %r1.b2, %r2.b0, %r3;") == 3);
  CHECK(value("vadd.s32.s32.s32.sat %r0.b1, %r1.b1, %r2.b0, %r3;") == 0x11227f44);
  CHECK(value("vadd.u32.u32.u32 %r0.h1, %r1.b1, %r2.b0, %r3;") == 0x00823344);
  CHECK(value("vshl.u32.u32.u32.clamp %r0, %r2.h0, %r3;") == 0);
  CHECK(value("vshl.u32.u32.u32.sat.clamp %r0, %r1, %r3;") == 0xffffffff); // more than 63 bits
  CHECK(value("vshl.u32.u32.u32.wrap %r0, %r2.h0, %r3;") == 0x2030);
  CHECK(value("vshr.s32.s32.u32.clamp %r0, %r1, 40;") == 0xffffffff);
  CHECK(value("vset.s32.u32.lt %r0, %r1.b2, %r2.b0;") == 1);
  CHECK(value("vset.u32.u32.lt.add %r0, %r2.b0, %r1.b2, %r3;") == 0x11223345);
}

TEST_CASE("vmad: negated products, plus one, scaled, saturated") {
  const std::string registers = "mov.u32 %r1, 300; mov.u32 %r2, 5; mov.u32 %r3, 0x80000000; ";
  const auto value = [&](const std::string& text) { return valueOf(registers + text); };
  CHECK(value("vmad.u32.u32.u32 %r0, %r1, %r2, %r2;") == 1505);
  CHECK(value("vmad.s32.u32.u32 %r0, -%r1, %r2, %r2;") == static_cast<std::uint32_t>(-1495));
  CHECK(value("vmad.s32.u32.u32 %r0, %r1, %r2, -%r2;") == 1495);
  CHECK(value("vmad.u32.u32.u32.po %r0, %r1.b0, %r2.b0, %r2;") == 44 * 5 + 6);
  CHECK(value("vmad.u32.u32.u32.shr7 %r0, %r1, %r2, %r2;") == 11);
  CHECK(value("vmad.u32.u32.u32.sat %r0, %r3, %r2, %r2;") == 0xffffffff);
  CHECK(value("vmad.u32.u32.u32.sat %r0, 0xffffffff, 0xffffffff, %r2;") == 0xffffffff);
  CHECK(value("vmad.s32.s32.u32.sat %r0, %r3, %r2, %r2;") == 0x80000000);
}

TEST_CASE("video instructions on halves and bytes: selections, masks, sums") {
  const std::string registers = "mov.u32 %r1, 0x80ff7f01; mov.u32 %r2, 0x00010203; mov.u32 %r3, 0x11223344; ";
  const auto value = [&](const std::string& text) { return valueOf(registers + text); };
  CHECK(value("vabsdiff4.u32.u32.u32 %r0, %r1, %r2, %r3;") == 0x80fe7d02);
  CHECK(value("vabsdiff4.u32.u32.u32.add %r0, %r1, %r2, %r3;") == 0x11223344 + 0x80 + 0xfe + 0x7d + 2);
  CHECK(value("vadd4.s32.s32.s32.sat %r0, %r1, %r2, %r3;") == 0x80007f04);
  CHECK(value("vadd4.u32.u32.u32 %r0.b31, %r1, %r2, %r3;") == 0x80228144);
  CHECK(value("vsub4.u32.u32.u32 %r0, %r1.b7654, %r2.b0123, %r3;") ==
        ((0xffu & (0x00 - 0x01)) << 24 | (0xff & (0x01 - 0x7f)) << 16 | (0xff & (0x02 - 0xff)) << 8 |
         (0xff & (0x03 - 0x80))));
  CHECK(value("vavrg4.s32.s32.s32 %r0, %r1, %r2, %r3;") == 0xc0004102);
  CHECK(value("vmin4.s32.s32.s32 %r0, %r1, %r2, %r3;") == 0x80ff0201);
  CHECK(value("vmax4.u32.u32.u32 %r0, %r1, %r2, %r3;") == 0x80ff7f03);
  CHECK(value("vset4.u32.u32.gt %r0, %r1, %r2, %r3;") == 0x01010100);
  CHECK(value("vset4.u32.u32.gt.add %r0, %r1, %r2, %r3;") == 0x11223347);
  CHECK(value("vadd2.s32.s32.s32.sat %r0, %r1, %r2, %r3;") == 0x81007fff);
  CHECK(value("vadd2.u32.u32.u32 %r0.h1, %r1.h00, %r2.h32, %r3;") == 0x7f023344);
  CHECK(value("vmax2.s32.s32.s32 %r0.h0, %r1, %r2, %r3;") == 0x11227f01);
}

} // namespace orias::interp
