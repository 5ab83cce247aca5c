#include "tools/lab/render.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace orias::lab {

namespace {

std::string csvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string renderCsv(const Store::Table& table) {
  std::string out;
  const auto line = [&](std::size_t columns, auto&& cell) {
    for (std::size_t c = 0; c < columns; ++c)
      out += (c == 0 ? "" : ",") + csvCell(cell(c));
    out += "\r\n";
  };
  line(table.columns.size(), [&](std::size_t c) { return table.columns[c]; });
  for (const auto& row : table.rows)
    line(row.size(), [&](std::size_t c) { return row[c].value_or(""); });
  return out;
}

std::string renderJson(const Store::Table& table) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const auto& cell = table.rows[r][c];
      auto& to = object[table.columns[c]];
      if (cell && table.isNumber[r][c])
        to = nlohmann::ordered_json::parse(*cell, nullptr, false);
      else if (cell)
        to = *cell;
    }
    list.push_back(std::move(object));
  }
  return list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// The first line of a cell: messages have several.
std::string lineOf(const std::optional<std::string>& cell) {
  return cell ? cell->substr(0, cell->find('\n')) : std::string();
}

std::string renderText(const Store::Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    widths.push_back(table.columns[c].size());
    for (const auto& row : table.rows)
      widths[c] = std::max(widths[c], lineOf(row[c]).size());
  }
  std::string out;
  const auto line = [&](auto&& cell, auto&& isNumber) {
    std::string text;
    for (std::size_t c = 0; c < widths.size(); ++c)
      text += isNumber(c) ? fmt::format("{:>{}}  ", cell(c), widths[c]) : fmt::format("{:<{}}  ", cell(c), widths[c]);
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([&](std::size_t c) { return table.columns[c]; },
       [&](std::size_t c) { return !table.rows.empty() && table.isNumber[0][c]; });
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    line([&](std::size_t c) { return lineOf(table.rows[r][c]); },
         [&](std::size_t c) -> bool { return table.isNumber[r][c]; });
  return out;
}

} // namespace

std::string render(const Store::Table& table, TableFormat format) {
  switch (format) {
  case TableFormat::Csv: return renderCsv(table);
  case TableFormat::Json: return renderJson(table);
  case TableFormat::Text: break;
  }
  return renderText(table);
}

} // namespace orias::lab
