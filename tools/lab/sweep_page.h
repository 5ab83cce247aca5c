#pragma once

#include "tools/lab/store.h"

#include <string>

namespace orias::lab {

/// The results of a store as a page for users: tables, plots and the effect of each setting (docs/report.md). `name` is
/// the title. With `asJson` the document that the page shows (tools/report/sweep.schema.json).
std::string sweepPage(Store& store, const std::string& name, bool asJson = false);

} // namespace orias::lab
