#include "test/forms/table.h"

#include "frontend/instr_form.h"
#include "support/check.h"

#include <fmt/format.h>
#include <fstream>

namespace orias::forms {

unsigned Table::Line::forms() const {
  unsigned sum = 0;
  for (unsigned count : counts)
    sum += count;
  return sum - of(Outcome::NoForm) - of(Outcome::OtherTarget);
}

unsigned Table::Line::assembled() const {
  return of(Outcome::Assembled) + of(Outcome::NoEngine) + of(Outcome::Agrees) + of(Outcome::Differs);
}

void Table::add(const Statement& statement, const Verdict& verdict) {
  Line& line = lines_[{std::string(ptx::opName(statement.form.op)), std::string(ptx::typeName(statement.form.type()))}];
  ++line.counts[static_cast<std::size_t>(verdict.outcome)];
  const bool isReason = verdict.outcome != Outcome::Agrees && verdict.outcome != Outcome::NoForm &&
                        verdict.outcome != Outcome::OtherTarget;
  if (isReason && line.why.empty()) line.why = verdict.reason;
}

std::string Table::summary() const {
  Line sum;
  for (const auto& [key, line] : lines_)
    for (std::size_t i = 0; i < sum.counts.size(); ++i)
      sum.counts[i] += line.counts[i];
  return fmt::format(
      "{} forms: {} assembled, {} run and agree, {} differ, {} cannot run alone, {} unknown to an engine, "
      "{} not supported yet, {} faults ({} of other targets)",
      sum.forms(), sum.assembled(), sum.of(Outcome::Agrees), sum.of(Outcome::Differs), sum.of(Outcome::Assembled),
      sum.of(Outcome::NoEngine), sum.of(Outcome::Unsupported), sum.of(Outcome::Fault), sum.of(Outcome::OtherTarget));
}

void Table::write(const std::string& file) const {
  std::ofstream out(file);
  out << "# What is covered\n\n"
         "Each form of each PTX instruction alone in a kernel, for sm_90a: how many there are, how many assemble, and "
         "how\n"
         "many leave the same memory when the PTX interpreter runs the kernel and the emulator our cubin. A form is a "
         "row of\n"
         "the table of PTX instructions with one of its modifiers. Written by `orias_forms --table` "
         "(`test/forms/`).\n\n"
         "| instruction | type | forms | assembled | run and equal | the rest |\n|---|---|---:|---:|---:|---|\n";
  for (const auto& [key, line] : lines_) {
    if (line.forms() == 0) {
      if (line.of(Outcome::OtherTarget))
        out << fmt::format("| `{}` | {} | | | | not on sm_90a |\n", key.first, key.second);
      continue;
    }
    out << fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key.first, key.second, line.forms(), line.assembled(),
                       line.of(Outcome::Agrees), line.why);
  }
  out << "\n" << summary() << "\n";
  if (!out.flush()) throw Error("cannot write " + file);
}

} // namespace orias::forms
