#include "tools/orias/help.h"

#include "tools/orias/option_table.h"

#include <fmt/format.h>

namespace orias::driver {

namespace {

constexpr std::size_t kIndent = 8;
constexpr std::size_t kWidth = 80;

/// Breaks `text` into lines of at most kWidth columns, each indented.
std::string wrapped(std::string_view text) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t from = 0; from < text.size();) {
    std::size_t to = std::min(text.find(' ', from), text.size());
    std::string_view word = text.substr(from, to - from);
    if (column != 0 && column + 1 + word.size() > kWidth) {
      out += '\n';
      column = 0;
    }
    out += column == 0 ? std::string(kIndent, ' ') : " ";
    column += (column == 0 ? kIndent : 1) + word.size();
    out += word;
    from = to + 1;
  }
  return out + '\n';
}

std::string entry(const OptionSpec& option) {
  std::string head = option.display();
  if (option.takes == Takes::GluedText)
    head += fmt::format("[={}]", option.valueText);
  else if (option.takes != Takes::Nothing)
    head += fmt::format(" <{}>", option.valueText);
  if (!option.shortName.empty()) head = fmt::format("{:<51} (-{})", head, option.shortName);
  std::string help(option.help);
  help += '.';
  if (option.effect == Effect::Hint || option.effect == Effect::Warned) help += " [accepted; no effect]";
  if (option.effect == Effect::Refused) help += " [not supported]";
  return head + '\n' + wrapped(help) + '\n';
}

} // namespace

std::string helpText() {
  std::string out = "Usage: orias [options] <ptx file>,...\n\n"
                    "Compiles PTX to a cubin. All input files go into one output.\n\n"
                    "Options shared with ptxas\n"
                    "=========================\n\n";
  bool ours = false;
  for (const OptionSpec& option : optionTable()) {
    if (option.ours && !ours) out += "Options of orias\n================\n\n";
    ours = option.ours;
    out += entry(option);
  }
  out += "Exit status: 0 success, 1 errors in the input, 2 errors in the command line, 3 internal error.\n";
  return out;
}

std::string versionText() {
  return fmt::format("orias {}: an open PTX assembler, not made by NVIDIA\n"
                     "Takes the command line and the PTX of: Cuda compilation tools, release 13.0, V13.0.88\n",
                     ORIAS_VERSION);
}

} // namespace orias::driver
