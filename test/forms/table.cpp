#include "test/forms/table.h"

#include "frontend/instr_form.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>

namespace orias::forms {

unsigned Table::Counts::forms() const {
  unsigned sum = 0;
  for (unsigned count : of_)
    sum += count;
  return sum - of(Outcome::NoForm) - of(Outcome::OtherTarget);
}

unsigned Table::Counts::assembled() const {
  return of(Outcome::Assembled) + of(Outcome::NoEngine) + of(Outcome::Agrees) + of(Outcome::Differs);
}

void Table::add(std::size_t target, const Statement& statement, const Verdict& verdict) {
  Line& line = lines_[{std::string(ptx::opName(statement.form.op)), std::string(ptx::typeName(statement.form.type()))}];
  line.counts.resize(targets_.size());
  ++line.counts[target].of_[static_cast<std::size_t>(verdict.outcome)];
  const bool isReason = verdict.outcome != Outcome::Agrees && verdict.outcome != Outcome::NoForm &&
                        verdict.outcome != Outcome::OtherTarget;
  if (isReason && line.why.empty()) line.why = verdict.reason;
}

std::string Table::summaryOf(std::size_t target) const {
  Counts sum;
  for (const auto& [key, line] : lines_)
    for (std::size_t i = 0; i < sum.of_.size(); ++i)
      sum.of_[i] += line.counts[target].of_[i];
  return fmt::format(
      "{}: {} forms: {} assembled, {} run and agree, {} differ, {} cannot run alone, {} unknown to an engine, "
      "{} not supported yet, {} faults ({} of other targets)",
      targets_[target], sum.forms(), sum.assembled(), sum.of(Outcome::Agrees), sum.of(Outcome::Differs),
      sum.of(Outcome::Assembled), sum.of(Outcome::NoEngine), sum.of(Outcome::Unsupported), sum.of(Outcome::Fault),
      sum.of(Outcome::OtherTarget));
}

std::string Table::summary() const {
  std::string text;
  for (std::size_t target = 0; target < targets_.size(); ++target)
    text += (target == 0 ? "" : "\n") + summaryOf(target);
  return text;
}

std::string Table::cellOf(const Line& line, std::size_t target) {
  const Counts& c = line.counts[target];
  const unsigned forms = c.forms(), assembled = c.assembled(), agree = c.of(Outcome::Agrees);
  if (forms == 0) return " |";
  return forms == assembled && forms == agree ? fmt::format(" {} |", forms)
                                              : fmt::format(" {} {} {} |", forms, assembled, agree);
}

std::vector<std::vector<std::size_t>> Table::columns() const {
  std::vector<std::vector<std::size_t>> found;
  for (std::size_t target = 0; target < targets_.size(); ++target) {
    const auto isEqual = [&](const std::vector<std::size_t>& column) {
      return std::ranges::all_of(
          lines_, [&](const auto& l) { return cellOf(l.second, column[0]) == cellOf(l.second, target); });
    };
    const auto column = std::ranges::find_if(found, isEqual);
    if (column == found.end())
      found.push_back({target});
    else
      column->push_back(target);
  }
  return found;
}

void Table::write(const std::string& file) const {
  std::ofstream out(file);
  out << "# What is covered\n\n"
         "Each form of each PTX instruction alone in a kernel, on each chip: how many forms it has there, how many of "
         "them\n"
         "assemble, and how many leave the same memory when the PTX interpreter runs the kernel and the emulator our "
         "cubin. One\n"
         "number: all of them do; an empty cell: PTX does not have the instruction on that chip. A form is a row of "
         "the "
         "table of\n"
         "PTX instructions with one of its modifiers. nvdisasm reads every word of all these cubins and prints what "
         "our listing\n"
         "prints: `test/peers/forms.py`. Chips whose columns would be equal share one.\n"
         "Written by `orias_forms --arch all --table docs/coverage.md` (`test/forms/`).\n\n| instruction | type |";
  const std::vector<std::vector<std::size_t>> shown = columns();
  for (const std::vector<std::size_t>& column : shown)
    for (std::size_t target : column)
      out << " " << targets_[target] << (target == column.back() ? " |" : ",");
  out << " the rest |\n|---|---|";
  for (std::size_t i = 0; i < shown.size(); ++i)
    out << "---|";
  out << "---|\n";
  for (const auto& [key, line] : lines_) {
    const bool isAnywhere = std::ranges::any_of(line.counts, [](const Counts& c) { return c.forms() != 0; });
    out << fmt::format("| `{}` | {} |", key.first, key.second);
    for (const std::vector<std::size_t>& column : shown)
      out << cellOf(line, column[0]);
    out << " " << (isAnywhere ? line.why : "on none of these") << " |\n";
  }
  for (std::size_t target = 0; target < targets_.size(); ++target)
    out << "\n" << summaryOf(target) << "\n";
  if (!out.flush()) throw Error("cannot write " + file);
}

} // namespace orias::forms
