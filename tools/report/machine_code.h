#pragma once

// The report's data on the machine code of one function.

#include <nlohmann/json_fwd.hpp>

namespace orias {
class FunctionJob;
}

namespace orias::report {

/// "code" of the report's schema. The job must have made a listing.
nlohmann::ordered_json machineCodeJson(const FunctionJob& job);

/// "occupancy": the launch that it is computed for, and the register counts at which fewer warps fit.
nlohmann::ordered_json occupancyJson(const FunctionJob& job);

} // namespace orias::report
