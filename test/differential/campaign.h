#pragma once

#include "test/differential/settings.h"

namespace orias::differential {

/// Runs all programs of the settings, in several threads. Prints failures as they are found (in the order of the
/// seeds), then a summary for each profile. Returns true if nothing failed.
bool runCampaign(const Settings& settings);

} // namespace orias::differential
