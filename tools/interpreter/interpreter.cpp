#include "tools/interpreter/interpreter.h"

#include "support/check.h"
#include "tools/interpreter/machine.h"
#include "tools/interpreter/translate.h"

namespace orias::interp {

launch::RunResult run(const ptx::Module& module, launch::Device& device, const launch::RunOptions& options) {
  const launch::Launch& launch = device.launch;
  if (launch.block.count() == 0 || launch.block.count() > 1024) throw Error("a block has between 1 and 1024 threads");
  const std::unique_ptr<Program> program = translate(module, launch.kernel, device);
  std::vector<std::byte> params = device.parameterBytes(program->kernelParams);
  params.resize(program->kernelParamBytes);
  return Machine(*program, device, options, std::move(params)).run();
}

} // namespace orias::interp
