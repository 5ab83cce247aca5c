#pragma once

#include "frontend/lower/lower.h"
#include "orias/function_job.h"

#include <memory>
#include <span>
#include <string>

namespace orias {

/// The calls that lowering did not inline (phase "M5"), and the decisions of all phases in all functions, as a JSON
/// array of records: function, phase, done, message, cost, line.
std::string remarksJson(std::span<const ptx::InlineRemark> calls, std::span<const std::unique_ptr<FunctionJob>> jobs);

} // namespace orias
