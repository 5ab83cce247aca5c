#pragma once

#include <cstdint>

#include <elf.h>

#include "encoder/cubin/module.h"

/// Constants of the CUDA variant of ELF (observed; cuobjdump prints the names).
namespace orias::cubin {

inline constexpr std::uint32_t kTypeInfo = 0x70000000;      // CUDA_INFO
inline constexpr std::uint32_t kTypeCallGraph = 0x70000001; // CUDA_CALLGRAPH
inline constexpr std::uint32_t kTypePrototype = 0x70000002; // CUDA_PROTOTYPE
// Sections of object files.
inline constexpr std::uint32_t kTypeGlobal = 0x70000007; // without bytes
inline constexpr std::uint32_t kTypeGlobalInitialised = 0x70000008;
inline constexpr std::uint32_t kTypeShared = 0x7000000a; // without bytes
inline bool hasBytes(std::uint32_t type) {
  return type != SHT_NOBITS && type != kTypeGlobal && type != kTypeShared;
}
inline constexpr std::uint32_t kTypeRelocationActions = 0x7000000b; // .nv.rel.action
inline constexpr std::uint32_t kTypeConstantFirst = 0x70000064;     // bank 0 of an object file; bank n is this + n
inline constexpr std::uint32_t kTypeCompat = 0x70000086;            // CUDA_COMPAT_INFO

inline constexpr std::uint64_t kFlagToolkitNote = 0x2000000;
inline constexpr std::uint64_t kFlagCudaNote = 0x1000000;

inline constexpr std::uint8_t kOtherEntry = 0x10;   // st_other of a kernel
inline constexpr std::uint8_t kOtherManaged = 0x04; // st_other of a managed variable
/// st_other of the variables of object files, by Variable::Space.
inline constexpr std::uint8_t kOtherSpace[] = {0x20, 0x80, 0x40};
inline constexpr std::uint8_t kSymbolCudaObject = 13;      // STT_LOPROC: the type of the symbols of these variables
inline constexpr std::uint8_t kOtherReservedShared = 0xa0; // st_other of the alias of the reserved shared memory

// Types of symbols without a section.
inline constexpr std::uint8_t kSymbolTexture = 10, kSymbolSampler = 11, kSymbolSurface = 12;
inline constexpr std::uint32_t kHandleBytes = 4;
inline constexpr std::uint32_t kTensorRecordBytes =
    0x20; // after the reserved shared memory: the code's records of its tensor memory (observed)
inline constexpr const char* kReservedShared = ".nv.reservedSmem.offset0";
inline constexpr std::uint64_t kDriverWordBytes = 4; ///< the size of the symbols in Module::driverPatches

inline constexpr std::uint64_t kTextAlignment = 128;
inline constexpr std::uint64_t kLargestImage = std::uint64_t{1} << 32;

/// e_flags with the index `section` of `.note.nv.cuinfo`.
inline std::uint32_t flagsWithNote(std::uint32_t flags, std::uint32_t section) {
  return (flags & 0xffffff) | section << 24;
}
inline constexpr std::uint32_t kUsualNoteSection = 6; ///< of files without debug information

inline std::uint8_t elfBinding(Binding binding) {
  switch (binding) {
  case Binding::Local: return STB_LOCAL;
  case Binding::Global: return STB_GLOBAL;
  case Binding::Weak: return STB_WEAK;
  }
  return STB_LOCAL;
}

} // namespace orias::cubin
