#include "test/forms/protocols.h"
#include "test/forms/textures.h"
#include "test/forms/values.h"

#include <numeric>

// Textures and surfaces. The handle is a parameter; in every other statement it is a value unknown to compilers.

namespace orias::forms {

bool writeTexture(KernelWriter& w) {
  const Statement& statement = w.statement();
  if (!isOnTexture(statement)) return false;
  w.sources([&](unsigned number) { return textureValues(statement, number, w.lanes(), w.seed() + number); });
  const auto texels = static_cast<int>(w.launch().buffers.size());
  launch::Texture texture = textureFor(statement, texels);
  w.wholeBuffer("%x0", std::string(kTexels), texelsFor(statement, w.seed() + 2000).initial, texture.type);
  w.launch().textures.push_back(std::move(texture));
  w.parameter("%x0", kImage, launch::textureHandle(0));
  if (statement.hasSamplers) {
    launch::Texture& image = w.launch().textures.back();
    w.launch().samplers.push_back(samplerFor(image));
    w.parameter("%x1", kSampler, launch::textureHandle(0));
  }
  const unsigned sum = std::accumulate(statement.text.begin(), statement.text.end(), 0u,
                                       [](unsigned all, char c) { return all + static_cast<unsigned char>(c); });
  if (sum % 2)
    w.put("  mov.u32 %carry, %ctaid.x;\n  shr.u32 %carry, %carry, 30;\n  cvt.u64.u32 %half0, %carry;\n"
          "  add.u64 %x0, %x0, %half0;\n");
  for (unsigned k = 0; k < w.uses(Role::Address); ++k)
    w.put("  mov.b64 {}, {};\n", w.use(Role::Address, k).name,
          w.use(Role::Address, k).operand == kSampler ? "%x1" : "%x0");
  w.putStatement();
  w.results();
  return true;
}

} // namespace orias::forms
