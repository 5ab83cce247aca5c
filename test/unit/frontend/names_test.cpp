#include "frontend/names.h"
#include "frontend/special_registers.h"
#include "frontend/types.h"

#include <doctest/doctest.h>
#include <string>

using namespace orias::ptx;

TEST_CASE("interned names keep their ids and texts while the table grows") {
  NameTable names;
  for (int i = 0; i < 5000; ++i)
    CHECK(index(names.intern("%r" + std::to_string(i))) == static_cast<unsigned>(i));
  for (int i = 0; i < 5000; ++i) {
    const std::string text = "%r" + std::to_string(i);
    CHECK(index(names.intern(text)) == static_cast<unsigned>(i));
    CHECK(names.text(names.find(text)) == text);
  }
  CHECK(names.find("%r5000") == NameId::None);
  CHECK(names.size() == 5000);
}

TEST_CASE("the empty name and names with equal beginnings differ") {
  NameTable names;
  CHECK(names.intern("") != names.intern("a"));
  CHECK(names.intern("abcdefgh") != names.intern("abcdefghi"));
  CHECK(names.intern(std::string_view("a\0", 2)) != names.intern("a"));
}

TEST_CASE("special registers are found by name, families by number") {
  CHECK(findSpecialRegister("%tid") == SpecialRegister::Tid);
  CHECK(findSpecialRegister("%clock64") == SpecialRegister::Clock64);
  CHECK(findSpecialRegister("%envreg0") == SpecialRegister::EnvReg);
  CHECK(findSpecialRegister("%envreg31") == SpecialRegister::EnvRegLast);
  CHECK(!findSpecialRegister("%envreg32"));
  CHECK(!findSpecialRegister("%envreg"));
  CHECK(!findSpecialRegister("%envreg07"));
  CHECK(findSpecialRegister("%pm7") == SpecialRegister::PmLast);
  CHECK(findSpecialRegister("%pm7_64") == SpecialRegister::Pm64Last);
  CHECK(findSpecialRegister("%reserved_smem_offset_1") == SpecialRegister::ReservedSmemOffsetLast);
  CHECK(!findSpecialRegister("%r1"));
  CHECK(!findSpecialRegister("tid"));
  CHECK(specialRegisterInfo(SpecialRegister::Tid).vectorSize == 4);
  CHECK(specialRegisterInfo(SpecialRegister::EnvRegLast).name == "%envreg");
  CHECK(specialRegisterInfo(SpecialRegister::GridId).type == Type::U64);
}

TEST_CASE("types go from name to type and back") {
  for (unsigned i = 1; i <= static_cast<unsigned>(Type::SurfRef); ++i) {
    const Type type = static_cast<Type>(i);
    CHECK(typeFromName(typeName(type)) == type);
    CHECK(bitWidth(type) > 0);
  }
  CHECK(!typeFromName(""));
  CHECK(!typeFromName("u33"));
  CHECK(bitWidth(Type::BF16x2) == 32);
  CHECK(typeClass(Type::S64) == TypeClass::Signed);
}
