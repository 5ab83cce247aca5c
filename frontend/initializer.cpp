#include "frontend/initializer.h"

#include "frontend/limits.h"

#include <bit>
#include <fmt/format.h>

namespace orias::ptx {

void InitializerBuilder::begin(const Variable& variable) {
  type_ = variable.type;
  open_ = variable.incomplete;
  sizes_.assign(variable.dims.begin(), variable.dims.end());
  if (variable.vectorSize > 1) sizes_.push_back(variable.vectorSize);
  counts_.clear();
  failed_ = false;
  rows_ = 0;
  bytes_.clear();
  addresses_.clear();
}

void InitializerBuilder::error(SourceLoc loc, std::string message, std::string hint) {
  if (!failed_) diags_.error(loc, std::move(message), std::move(hint));
  failed_ = true;
}

void InitializerBuilder::openList(SourceLoc loc) {
  if (counts_.size() >= sizes_.size()) {
    error(loc, sizes_.empty() ? "a scalar takes a single value, not a list" : "too many braces for this variable");
  } else if (!counts_.empty()) {
    const std::size_t level = counts_.size() - 1;
    if (counts_.back() >= sizes_[level] && !(open_ && level == 0)) error(loc, "too many initial values");
  }
  counts_.push_back(0);
}

void InitializerBuilder::closeList() {
  if (counts_.size() == 1) rows_ = counts_.back();
  counts_.pop_back();
  if (!counts_.empty()) ++counts_.back();
}

bool InitializerBuilder::place(SourceLoc loc, std::uint64_t& at) {
  if (failed_) return false;
  if (counts_.size() != sizes_.size()) {
    error(loc, "an array needs braces around its initial values",
          "each dimension and each vector has braces of its own");
    return false;
  }
  std::uint64_t element = 0;
  for (std::size_t level = 0; level < sizes_.size(); ++level) {
    const bool isOpen = open_ && level == 0;
    if (!isOpen && counts_[level] >= sizes_[level]) {
      error(loc, "too many initial values", fmt::format("this dimension has {} elements", sizes_[level]));
      return false;
    }
    element = (level == 0 ? 0 : element * sizes_[level]) + counts_[level];
    if (element >= kMaxInitializerBytes / 16) { // 16: bytes of the largest element
      error(loc, fmt::format("an initializer is longer than {} bytes", kMaxInitializerBytes));
      return false;
    }
  }
  if (!counts_.empty()) ++counts_.back();
  at = element * (bitWidth(type_) / 8);
  return true;
}

void InitializerBuilder::write(std::uint64_t at, std::uint64_t bits) {
  const std::uint64_t size = bitWidth(type_) / 8;
  if (bytes_.size() < at + size) bytes_.resize(at + size);
  for (std::uint64_t i = 0; i < size && i < 8; ++i)
    bytes_[at + i] = static_cast<std::uint8_t>(bits >> (8 * i));
  for (std::uint64_t i = 8; i < size; ++i)
    bytes_[at + i] = 0;
}

void InitializerBuilder::value(Constant constant, SourceLoc loc) {
  std::uint64_t at = 0;
  if (!place(loc, at)) return;
  const unsigned width = bitWidth(type_);
  switch (typeClass(type_)) {
  case TypeClass::Bits:
  case TypeClass::Unsigned:
  case TypeClass::Signed: {
    std::uint64_t bits = constant.bits;
    if (!constant.isInteger()) {
      if (typeClass(type_) != TypeClass::Bits)
        return error(loc, fmt::format("a floating-point value for a .{}", typeName(type_)));
      // A bit type accepts the bits of a float of its size.
      if (width == 32) {
        bits = std::bit_cast<std::uint32_t>(static_cast<float>(constant.asDouble()));
      } else if (width == 64) {
        bits = std::bit_cast<std::uint64_t>(constant.asDouble());
      } else {
        return error(loc, fmt::format("a floating-point value for a .{}", typeName(type_)));
      }
      if (width == 32 && constant.kind == Constant::Kind::Float32Bits) bits = constant.bits;
    }
    return write(at, bits);
  }
  case TypeClass::Float:
    if (constant.isInteger())
      return error(loc, fmt::format("an integer value for a .{}", typeName(type_)),
                   "write the value with a decimal point");
    if (type_ == Type::F32) {
      if (constant.kind == Constant::Kind::Float32Bits) return write(at, constant.bits);
      return write(at, std::bit_cast<std::uint32_t>(static_cast<float>(constant.asDouble())));
    }
    if (type_ == Type::F64) return write(at, std::bit_cast<std::uint64_t>(constant.asDouble()));
    return error(loc, fmt::format("a .{} cannot have an initial value", typeName(type_)),
                 "use .b16 or .b32 with its bits");
  default: return error(loc, fmt::format("a .{} cannot have this initial value", typeName(type_)));
  }
}

void InitializerBuilder::address(InitAddress address, std::uint64_t mask, SourceLoc loc) {
  std::uint64_t at = 0;
  if (!place(loc, at)) return;
  const unsigned size = bitWidth(type_) / 8;
  if (mask != 0) {
    const int byte = std::countr_zero(mask) / 8;
    if (mask != std::uint64_t{0xff} << (byte * 8))
      return error(loc, fmt::format("0x{:x} is not a mask of one byte", mask), "a mask is 0xFF, 0xFF00, 0xFF0000, ...");
    if (type_ != Type::U8 && type_ != Type::U32 && type_ != Type::U64)
      return error(loc, "a masked address needs a .u8 variable");
    address.mask = static_cast<std::uint8_t>(byte + 1);
  } else if (type_ != Type::U32 && type_ != Type::U64) {
    return error(loc, fmt::format("an address for a .{}", typeName(type_)), "the type of an address is .u32 or .u64");
  }
  address.at = at;
  address.size = size;
  addresses_.push_back(address);
  write(at, 0);
}

void InitializerBuilder::end(Variable& variable) {
  if (failed_) return;
  variable.hasInitializer = true;
  variable.init = module_.arena.copyArray<std::uint8_t>(bytes_);
  variable.initAddresses = module_.arena.copyArray<InitAddress>(addresses_);
  if (!open_ || variable.dims.empty()) return;
  std::span<std::uint64_t> dims = module_.arena.copyArray<std::uint64_t>(variable.dims);
  dims[0] = rows_;
  variable.dims = dims;
  variable.incomplete = false;
  variable.elements = 1;
  for (std::uint64_t dim : dims)
    variable.elements *= dim;
}

} // namespace orias::ptx
