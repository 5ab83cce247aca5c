#pragma once

#include <string>

namespace orias::launch {

/// Why an access to tensor memory, a product or a copy of a tensor is not possible: the kind of the report, and its
/// text.
struct TensorFault {
  std::string kind, text;
};

} // namespace orias::launch
