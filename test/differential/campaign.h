#pragma once

#include "test/differential/settings.h"

namespace orias::differential {

/// All programs of the settings, by several threads: failures as they are found (in the order of the seeds), then a
/// summary for each profile. True when nothing failed.
bool runCampaign(const Settings& settings);

} // namespace orias::differential
