#include "support/diagnostics.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias {

namespace {

constexpr std::size_t kWidestShownLine = 160;

std::string_view severityName(Severity severity) {
  switch (severity) {
  case Severity::Note: return "note";
  case Severity::Remark: return "remark";
  case Severity::Warning: return "warning";
  case Severity::Error: return "error";
  }
  return "error";
}

} // namespace

void Diagnostics::error(SourceLoc loc, std::string message, std::string hint) {
  ++errors_;
  if (errors_ <= kMaxErrors) add(Severity::Error, loc, std::move(message), std::move(hint));
}

void Diagnostics::warning(SourceLoc loc, std::string message, std::string hint) {
  add(Severity::Warning, loc, std::move(message), std::move(hint));
}

void Diagnostics::note(SourceLoc loc, std::string message) {
  add(Severity::Note, loc, std::move(message), {});
}

void Diagnostics::add(Severity severity, SourceLoc loc, std::string message, std::string hint) {
  all_.push_back({severity, loc, std::move(message), std::move(hint)});
}

std::string Diagnostics::render() const {
  // Finds the starts of all required lines in one pass over the text.
  std::vector<const Diagnostic*> sorted;
  sorted.reserve(all_.size());
  for (const Diagnostic& d : all_)
    sorted.push_back(&d);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return a->loc.line != b->loc.line ? a->loc.line < b->loc.line : a->loc.column < b->loc.column;
  });

  std::string out;
  std::size_t pos = 0;
  std::uint32_t line = 1;
  for (const Diagnostic* d : sorted) {
    if (!d->loc) {
      out += fmt::format("{}: {}: {}\n", fileName_, severityName(d->severity), d->message);
      if (!d->hint.empty()) out += fmt::format("{}: note: {}\n", fileName_, d->hint);
      continue;
    }
    out +=
        fmt::format("{}:{}:{}: {}: {}\n", fileName_, d->loc.line, d->loc.column, severityName(d->severity), d->message);
    while (line < d->loc.line && pos < text_.size()) {
      std::size_t eol = text_.find('\n', pos);
      pos = eol == std::string_view::npos ? text_.size() : eol + 1;
      ++line;
    }
    if (line == d->loc.line && pos < text_.size()) {
      std::string_view shown = text_.substr(pos, text_.find('\n', pos) - pos);
      // Show only a part of a long line around the column, so that the caret is visible.
      std::size_t column = d->loc.column ? d->loc.column - 1 : 0;
      std::size_t from = column > kWidestShownLine - 40 ? column - (kWidestShownLine - 40) : 0;
      if (from > shown.size()) from = shown.size();
      shown = shown.substr(from, kWidestShownLine);
      std::string clean;
      std::string caret;
      for (std::size_t i = 0; i < shown.size(); ++i) {
        unsigned char c = static_cast<unsigned char>(shown[i]);
        clean += c == '\t' || (c >= 0x20 && c != 0x7f) ? static_cast<char>(c) : '?';
        if (from + i < column) caret += c == '\t' ? '\t' : ' ';
      }
      out += fmt::format("  {}\n  {}^\n", clean, caret);
    }
    if (!d->hint.empty()) out += fmt::format("{}:{}:{}: note: {}\n", fileName_, d->loc.line, d->loc.column, d->hint);
  }
  if (errors_ > kMaxErrors)
    out += fmt::format("{}: error: {} more errors not shown\n", fileName_, errors_ - kMaxErrors);
  return out;
}

} // namespace orias
