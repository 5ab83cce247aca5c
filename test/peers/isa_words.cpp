// isa_words [FILE [LIMIT [CHIP]]]: reads lines "count lo hi text" (how often a word occurs, the word in hexadecimal and
// what nvdisasm prints for it), decodes, re-encodes and prints each word, and reports what differs. Used by
// isa_roundtrip.py; exits 1 when a decoded word does not re-encode or prints differently.
//
// nvdisasm's names of branch targets are passed through: both sides write `@`, and the distance is checked by
// re-encoding.

#include "encoder/isa/codec.h"
#include "encoder/isa/parse.h"
#include "encoder/isa/print.h"
#include "encoder/isa/target.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace orias::isa;

namespace {

/// Words of a kind: the distinct ones, and their total count.
struct Bucket {
  unsigned long count = 0, weight = 0;
  std::vector<std::string> examples;
  void add(unsigned long times, std::string example) {
    weight += times;
    if (++count <= 3) examples.push_back(std::move(example));
  }
};
using Buckets = std::map<std::string, Bucket>;

std::string squeeze(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') { // `(name)
      const std::size_t end = text.find(')', i);
      out += '@';
      if (end == std::string_view::npos) break;
      i = end;
    } else if (text[i] != ' ' && text[i] != ';') {
      out += text[i];
    }
  }
  return out;
}

void report(const char* title, const Buckets& buckets, unsigned limit) {
  std::vector<const Buckets::value_type*> sorted;
  for (const auto& b : buckets)
    sorted.push_back(&b);
  std::stable_sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->second.weight > b->second.weight; });
  if (!sorted.empty()) std::printf("%s\n", title);
  for (std::size_t i = 0; i < sorted.size() && i < limit; ++i) {
    std::printf("  %8lu %7lu  %s\n", sorted[i]->second.weight, sorted[i]->second.count, sorted[i]->first.c_str());
    for (const std::string& e : sorted[i]->second.examples)
      std::printf("                    %s\n", e.c_str());
  }
}

} // namespace

int main(int argc, char** argv) {
  std::ifstream file;
  if (argc > 1) file.open(argv[1]);
  std::istream& in = argc > 1 ? file : std::cin;
  const unsigned limit = argc > 2 ? static_cast<unsigned>(std::stoul(argv[2])) : 20;
  const Target* const target = Target::find(argc > 3 ? argv[3] : "sm_90");
  if (!target) {
    std::fprintf(stderr, "isa_words: no such chip: %s\n", argv[3]);
    return 2;
  }

  unsigned long total = 0, weight = 0, decodedWeight = 0, decoded = 0, reencoded = 0, alike = 0, parsed = 0;
  Buckets unknown, recodeErrors, printErrors, parseErrors;
  std::string line;
  while (std::getline(in, line)) {
    Word w;
    char* rest = nullptr;
    const unsigned long times = std::strtoul(line.c_str(), &rest, 10);
    w.lo = std::strtoull(rest, &rest, 16);
    w.hi = std::strtoull(rest, &rest, 16);
    while (*rest == ' ')
      ++rest;
    const std::string text = rest;
    ++total;
    weight += times;

    char key[64];
    const unsigned bit91 = static_cast<unsigned>(w.hi >> 27 & 1);
    std::snprintf(key, sizeof key, "%u%03x", bit91, static_cast<unsigned>(w.lo & 0xfff));
    const std::optional<Inst> inst = decodeFor(*target, w);
    if (!inst) {
      unknown[key].add(times, line);
      continue;
    }
    ++decoded;
    decodedWeight += times;
    const EncodeResult again = encode(*inst, *target);
    const std::string name(desc(inst->op).name);
    if (!again || again.word != w) {
      recodeErrors[name].add(times, line + (again ? "" : "  -> " + again.error));
      continue;
    }
    ++reencoded;
    PrintOptions options;
    const bool named = text.find('`') != std::string::npos;
    if (named) options.labelName = [](std::uint64_t) { return std::string("`()"); };
    const std::string ours = printFor(*target, *inst, options);
    if (squeeze(ours) != squeeze(text)) {
      printErrors[name].add(times, text + "   ours: " + ours + "   " + line.substr(line.find(' ') + 1, 33));
      continue;
    }
    ++alike;
    const std::string hexText = print(*inst);
    const ParseResult p = parse(hexText);
    if (!p)
      parseErrors[name].add(times, hexText + "   " + p.error);
    else if (print(p.inst) != hexText)
      parseErrors[name].add(times, hexText + "   parsed: " + print(p.inst));
    else
      ++parsed;
  }
  report("no row:", unknown, limit);
  report("decoded, but encoded to something else:", recodeErrors, limit);
  report("printed differently:", printErrors, limit);
  report("not parsed again:", parseErrors, limit);
  auto percent = [](unsigned long part, unsigned long all) {
    return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
  };
  std::printf("instructions %lu, decoded %lu (%.3f%%)\n", weight, decodedWeight, percent(decodedWeight, weight));
  std::printf("words %lu, decoded %lu (%.3f%%), re-encoded %lu, printed alike %lu, parsed %lu\n", total, decoded,
              percent(decoded, total), reencoded, alike, parsed);
  return reencoded == decoded && alike == decoded && parsed == decoded ? 0 : 1;
}
