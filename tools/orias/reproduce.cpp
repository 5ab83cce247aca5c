#include "tools/orias/reproduce.h"

#include "tools/common/files.h"
#include "tools/orias/help.h"

#include <filesystem>
#include <fmt/format.h>

namespace orias::driver {

namespace fs = std::filesystem;
using tools::writeWholeFile;

void writeReproducer(const CommandLine& line, std::span<const Input> inputs) {
  fs::path directory = line.reproduceDirectory;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw Error(fmt::format("cannot create '{}': {}", directory.string(), error.message()));

  std::string names;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::string name = fmt::format("input{}.ptx", i);
    writeWholeFile((directory / name).string(), inputs[i].text);
    names += " " + name;
  }
  std::string options;
  for (const std::string& word : line.optionWords)
    options += word + '\n';
  if (!line.options.knobs.empty()) {
    std::string knobs;
    for (const std::string& setting : line.options.knobs)
      knobs += setting + '\n';
    writeWholeFile((directory / "knobs").string(), knobs);
    options += "--knobs-file=knobs\n";
  }
  writeWholeFile((directory / "options").string(), options);
  writeWholeFile((directory / "README").string(),
                 fmt::format("{}\nIn this folder: orias -optf options{} -o out.cubin\n", versionText(), names));
}

} // namespace orias::driver
