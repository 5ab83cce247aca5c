// Does a program with all third-party libraries inside link? StaticPrograms.cmake asks.
#include <antlr4-runtime.h>
#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <gelf.h>

int main(int argc, char** argv) {
  antlr4::CommonToken token(1);
  boost::program_options::options_description options(fmt::format("{} {:>8.3f} {:#x}", argv[0], 0.5 * argc, argc));
  boost::program_options::variables_map values;
  boost::program_options::store(boost::program_options::parse_command_line(argc, argv, options), values);
  return elf_version(EV_CURRENT) == EV_NONE || token.getType() != 1;
}
