#include "tools/report/page.h"

#include "support/check.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <span>
#include <string_view>
#include <vector>

namespace orias::report {

using nlohmann::ordered_json;

/// Defined in the generated file: a file of web/, or one of the libraries; empty if there is none.
std::string_view pageFile(std::string_view name);

namespace {

std::string compact(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string base64(std::span<const unsigned char> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(bytes.size() - i, 3);
    unsigned word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < left ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= left ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

/// A part of the document: zlib's format in base64, which browsers can decompress.
std::string dataElement(std::string_view id, const ordered_json& json) {
  const std::string text = compact(json);
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::vector<unsigned char> packed(size);
  ORIAS_CHECK(compress2(packed.data(), &size, reinterpret_cast<const Bytef*>(text.data()),
                        static_cast<uLong>(text.size()), Z_DEFAULT_COMPRESSION) == Z_OK,
              "zlib");
  packed.resize(size);
  return fmt::format("<script type=\"application/octet-stream\" id=\"{}\">{}</script>\n", id, base64(packed));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    switch (c) {
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '&': out += "&amp;"; break;
    case '"': out += "&quot;"; break;
    default: out += c;
    }
  return out;
}

std::string element(std::string_view tag, std::string_view file) {
  return fmt::format("<{0}>\n{1}\n</{0}>\n", tag, pageFile(file));
}

/// The template with its marks replaced.
std::string fill(std::string_view page, std::string_view title, std::string_view data,
                 std::span<const std::string_view> scripts) {
  std::string licenses =
      fmt::format("Chart.js\n\n{}\n\ndagre\n\n{}", pageFile("chart-license"), pageFile("dagre-license"));
  std::string code = element("script", "chart.js") + element("script", "dagre.js");
  for (const std::string_view script : scripts)
    code += element("script", script);
  std::string out;
  for (std::string_view rest = pageFile(page); !rest.empty();) {
    const std::size_t mark = std::min(rest.find("{{"), rest.size());
    out += rest.substr(0, mark);
    rest.remove_prefix(mark);
    if (rest.empty()) break;
    const std::size_t end = rest.find("}}");
    const std::string_view name = rest.substr(2, end - 2);
    if (name == "title")
      out += escaped(title);
    else if (name == "style")
      out += element("style", "style.css");
    else if (name == "licenses")
      out += escaped(licenses);
    else if (name == "data")
      out += data;
    else if (name == "scripts")
      out += code;
    else
      throw InternalError(fmt::format("the page has an unknown mark '{}'", name));
    rest.remove_prefix(end + 2);
  }
  return out;
}

} // namespace

std::string jsonText(const ordered_json& document) {
  return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

std::string kernelPage(const ordered_json& document) {
  ordered_json head = document;
  std::string parts;
  for (std::size_t f = 0; f < head["functions"].size(); ++f)
    for (const char* part : {"code", "history", "remarks", "why"}) {
      ordered_json& function = head["functions"][f];
      parts += dataElement(fmt::format("data-{}-{}", f, part), function[part]);
      function.erase(part);
    }
  const auto& inputs = document["inputs"];
  const std::string title = inputs.empty() ? "orias" : inputs[0]["name"].get<std::string>();
  constexpr std::string_view kScripts[] = {"common.js",  "model.js",  "list.js",  "panes.js",
                                           "details.js", "graphs.js", "kernel.js"};
  return fill("kernel.html", title.substr(title.rfind('/') + 1) + " - orias", dataElement("data", head) + parts,
              kScripts);
}

std::string sweepPage(const ordered_json& document) {
  constexpr std::string_view kScripts[] = {"common.js", "list.js", "sweep.js"};
  return fill("sweep.html", document["store"].get<std::string>() + " - orias-lab", dataElement("data", document),
              kScripts);
}

} // namespace orias::report
