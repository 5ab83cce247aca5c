// Prints an example of every form in the PTX instruction table, one statement per line, with the lowest target and
// version:
//   sm_53 4.2 <tab> add.sat.f16 %h1, %h2, %h3;
// ptx_table.py passes them to ptxas, which must accept them all. With the statements' preamble as argument
// (test/unit/frontend/instr_preamble.ptx), the examples that orias' own checks refuse are left out: these violate rules
// between modifiers that the table does not have, such as cvt.sat between types that need none.

#include "test/forms/statement.h"

#include "frontend/check_instr.h"
#include "frontend/parse.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

using namespace orias;
using forms::Statement;

namespace {

/// Small enough for Diagnostics::kMaxErrors.
constexpr std::size_t kBatch = 50;

/// The indices of the statements that orias' own checks refuse.
std::set<std::size_t> refusedByOrias(const std::string& preamble, const std::vector<Statement>& statements) {
  std::set<std::size_t> refused;
  if (preamble.empty()) return refused;
  std::string text = preamble;
  for (const Statement& statement : statements)
    text += statement.text + "\n";
  text += "L1: ret;\n}\n";
  Diagnostics diags("examples", text);
  const auto module = ptx::parse(text, diags);
  ptx::checkInstructions(*module, ptx::FormTable(*module), {}, diags);
  const auto first = static_cast<std::uint32_t>(std::count(preamble.begin(), preamble.end(), '\n')) + 1;
  for (const Diagnostic& d : diags.all()) {
    // Too low a target is not an error of the example: ptx_table.py uses the required one for each.
    const bool isTarget =
        d.message.starts_with("Feature '") || d.message.find("not supported on .target '") != std::string::npos;
    if (d.severity == Severity::Error && !isTarget) refused.insert(d.loc.line - first);
  }
  return refused;
}

void print(const std::string& preamble, std::vector<Statement>& statements) {
  const std::set<std::size_t> refused = refusedByOrias(preamble, statements);
  for (std::size_t i = 0; i < statements.size(); ++i)
    if (!refused.contains(i))
      std::printf("%s %s\t%s\n", statements[i].target().c_str(), statements[i].version().c_str(),
                  statements[i].text.c_str());
  statements.clear();
}

} // namespace

int main(int argc, char** argv) {
  std::string preamble;
  if (argc > 1) {
    std::stringstream text;
    text << std::ifstream(argv[1]).rdbuf();
    preamble = text.str();
    for (const auto& [mark, with] : {std::pair{"@VERSION@", "9.0"}, {"@TARGET@", "sm_90a"}, {"@WIDE@", ""}})
      preamble.replace(preamble.find(mark), std::string_view(mark).size(), with);
  }
  std::vector<Statement> pending;
  forms::forEachStatement([&](Statement statement) {
    pending.push_back(std::move(statement));
    if (pending.size() == kBatch) print(preamble, pending);
  });
  print(preamble, pending);
  return 0;
}
