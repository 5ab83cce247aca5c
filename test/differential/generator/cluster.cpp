#include "test/differential/generator/function_writer.h"
#include "test/differential/generator/layout.h"

// Accesses of the blocks of a cluster to each other's shared memory. All threads of the cluster reach these statements
// together: they are at top level, where no thread has exited.

namespace orias::generator {

void FunctionWriter::clusterBarrier() {
  switch (random_.below(5)) {
  case 0: emit("barrier.cluster.arrive.aligned"), emit("barrier.cluster.wait.aligned"); break;
  case 1: emit("barrier.cluster.arrive.release"), emit("barrier.cluster.wait.acquire"); break;
  case 2:
    emit("fence.acq_rel.cluster");
    emit("barrier.cluster.arrive.relaxed");
    emit("barrier.cluster.wait");
    break;
  default: emit("barrier.cluster.arrive"), emit("barrier.cluster.wait"); break;
  }
}

std::string FunctionWriter::otherRank(bool differsInBlock) {
  std::string rank = fresh(Kind::B32);
  const unsigned choice = random_.below(differsInBlock ? 3 : 2);
  if (choice == 2) {
    emit("rem.u32 {}, {}, {}", rank, readRegister(Kind::B32), module_.clusterBlocks);
    return rank;
  }
  emit("mov.u32 {}, %cluster_ctarank", rank);
  emit("add.u32 {}, {}, {}", rank, rank, random_.between(0, module_.clusterBlocks - 1));
  emit("rem.u32 {}, {}, {}", rank, rank, module_.clusterBlocks);
  return rank;
}

std::pair<const char*, std::string> FunctionWriter::inOtherBlock(const std::string& address, const std::string& rank) {
  const unsigned choice = random_.below(3);
  if (choice == 0) { // a generic address
    std::string generic = fresh(Kind::B64), there = fresh(Kind::B64);
    emit("cvt.u64.u32 {}, {}", generic, address);
    emit("cvta.shared.u64 {}, {}", generic, generic);
    emit("mapa.u64 {}, {}, {}", there, generic, rank);
    return {"", there};
  }
  std::string there = fresh(Kind::B32);
  emit("mapa.shared::cluster.u32 {}, {}, {}", there, address, rank);
  if (choice == 1) return {".shared::cluster", there};
  std::string generic = fresh(Kind::B64);
  emit("cvt.u64.u32 {}, {}", generic, there);
  emit("cvta.shared::cluster.u64 {}, {}", generic, generic);
  return {"", generic};
}

// Every thread writes its own slot, in this or another block; then a barrier; then every thread reads a slot in this or
// the other block; then a barrier.
void FunctionWriter::clusterExchange() {
  module_.usesShared = true;
  constexpr unsigned kWidths[] = {2, 4, 4, 8, 16};
  const unsigned bytes = random_.pick(kWidths);
  if (random_.percent(50)) {
    storeTo(".shared", "%shx", bytes);
  } else {            // all threads use the same distance to the other block, so no two threads write to one slot
    clusterBarrier(); // exchanges within the blocks are complete
    const auto [space, there] = inOtherBlock("%shx", otherRank(false));
    storeTo(space, there, bytes);
  }
  clusterBarrier();
  std::string other = fresh(Kind::B32), address = fresh(Kind::B32);
  emit("rem.u32 {}, {}, {}", other, readRegister(Kind::B32), module_.threads);
  emit("mov.u32 {}, shx{}", address, module_.suffix);
  emit("mad.lo.u32 {}, {}, {}, {}", address, other, kExchangeBytes, address);
  const auto [space, there] = inOtherBlock(address, otherRank(true));
  loadFrom(space, there, bytes, false);
  clusterBarrier();
}

/// All threads of a block update the slot of one of the blocks; each then reads its own slot.
void FunctionWriter::clusterAtomic() {
  module_.usesShared = true;
  const AtomicForm& form = commutativeForm();
  const std::string name = "sha" + module_.suffix;
  const bool isWide = form.kind == Kind::B64;
  std::string isFirst = fresh(Kind::Pred), address = fresh(Kind::B32);
  emit("setp.eq.u32 {}, %ltid, 0", isFirst);
  clusterBarrier();
  std::string initial = form.kind == Kind::F32 ? "0" : readRegister(isWide ? Kind::B64 : Kind::B32);
  emit("@{} st.shared.b{} [{}], {}", isFirst, isWide ? 64 : 32, name, initial);
  clusterBarrier();
  emit("mov.u32 {}, {}", address, name);
  const auto [space, there] = inOtherBlock(address, otherRank(true));
  commutativeAtomic(space, there, form.operation, form.kind);
  clusterBarrier();
  std::string sum = fresh(form.kind);
  emit("ld.shared.{} {}, [{}]", info(form.kind).type, sum, name);
  addValue(form.kind, sum, true);
}

} // namespace orias::generator
