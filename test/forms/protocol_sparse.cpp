#include "test/forms/protocols.h"
#include "test/forms/values.h"

// mma.sp: the product once for each selector. The metadata differs in every lane, so the result shows which lanes and
// bits are read.

namespace orias::forms {

using ptx::Mod;
using ptx::Op;

bool writeSparse(KernelWriter& w) {
  if (w.form().op != Op::Mma || w.form().get(ptx::Slot::Sparsity) == Mod::None) return false;
  w.sources();
  for (unsigned selector = 0; selector < sparseSelectors(w.form()); ++selector) {
    std::string text = w.statement().text;
    if (const std::size_t at = text.rfind(", 0;"); at != std::string::npos)
      text.replace(at, 4, fmt::format(", {};", selector));
    w.put("  {}\n", text);
    w.results();
  }
  return true;
}

} // namespace orias::forms
