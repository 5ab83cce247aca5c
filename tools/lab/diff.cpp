#include "tools/lab/diff.h"

#include "encoder/cubin/cubin.h"
#include "encoder/cubin_code.h"
#include "encoder/isa/target.h"
#include "encoder/listing.h"
#include "orias/orias.h"
#include "support/check.h"
#include "tools/common/files.h"
#include "tools/engines/engines.h"
#include "tools/lab/alignment.h"
#include "tools/orias/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <span>

namespace orias::lab {

namespace {

constexpr std::size_t kColumn = 58; ///< characters per side

bool isPtx(const DiffSide& side) {
  return side.file.ends_with(".ptx");
}

bool isPtxas(const DiffSide& side) {
  return !side.options.empty() && side.options.front() == "ptxas";
}

std::string titleOf(const DiffSide& side) {
  return fmt::format("{} {}", side.file, fmt::join(side.options, " "));
}

driver::CommandLine oriasCommandLine(const DiffSide& side, const std::string& chip) {
  std::vector<std::string> words = side.options;
  words.insert(words.end(), {"-arch=" + chip, "-lineinfo", side.file});
  return driver::parseCommandLine(words);
}

struct Dump {
  std::string phase, function, text;
};

/// The code after each phase.
std::vector<Dump> dumpsOf(const std::string& dumped) {
  constexpr std::string_view kHead = "// after ";
  std::vector<Dump> dumps;
  for (std::size_t at = dumped.find(kHead); at != std::string::npos;) {
    const std::size_t end = dumped.find('\n', at);
    const std::size_t next = dumped.find(std::string("\n") + std::string(kHead), at);
    const std::string head = dumped.substr(at + kHead.size(), end - at - kHead.size());
    const std::size_t colon = head.find(": ");
    if (colon != std::string::npos)
      dumps.push_back({head.substr(0, colon), head.substr(colon + 2), dumped.substr(end, next - end)});
    at = next == std::string::npos ? next : next + 1;
  }
  return dumps;
}

struct CompiledSide {
  std::vector<std::byte> cubin;
  std::vector<Dump> dumps; ///< empty unless orias compiles it
};

CompiledSide compile(const DiffSide& side, const std::string& chip) {
  const std::string text = tools::readWholeFile(side.file);
  if (!isPtx(side)) {
    const auto bytes = std::as_bytes(std::span(text));
    return {{bytes.begin(), bytes.end()}, {}};
  }
  if (isPtxas(side)) {
    std::string options = fmt::format("-arch={} -lineinfo", chip);
    for (const std::string& word : std::span(side.options).subspan(1))
      options += fmt::format(" '{}'", word);
    engines::Compiled compiled = engines::assembleWithPtxas(text, options);
    if (!compiled.verdict.isGood()) throw Error(fmt::format("ptxas: {}", compiled.verdict.reason));
    return {std::move(compiled.cubin), {}};
  }
  driver::CommandLine line = oriasCommandLine(side, chip);
  line.options.phases.dumpAfter = {"all"};
  const Input input{side.file, text};
  Result result = assemble({&input, 1}, line.options);
  if (result.status != Status::Ok) throw Error(result.diagnostics);
  return {std::move(result.cubin), dumpsOf(result.phaseText)};
}

using Listings = std::map<std::string, encoder::FunctionListing>;

Listings listingsOf(std::span<const std::byte> cubin) {
  const cubin::Module module = cubin::read(cubin);
  Listings listings;
  for (const cubin::Function& function : module.functions) {
    encoder::FunctionListing listing = encoder::makeListing(function, module, encoder::targetOf(module.abi));
    std::erase_if(listing.rows, [](const encoder::ListingRow& row) { return row.padding; });
    listings.emplace(function.name, std::move(listing));
  }
  return listings;
}

/// The instruction without the numbers of its registers and labels, and its source line.
std::string keyOf(const encoder::ListingRow& row) {
  std::string key;
  const std::string& text = row.text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    key += text[i];
    const bool isStart = i == 0 || !(std::isalnum(static_cast<unsigned char>(text[i - 1])) || text[i - 1] == '_');
    const bool isRegister =
        (text[i] == 'R' || text[i] == 'P' || text[i] == 'B') &&
        (isStart || (text[i - 1] == 'U' && (i == 1 || !std::isalnum(static_cast<unsigned char>(text[i - 2])))));
    const bool isLabel = text[i] == '_' && i >= 2 && text[i - 1] == 'x' && text[i - 2] == '_';
    if (!isRegister && !isLabel) continue;
    while (i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])))
      ++i;
  }
  return fmt::format("{} {}", row.ptxLine, key);
}

