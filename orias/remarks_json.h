#pragma once

#include "orias/function_job.h"
#include "orias/module_remarks.h"

#include <memory>
#include <span>
#include <string>

namespace orias {

/// The decisions of the module phases and of the phases of all functions, as a JSON array of records: function, phase,
/// done, message, cost, line.
std::string remarksJson(std::span<const ModuleRemark> ofModules, std::span<const std::unique_ptr<FunctionJob>> jobs);

} // namespace orias
