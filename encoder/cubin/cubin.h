#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "encoder/cubin/attributes.h"
#include "encoder/cubin/module.h"

namespace orias::cubin {

/// The ELF file of a module. The same module gives the same bytes. Throws orias::Error for facts that do not fit
/// together (a relocation to a symbol that is not there, a variable that overlaps another, code that is not whole
/// instructions).
std::vector<std::byte> write(const Module& module);

/// What a cubin says: of orias or of ptxas, sm_75 to sm_90. Throws orias::Error for a file that is not a cubin, is
/// corrupt, or is for another target. Attributes that have no field are kept in `Function::otherAttributes`.
Module read(std::span<const std::byte> file);

/// The raw attribute lists of a cubin, in the order of its sections.
struct AttributeList {
  std::string section; ///< ".nv.info", ".nv.info.<kernel>" or ".nv.compat"
  std::vector<Attribute> attributes;
};
std::vector<AttributeList> readAttributes(std::span<const std::byte> file);

} // namespace orias::cubin