std::string mnemonicOf(const encoder::ListingRow& row) {
  std::size_t begin = 0;
  if (row.text.starts_with('@')) begin = std::min(row.text.find(' ') + 1, row.text.size());
  return row.text.substr(begin, row.text.find_first_of(" .;", begin) - begin);
}

std::string figuresOf(const encoder::FunctionListing& left, const encoder::FunctionListing& right) {
  std::string out;
  const auto figure = [&](const char* name, std::size_t a, std::size_t b) {
    if (a != 0 || b != 0)
      out += fmt::format(
          "  {:<24} {:>8} {:>8}{}\n", name, a, b,
          a == b ? "" : fmt::format("  {:+}", static_cast<std::ptrdiff_t>(b) - static_cast<std::ptrdiff_t>(a)));
  };
  const encoder::ListingHeader &a = left.header, &b = right.header;
  figure("instructions", left.rows.size(), right.rows.size());
  figure("registers", a.registers, b.registers);
  figure("warps that fit", a.warpsPerSm, b.warpsPerSm);
  figure("bytes of the frame", a.frameBytes, b.frameBytes);
  figure("bytes of shared memory", a.sharedBytes, b.sharedBytes);
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts;
  for (const encoder::ListingRow& row : left.rows)
    ++counts[mnemonicOf(row)].first;
  for (const encoder::ListingRow& row : right.rows)
    ++counts[mnemonicOf(row)].second;
  for (const auto& [name, both] : counts)
    if (both.first != both.second) figure(name.c_str(), both.first, both.second);
  return out;
}

std::string sideBySide(const encoder::FunctionListing& left, const encoder::FunctionListing& right) {
  std::vector<std::string> leftKeys, rightKeys;
  std::ranges::transform(left.rows, std::back_inserter(leftKeys), keyOf);
  std::ranges::transform(right.rows, std::back_inserter(rightKeys), keyOf);
  const auto cell = [](const encoder::ListingRow& row) { return fmt::format("{:>4} {}", row.ptxLine, row.text); };
  std::string out;
  for (const auto& [l, r] : align(leftKeys, rightKeys)) {
    const char mark = l && r ? ' ' : l ? '<' : '>';
    std::string text = l ? cell(left.rows[*l]) : std::string();
    if (text.size() > kColumn) text = text.substr(0, kColumn - 1) + "~";
    out += fmt::format("{:<{}} {}", text, kColumn, mark);
    if (r) out += " " + cell(right.rows[*r]);
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

/// "74 ConvertToUniformReg", or empty if all phases give the same code.
std::string firstDifference(const std::vector<Dump>& left, const std::vector<Dump>& right,
                            const std::string& function) {
  const auto of = [&](const std::vector<Dump>& all) {
    std::vector<const Dump*> found;
    for (const Dump& dump : all)
      if (dump.function == function) found.push_back(&dump);
    return found;
  };
  const auto a = of(left), b = of(right);
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size()) return b[i]->phase;
    if (i >= b.size() || a[i]->phase != b[i]->phase || a[i]->text != b[i]->text) return a[i]->phase;
  }
  return {};
}

} // namespace

std::string diff(const DiffOptions& options) {
  const CompiledSide leftSide = compile(options.left, options.chip), rightSide = compile(options.right, options.chip);
  const Listings left = listingsOf(leftSide.cubin), right = listingsOf(rightSide.cubin);
  const bool comparesPhases = !leftSide.dumps.empty() && !rightSide.dumps.empty();
  std::string out = fmt::format("left:  {}\nright: {}\n", titleOf(options.left), titleOf(options.right));
  bool isThere = false;
  for (const auto& [name, a] : left) {
    if (!options.kernel.empty() && name != options.kernel) continue;
    isThere = true;
    out += fmt::format("\n{}\n", name);
    const auto b = right.find(name);
    if (b == right.end()) {
      out += "  on the left only\n";
      continue;
    }
    out += figuresOf(a, b->second);
    if (comparesPhases)
      if (const std::string phase = firstDifference(leftSide.dumps, rightSide.dumps, name); !phase.empty())
        out += fmt::format("  first different after phase {}\n", phase);
    const bool isEqual =
        std::ranges::equal(a.rows, b->second.rows, {}, &encoder::ListingRow::word, &encoder::ListingRow::word);
    out += isEqual ? "  the same instructions\n" : sideBySide(a, b->second);
  }
  for (const auto& [name, unused] : right)
    if (!left.contains(name) && (options.kernel.empty() || name == options.kernel)) {
      isThere = true;
      out += fmt::format("\n{}\n  on the right only\n", name);
    }
  if (!isThere) throw Error(fmt::format("there is no function '{}'", options.kernel));
  return out;
}

} // namespace orias::lab
