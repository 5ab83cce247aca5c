#include "test/forms/protocols.h"

#include <algorithm>
#include <iterator>

namespace orias::forms {

bool writeProtocol(KernelWriter& w) {
  constexpr bool (*kFamilies[])(KernelWriter&) = {
      writeMbarrier, writeCopy,      writeBulkCopy, writeFragment, writeSparse,  writeWarpGroup, writeTensor,
      writeTexture,  writeMulticast, writeSync,     writeControl,  writeAddress, writeHint,      writeTensorMemory};
  return std::any_of(std::begin(kFamilies), std::end(kFamilies), [&](auto write) { return write(w); });
}

bool isProtocol(const Statement& statement) {
  KernelWriter writer(statement, statement.target(), 1);
  return writeProtocol(writer);
}

} // namespace orias::forms
