#pragma once

#include "ori/frame_record.h"
#include "ori/function.h"
#include "regalloc/assignment.h"

#include <string>
#include <vector>

namespace orias::regalloc {

/// The categories of all objects, by index in Function::frame. The code has spill code and still virtual registers.
std::vector<ori::FrameCategory> frameCategories(const ori::Function& function, const Assignment& assignment);

/// Which objects no instruction uses, by index in Function::frame. To be called before the layout replaces Frame
/// operands.
std::vector<bool> unnamedObjects(const ori::Function& function);

/// The records, sorted by offset. `dead` and `categories` are those before the layout.
std::vector<ori::FrameRecord> frameRecords(const ori::Function& function, const std::vector<bool>& dead,
                                           const std::vector<ori::FrameCategory>& categories);

/// A table of the records with a header line: the output of knob DumpFrame.
std::string frameTable(const ori::Function& function, const std::vector<ori::FrameRecord>& records);

} // namespace orias::regalloc
