#include "encoder/listing.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orias::encoder {

namespace {

constexpr std::size_t kTextColumns = 44;
constexpr std::size_t kLiveColumns = 11, kOriginColumns = 15;
constexpr std::size_t kPtxColumns = 100;

std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return lines;
}

/// A PTX line without the white space around it; empty for line 0 and lines past the end.
std::string ptxText(const std::vector<std::string_view>& lines, std::uint32_t line) {
  if (line == 0 || line > lines.size()) return {};
  std::string_view text = lines[line - 1];
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\t'))
    text.remove_suffix(1);
  std::string out(text.substr(0, kPtxColumns));
  for (char& c : out)
    if (c == '\t') c = ' ';
  return out;
}

std::string barrier(std::uint8_t number) {
  return number == isa::Control::kNoBarrier ? "-" : std::string(1, static_cast<char>('0' + number));
}

std::string waits(std::uint8_t mask) {
  std::string out;
  for (unsigned i = 0; i < 6; ++i)
    out += mask >> i & 1 ? static_cast<char>('0' + i) : '-';
  return out;
}

/// U: on the uniform datapath; u: uniform; v: varying; blank: unknown.
char laneMark(const ListingRow& row) {
  if (row.uniform) return 'U';
  switch (row.lanes) {
  case UniformityNote::Uniform: return 'u';
  case UniformityNote::Varying: return 'v';
  case UniformityNote::Unknown: break;
  }
  return ' ';
}

std::string renderHeader(const ListingHeader& h) {
  std::string out = fmt::format("// {} {} for {}\n", h.isKernel ? "kernel" : "function", h.name, h.arch);
  out += fmt::format("// {} instructions, {} registers ({} uniform, {} predicates), {} barriers\n", h.instructions,
                     h.registers, h.uniformRegisters, h.predicates, h.barriers);
  out += fmt::format("// bytes: {} shared, {} constant, {} local", h.sharedBytes, h.constantBytes, h.frameBytes);
  if (h.spillStoreBytes && h.spillLoadBytes)
    out += fmt::format("; spills: {} stored, {} loaded", *h.spillStoreBytes, *h.spillLoadBytes);
  out += '\n';
  out += fmt::format("// occupancy with {} threads per block: {} of {} warps, limited by {}\n", h.threadsPerBlock,
                     h.warpsPerSm, h.maxWarpsPerSm, h.occupancyLimit);
  return out;
}

std::string hex(const isa::Word& word) {
  return fmt::format("0x{:016x}{:016x}", word.hi, word.lo);
}

constexpr std::string_view kDataNote = " // not in the instruction table";

} // namespace

std::string renderPlain(const FunctionListing& listing, RenderOptions options) {
  std::string out = fmt::format("{}:\n", listing.header.name);
  for (const ListingRow& row : listing.rows) {
    if (!row.label.empty()) out += row.label + ":\n";
    out += fmt::format("        /*{:04x}*/ {} ;", row.offset, row.text);
    if (row.data) out += kDataNote;
    if (options.rawWords) out += fmt::format(" /* {} */", hex(row.word));
    out += '\n';
  }
  return out;
}

