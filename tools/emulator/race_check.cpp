#include "tools/emulator/race_check.h"

namespace orias::emu {

RaceCheck::Conflict RaceCheck::note(const Access& access) {
  Conflict conflict;
  const auto report = [&](bool withWrite, std::uint16_t warp, std::size_t offset) {
    if (!conflict.found) conflict = {true, withWrite, warp, offset};
  };
  for (std::size_t k = 0; k < access.size && access.offset + k < bytes_.size(); ++k) {
    Byte& byte = bytes_[access.offset + k];
    const bool wasWritten = byte.writeEpoch == epoch_;
    const bool bothAtomic = wasWritten && byte.isAtomicWrite && access.isAtomic;
    if (wasWritten && !bothAtomic) {
      const bool sameInstruction = access.isWrite && byte.writer == access.warp &&
                                   byte.instruction == access.instruction && access.data &&
                                   byte.value != access.data[k];
      if (byte.writer != access.warp || sameInstruction) report(true, byte.writer, access.offset + k);
    }
    if (access.isWrite) {
      // The read of an atomic is part of its write.
      if (byte.readEpoch == epoch_)
        for (const std::uint16_t reader : byte.readers)
          if (reader != kNone && reader != access.warp) report(false, reader, access.offset + k);
      byte.writeEpoch = epoch_;
      byte.writer = access.warp;
      byte.isAtomicWrite = access.isAtomic;
      byte.instruction = access.instruction;
      if (access.data) byte.value = access.data[k];
    } else if (!access.isAtomic) {
      if (byte.readEpoch != epoch_) byte.readers[0] = byte.readers[1] = kNone;
      byte.readEpoch = epoch_;
      if (byte.readers[0] == kNone || byte.readers[0] == access.warp)
        byte.readers[0] = access.warp;
      else
        byte.readers[1] = access.warp;
    }
  }
  return conflict;
}

} // namespace orias::emu
