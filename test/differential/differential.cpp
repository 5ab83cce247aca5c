#include "test/differential/campaign.h"

#include <exception>
#include <iostream>

// Runs random programs through all compilers and engines: see README.md. Exit status 0: all are good or unsupported; 1:
// a failure; 2: usage.

int main(int argc, char** argv) {
  try {
    const auto settings = orias::differential::readSettings(argc, argv);
    if (!settings) return 0;
    return orias::differential::runCampaign(*settings) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "orias_differential: " << error.what() << '\n';
    return 2;
  }
}