std::string renderAnnotated(const FunctionListing& listing, std::string_view ptx) {
  const std::vector<std::string_view> lines = splitLines(ptx);
  std::string out = renderHeader(listing.header);
  out += fmt::format("{}:\n", listing.header.name);
  // stall, yield, write and read scoreboard, waits, reuse | live R, UR, P | lanes | PTX line, phases | word
  out += fmt::format("{:<6} {:<{}} {:>2} {} {} {} {:<6} {:<3} {:>3} {:>2} {:>1} {}", "// at", "instruction",
                     kTextColumns, "st", "y", "w", "r", "waits", "reu", "R", "UR", "P", "l");
  if (listing.hasOrigins) out += fmt::format(" {:>6} {:<7}", "line", "phases");
  out += " word\n";
  std::uint32_t lastLine = 0;
  std::string_view lastPlace;
  for (const ListingRow& row : listing.rows) {
    if (row.padding && row.text == "NOP") continue; // only fills the section
    if (!row.label.empty()) out += row.label + ":\n";
    if (!row.place.empty() && row.place != lastPlace) {
      out += fmt::format("       // {}\n", row.place);
      lastPlace = row.place;
    }
    if (row.ptxLine && row.ptxLine != lastLine) {
      out += fmt::format("       // {}: {}\n", row.ptxLine, ptxText(lines, row.ptxLine));
      lastLine = row.ptxLine;
    }
    out += fmt::format("{:04x}   {:<{}} {:>2} {} {} {} {} {}", row.offset, row.text, kTextColumns, row.control.stall,
                       row.control.yield ? 'y' : '-', barrier(row.control.writeBarrier),
                       barrier(row.control.readBarrier), waits(row.control.waitMask), row.reuse);
    if (row.padding)
      out += std::string(kLiveColumns + (listing.hasOrigins ? kOriginColumns : 0), ' ');
    else
      out += fmt::format(" {:>3} {:>2} {:>1} {}", row.live[static_cast<unsigned>(isa::File::R)],
                         row.live[static_cast<unsigned>(isa::File::UR)], row.live[static_cast<unsigned>(isa::File::P)],
                         laneMark(row));
    if (!row.padding && listing.hasOrigins) out += fmt::format(" {:>6} {:<7}", row.ptxLine, row.phases);
    out += fmt::format(" {:016x}{:016x}", row.word.hi, row.word.lo);
    if (row.data) out += kDataNote;
    out += '\n';
  }
  return out;
}

std::string renderJson(const FunctionListing& listing, std::string_view ptx) {
  const std::vector<std::string_view> lines = splitLines(ptx);
  const ListingHeader& h = listing.header;
  nlohmann::ordered_json out = {{"name", h.name},
                                {"arch", h.arch},
                                {"kernel", h.isKernel},
                                {"instructions", h.instructions},
                                {"registers", h.registers},
                                {"uniformRegisters", h.uniformRegisters},
                                {"predicates", h.predicates},
                                {"barriers", h.barriers},
                                {"sharedBytes", h.sharedBytes},
                                {"constantBytes", h.constantBytes},
                                {"frameBytes", h.frameBytes},
                                {"occupancy",
                                 {{"threadsPerBlock", h.threadsPerBlock},
                                  {"warps", h.warpsPerSm},
                                  {"maxWarps", h.maxWarpsPerSm},
                                  {"limit", h.occupancyLimit}}}};
  if (h.spillStoreBytes) out["spillStoreBytes"] = *h.spillStoreBytes;
  if (h.spillLoadBytes) out["spillLoadBytes"] = *h.spillLoadBytes;
  auto& rows = out["code"] = nlohmann::ordered_json::array();
  for (const ListingRow& row : listing.rows) {
    nlohmann::ordered_json r = {{"offset", row.offset},
                                {"word", hex(row.word)},
                                {"text", row.text},
                                {"control",
                                 {{"stall", row.control.stall},
                                  {"yield", row.control.yield},
                                  {"writeBarrier", barrier(row.control.writeBarrier)},
                                  {"readBarrier", barrier(row.control.readBarrier)},
                                  {"waits", waits(row.control.waitMask)},
                                  {"reuse", row.reuse}}}};
    if (!row.label.empty()) r["label"] = row.label;
    if (row.data) r["data"] = true;
    if (row.padding) {
      r["padding"] = true;
    } else {
      r["live"] = {
          {"R", row.live[0]}, {"UR", row.live[1]}, {"P", row.live[2]}, {"UP", row.live[3]}, {"B", row.live[4]}};
      r["uniformDatapath"] = row.uniform;
      if (row.lanes != UniformityNote::Unknown)
        r["lanes"] = row.lanes == UniformityNote::Uniform ? "uniform" : "varying";
      if (listing.hasOrigins) r["phases"] = row.phases;
      if (!row.place.empty()) r["place"] = row.place;
      if (row.ptxLine) {
        r["line"] = row.ptxLine;
        r["ptx"] = ptxText(lines, row.ptxLine);
      }
    }
    rows.push_back(std::move(r));
  }
  // A name in a damaged file need not be UTF-8.
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

} // namespace orias::encoder
