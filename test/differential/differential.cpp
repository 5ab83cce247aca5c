#include "test/differential/campaign.h"

#include <exception>
#include <iostream>

// Random programs through everything that compiles or runs them: see README.md. Exit 0: nothing but good and
// unsupported ones; 1: something else; 2: usage.

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
