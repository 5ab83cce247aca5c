#include "support/diagnostics.h"

#include <doctest/doctest.h>

using namespace orias;

TEST_CASE("an error is shown with its line, a caret and the hint") {
  std::string_view text = "first\n  second line\n";
  Diagnostics diags("a.ptx", text);
  diags.error({2, 3}, "bad word", "say something else");
  CHECK(diags.render() == "a.ptx:2:3: error: bad word\n"
                          "    second line\n"
                          "    ^\n"
                          "a.ptx:2:3: note: say something else\n");
}

TEST_CASE("diagnostics come out in the order of the text") {
  std::string_view text = "a\nb\n";
  Diagnostics diags("f", text);
  diags.error({2, 1}, "later");
  diags.error({1, 1}, "earlier");
  std::string shown = diags.render();
  CHECK(shown.find("earlier") < shown.find("later"));
}

TEST_CASE("errors past the limit are counted, not kept") {
  Diagnostics diags("f", "");
  for (unsigned i = 0; i < Diagnostics::kMaxErrors + 5; ++i)
    diags.error({1, 1}, "e");
  CHECK(diags.errorCount() == Diagnostics::kMaxErrors + 5);
  CHECK(diags.all().size() == Diagnostics::kMaxErrors);
  CHECK(diags.render().find("5 more errors") != std::string::npos);
}
