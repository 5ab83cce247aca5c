#include <doctest/doctest.h>

#include "sample.h"
#include "support/check.h"

using namespace orias;
using namespace orias::cubin;
using orias::cubin::test::bytesOf;

TEST_CASE("attribute records have the formats that ptxas writes") {
  const std::vector<Attribute> list{
      noValueAttribute(AttributeId::ExplicitCluster), byteAttribute(AttributeId::NumBarriers, 3),
      halfAttribute(AttributeId::MaxregCount, 255), wordsAttribute(AttributeId::ExitInstrOffsets, {0x10, 0x120})};
  const Bytes bytes = serializeAttributes(list);
  CHECK(bytes == bytesOf({0x01, 0x3e, 0, 0, 0x02, 0x4c, 3, 0, 0x03, 0x1b, 0xff, 0,
                          0x04, 0x1c, 8, 0, 0x10, 0,    0, 0, 0x20, 0x01, 0,    0}));
  CHECK(parseAttributes(bytes) == list);
  CHECK(list[3].words() == std::vector<std::uint32_t>{0x10, 0x120});
}

TEST_CASE("damaged attribute lists are errors") {
  CHECK_THROWS_AS(parseAttributes(bytesOf({0x04, 0x1c})), Error);
  CHECK_THROWS_AS(parseAttributes(bytesOf({0x04, 0x1c, 8, 0, 0, 0})), Error);
  CHECK_THROWS_AS(parseAttributes(bytesOf({0x09, 0x1c, 0, 0})), Error);
  CHECK(parseAttributes({}).empty());
}

TEST_CASE("attributes have the names that cuobjdump prints") {
  CHECK(attributeName(AttributeId::RegCount) == "EIATTR_REGCOUNT");
  CHECK(attributeName(AttributeId::MercuryIsaVersion) == "EIATTR_MERCURY_ISA_VERSION");
  CHECK(attributeName(static_cast<AttributeId>(0x01)) == "EIATTR_PAD");
  CHECK(attributeName(static_cast<AttributeId>(0x47)).empty());
  CHECK(attributeName(static_cast<AttributeId>(0xff)).empty());
}
