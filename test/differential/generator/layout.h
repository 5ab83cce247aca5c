#pragma once

namespace orias::generator {

// The memory of a generated kernel, in bytes and elements; powers of two if an index is masked.

inline constexpr unsigned kInputBytes = 512;          ///< of the buffer of integers
inline constexpr unsigned kFloatInputs = 64;          ///< elements of the buffer of f32
inline constexpr unsigned kDoubleInputs = 32;         ///< elements of the buffer of f64
inline constexpr unsigned kOwnBytes = 32;             ///< of a thread in .local, in .shared, in its scratch record
inline constexpr const char* kPointerParameter = "q"; ///< a generic pointer to the scratch buffer
inline constexpr const char* kStructParameter =
    "qs"; ///< at 8 the same pointer, at 16 one that is half of a thread's own bytes higher
inline constexpr unsigned kOwnAtomicBytes = 16;     ///< of a thread, after its own bytes in the scratch record
inline constexpr unsigned kScratchRecord = 64;      ///< bytes of a thread in the scratch buffer
inline constexpr unsigned kExchangeBytes = 16;      ///< of a thread in .shared
inline constexpr unsigned kTensorColumns = 128;     ///< of tensor memory: half for sums of products
inline constexpr unsigned kMatrixBytes = 8192;      ///< of matrices in .shared, for the tensor unit
inline constexpr unsigned kMatrixBits = 0x81c081c0; ///< the bits of their words that vary
inline constexpr unsigned kMatrixOnes = 0x3c003c00; ///< the bits of their words that are set
inline constexpr unsigned kTableEntries = 16;       ///< of the module variables, 32 bits each
inline constexpr unsigned kMaxRecord = 1024;        ///< bytes of a thread in the output buffer
inline constexpr unsigned kMaxAccumulators = 256;   ///< bytes of the buffer of the atomics

} // namespace orias::generator
