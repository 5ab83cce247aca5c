#include "tools/lab/job.h"

#include "support/check.h"
#include "tools/common/files.h"
#include "tools/engines/engines.h"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <link.h>

namespace orias::lab {

using nlohmann::json;

namespace {

/// Appends a part with its length first, so that different lists give different texts.
void append(std::string& to, std::string_view part) {
  to += fmt::format("{}:{}", part.size(), part);
}

void append(std::string& to, const std::vector<std::string>& parts) {
  to += fmt::format("[{}]", parts.size());
  for (const std::string& part : parts)
    append(to, part);
}

/// The linker's build ID of this program, a hash of its contents; empty if it was linked without.
std::string buildId() {
  std::string id;
  const auto visit = [](dl_phdr_info* object, std::size_t, void* result) {
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
      const auto& segment = object->dlpi_phdr[i];
      if (segment.p_type != PT_NOTE) continue;
      const char* note = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
      const char* const end = note + segment.p_memsz;
      const std::size_t alignment = segment.p_align == 8 ? 8 : 4;
      const auto padded = [&](std::size_t size) { return (size + alignment - 1) / alignment * alignment; };
      while (note + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) header;
        std::memcpy(&header, note, sizeof header);
        const char* const name = note + sizeof header;
        const char* const text = name + padded(header.n_namesz);
        if (header.n_type == NT_GNU_BUILD_ID && std::string_view(name, header.n_namesz) == std::string_view("GNU", 4))
          static_cast<std::string*>(result)->assign(text, header.n_descsz);
        note = text + padded(header.n_descsz);
      }
    }
    return 1; // the program is the first object
  };
  dl_iterate_phdr(visit, &id);
  return id;
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

std::string versionOf(Assembler assembler) {
  std::string all = buildId();
  if (all.empty()) all = tools::readWholeFile("/proc/self/exe");
  if (assembler == Assembler::Ptxas) append(all, engines::ptxasVersion());
  return hashOf(all);
}

Versions::Versions(std::span<const Job> jobs) : orias(versionOf(Assembler::Orias)) {
  const bool needsPtxas = std::ranges::find(jobs, Assembler::Ptxas, &Job::assembler) != jobs.end();
  if (needsPtxas) ptxas = versionOf(Assembler::Ptxas);
}

} // namespace orias::lab
