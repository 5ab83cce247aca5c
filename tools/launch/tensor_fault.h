#pragma once

#include <string>

namespace orias::launch {

/// Why an access to tensor memory, a product or a copy of a tensor cannot be done: the kind of the report, and its
/// text.
struct TensorFault {
  std::string kind, text;
};

} // namespace orias::launch
