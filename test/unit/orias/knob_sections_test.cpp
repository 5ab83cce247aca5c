#include "orias/knob_sections.h"

#include "support/check.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace orias;
using phases::Knob;

namespace {

std::int64_t target(const KnobSections& sections, std::string_view function) {
  return sections.of(function).get(Knob::PreSchedRegisterTarget);
}

} // namespace

TEST_CASE("a section of a knob file holds for one function, and overrides the settings for all") {
  const std::vector<std::string> settings = {"PreSchedRegisterTarget=32\n"
                                             "[small]  # a comment\n"
                                             "PreSchedRegisterTarget=16, SchedReuse=0\n"
                                             "[*]\n"
                                             "SchedSerial=1\n",
                                             "PreSchedRegisterTarget=64"};
  const KnobSections sections(settings);
  CHECK(target(sections, "other") == 64);
  CHECK(target(sections, "small") == 16);
  CHECK(!sections.of("small").enabled(Knob::SchedReuse));
  CHECK(sections.of("other").enabled(Knob::SchedReuse));
  CHECK(sections.of("small").enabled(Knob::SchedSerial));
  CHECK(sections.all().get(Knob::PreSchedRegisterTarget) == 64);
}

TEST_CASE("sections refuse unknown knobs, and those of phases of modules") {
  const auto read = [](const std::string& text) { KnobSections sections(std::vector<std::string>{text}); };
  CHECK_THROWS_WITH_AS(read("[k]\nSchedReus=1"), "unknown knob 'SchedReus'; did you mean 'SchedReuse'?", Error);
  CHECK_THROWS_AS(read("[k]\nStrongGlobalAssumptions=1"), Error);
  CHECK_NOTHROW(read("StrongGlobalAssumptions=1\n[k]\nSchedReuse=0"));
}
