#include "tools/lab/sweep_page.h"

#include "tools/lab/export_query.h"
#include "tools/report/page.h"

#include <nlohmann/json.hpp>

namespace orias::lab {

using nlohmann::ordered_json;

std::string sweepPage(Store& store, const std::string& name, bool asJson) {
  const Store::Table table = store.query(kExportQuery);
  ordered_json rows = ordered_json::array();
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    ordered_json row = ordered_json::array();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const auto& cell = table.rows[r][c];
      if (!cell)
        row.push_back(nullptr);
      else if (table.isNumber[r][c])
        row.push_back(std::stod(*cell));
      else
        row.push_back(*cell);
    }
    rows.push_back(std::move(row));
  }
  const ordered_json document = {{"format", "orias-sweep"},
                                 {"version", 1},
                                 {"store", name},
                                 {"columns", table.columns},
                                 {"rows", std::move(rows)}};
  return asJson ? report::jsonText(document) : report::sweepPage(document);
}

} // namespace orias::lab
