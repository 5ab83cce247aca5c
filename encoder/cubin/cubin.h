#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "encoder/cubin/attributes.h"
#include "encoder/cubin/module.h"

namespace orias::cubin {

/// The ELF file of a module. The same module gives the same bytes. Throws orias::Error for inconsistent modules (a
/// relocation to a missing symbol, overlapping variables, code that ends inside an instruction).
std::vector<std::byte> write(const Module& module);

/// The contents of a cubin of orias or ptxas, sm_75 to sm_121. Throws orias::Error for a file that is not a cubin, is
/// corrupt, or is for another target. Attributes without a field are kept in `Function::otherAttributes`.
Module read(std::span<const std::byte> file);

/// The raw attribute lists of a cubin, in the order of its sections.
struct AttributeList {
  std::string section; ///< ".nv.info", ".nv.info.<kernel>" or ".nv.compat"
  std::vector<Attribute> attributes;
};
std::vector<AttributeList> readAttributes(std::span<const std::byte> file);

} // namespace orias::cubin
