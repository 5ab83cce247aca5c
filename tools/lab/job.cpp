#include "tools/lab/job.h"

#include "support/check.h"
#include "tools/common/files.h"
#include "tools/engines/engines.h"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace orias::lab {

using nlohmann::json;

namespace {

/// Parts with their lengths in front, so that no two lists give the same text.
void append(std::string& to, std::string_view part) {
  to += fmt::format("{}:{}", part.size(), part);
}

void append(std::string& to, const std::vector<std::string>& parts) {
  to += fmt::format("[{}]", parts.size());
  for (const std::string& part : parts)
    append(to, part);
}

} // namespace

std::string hashOf(std::string_view bytes) {
  boost::uuids::name_generator_sha1 generator(boost::uuids::ns::oid());
  return boost::uuids::to_string(generator(bytes.data(), bytes.size()));
}

std::string_view assemblerName(Assembler assembler) {
  return assembler == Assembler::Orias ? "orias" : "ptxas";
}

std::string writeJob(const Job& job) {
  return json{{"assembler", assemblerName(job.assembler)},
              {"ptx", job.ptxFile},
              {"launch", job.launchFile},
              {"chip", job.chip},
              {"options", job.options},
              {"knobs", job.knobs},
              {"disabled", job.disabled},
              {"swapped", job.swapped},
              {"seconds", job.limits.seconds},
              {"megabytes", job.limits.megabytes},
              {"instructions", job.limits.instructions}}
      .dump();
}

Job parseJob(std::string_view text) {
  const json from = json::parse(text);
  Job job;
  job.assembler = from.at("assembler") == "ptxas" ? Assembler::Ptxas : Assembler::Orias;
  job.ptxFile = from.at("ptx");
  job.launchFile = from.at("launch");
  job.chip = from.at("chip");
  job.options = from.at("options").get<std::vector<std::string>>();
  job.knobs = from.at("knobs").get<std::vector<std::string>>();
  job.disabled = from.at("disabled").get<std::vector<std::string>>();
  job.swapped = from.at("swapped").get<std::vector<std::string>>();
  job.limits = {from.at("seconds"), from.at("megabytes"), from.at("instructions")};
  return job;
}

std::string jobId(const Job& job, std::string_view version) {
  std::string all;
  append(all, version);
  append(all, assemblerName(job.assembler));
  append(all, tools::readWholeFile(job.ptxFile));
  append(all, job.launchFile.empty() ? "" : tools::readWholeFile(job.launchFile));
  append(all, job.chip);
  append(all, job.options);
  append(all, job.knobs);
  append(all, job.disabled);
  append(all, job.swapped);
  append(all, fmt::format("{} {} {}", job.limits.seconds, job.limits.megabytes, job.limits.instructions));
  return hashOf(all);
}

std::string commandOf(const Job& job) {
  std::string command = fmt::format("{} -arch={}", assemblerName(job.assembler), job.chip);
  for (const std::string& option : job.options)
    command += " " + option;
  for (const std::string& knob : job.knobs)
    command += " --knob " + knob;
  for (const std::string& phase : job.disabled)
    command += " --disable-phase=" + phase;
  if (!job.swapped.empty()) command += fmt::format(" --swap-phases={}", fmt::join(job.swapped, ","));
  return command + fmt::format(" '{}'", job.ptxFile);
}

std::string versionOfPrograms() {
  std::string all;
  append(all, tools::readWholeFile("/proc/self/exe"));
  append(all, engines::ptxasVersion());
  return hashOf(all);
}

} // namespace orias::lab
