#include "tools/gpu/suite/plan.h"

#include "support/check.h"
#include "tools/common/files.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orias::gpu {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kIndex = "index.json";
/// A process reads whole batches. Large ones compress better, small ones are read faster.
constexpr std::size_t kBatchCases = 200, kBatchBytes = 4u << 20;

std::size_t sizeOf(const Case& c) {
  std::size_t bytes = 1000;
  for (const Candidate& candidate : c.candidates)
    bytes += candidate.cubin.size();
  for (const launch::Buffer& buffer : c.launch.buffers)
    bytes += buffer.initial.size();
  for (const std::vector<std::byte>& buffer : c.memory)
    bytes += buffer.size();
  return bytes;
}

} // namespace

Plan readPlan(const std::string& folder) {
  const fs::path at(folder);
  try {
    const Json index = Json::parse(tools::readWholeFile((at / kIndex).string()));
    Plan plan;
    plan.made = index.at("made");
    plan.chip = index.at("chip");
    for (const Json& batch : index.at("batches")) {
      const Json& cases = batch.at("cases");
      for (std::size_t number = 0; number < cases.size(); ++number) {
        const Json& candidates = cases[number].at("candidates");
        for (std::size_t k = 0; k < candidates.size(); ++k)
          plan.items.push_back({plan.batches.size(), number, k, cases[number].at("group"), cases[number].at("name"),
                                cases[number].at("family"), candidates[k]});
      }
      plan.batches.push_back((at / batch.at("file").get<std::string>()).string());
    }
    return plan;
  } catch (const Json::exception& error) {
    throw Error(fmt::format("'{}' is corrupt: {}", (at / kIndex).string(), error.what()));
  }
}

PlanWriter::PlanWriter(std::string folder, std::string made, std::string chip)
    : folder_(std::move(folder)), made_(std::move(made)), chip_(std::move(chip)) {
  fs::create_directories(folder_);
}

void PlanWriter::add(Case c) {
  if (!batch_.empty() && (batch_.front().group != c.group || batch_.size() >= kBatchCases || batchBytes_ > kBatchBytes))
    writeBatch();
  batchBytes_ += sizeOf(c);
  batch_.push_back(std::move(c));
}

void PlanWriter::writeBatch() {
  if (batch_.empty()) return;
  const std::string file = fmt::format("{:03}-{}.cases", index_.size(), batch_.front().group);
  Json cases = Json::array();
  for (const Case& c : batch_) {
    Json names = Json::array();
    for (const Candidate& candidate : c.candidates)
      names.push_back(candidate.name);
    cases.push_back({{"group", c.group}, {"name", c.name}, {"family", c.family}, {"candidates", std::move(names)}});
  }
  const std::string path = (fs::path(folder_) / file).string();
  writeCases(path, batch_);
  bytes_ += fs::file_size(path);
  index_.push_back(Json{{"file", file}, {"cases", std::move(cases)}}.dump());
  batch_.clear();
  batchBytes_ = 0;
}

void PlanWriter::finish() {
  writeBatch();
  std::string text =
      fmt::format("{{\"made\": {}, \"chip\": {}, \"batches\": [\n", Json(made_).dump(), Json(chip_).dump());
  for (std::size_t i = 0; i < index_.size(); ++i)
    text += index_[i] + (i + 1 < index_.size() ? ",\n" : "\n");
  tools::writeWholeFile((fs::path(folder_) / kIndex).string(), text + "]}\n");
}

} // namespace orias::gpu
