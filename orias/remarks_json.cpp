#include "orias/remarks_json.h"

#include <nlohmann/json.hpp>

namespace orias {

std::string remarksJson(std::span<const ModuleRemark> ofModules, std::span<const std::unique_ptr<FunctionJob>> jobs) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ModuleRemark& r : ofModules)
    all.push_back({{"function", r.function},
                   {"phase", std::string(r.phase)},
                   {"done", r.done},
                   {"message", r.message},
                   {"cost", r.cost},
                   {"line", r.line}});
  for (const auto& job : jobs)
    for (const phases::Remark& r : job->remarks().all())
      all.push_back({{"function", job->function().name()},
                     {"phase", std::string(r.phase)},
                     {"done", r.done},
                     {"message", r.message},
                     {"cost", r.cost},
                     {"line", r.ptxLine}});
  // Names may contain any bytes; JSON is UTF-8.
  return all.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

} // namespace orias
