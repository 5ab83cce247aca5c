#include "regalloc/quad_textures.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/module.h"

#include <vector>

namespace orias::regalloc {

using isa::File;
using isa::Mod;
using ori::Op;
using IsaOperand = isa::Operand;

namespace {

constexpr unsigned kLanes = 4; ///< of a quad
constexpr std::int32_t kWithinQuad = 0x1c03;

/// Mod::Geometry of textures.
constexpr unsigned kCube = 3, kFirstWithLayers = 4, kCubeLayers = 7;

class Expansion {
 public:
  Expansion(ori::Function& function, ori::Instr& from, std::uint32_t first)
      : from_(from), b_(ori::Builder::before(function, &from)), first_(first),
        saved_(IsaOperand::physical(File::B, function.module().target().registerCount(File::B) - 1)),
        isMissing_(IsaOperand::physical(File::P, function.module().target().registerCount(File::P) - 1)) {
    b_.setSource(from.source);
  }

  void run() {
    // The results may share registers with the sources, so the handle is copied first: later lanes may still need it.
    if (mod(Mod::Bindless) != 0) b_.emit(Op::MOV, {own(kHandle), word(isa::SlotId::Rb, 0)});
    for (unsigned lane = 0; lane < kLanes; ++lane)
      takeTurn(lane);
  }

 private:
  // Layout of the reserved registers: coordinates, then the texel; derivatives by x, then the other operands of TEX;
  // derivatives by y, then the texel in transfer.
  IsaOperand own(unsigned number, unsigned width = 1) const {
    return IsaOperand::physical(File::R, first_ + number, width);
  }
  static constexpr unsigned kCoordinates = 0, kByX = 4, kByY = 8, kRest = 4, kTexel = 0, kMoved = 8, kWho = 11,
                            kScratch = 10, kHandle = 7, kMissing = 4, kMovedMissing = 5;

  unsigned mod(Mod kind) const { return isa::getMod(from_.op, from_.mods, kind); }
  IsaOperand slot(isa::SlotId name) const { return from_.op_(isa::desc(from_.op).slot(name)).value(); }
  /// An operand that may be RZ, as an immediate 0 then.
  IsaOperand number(isa::SlotId name) const { return slot(name).isZeroReg() ? IsaOperand::immediate(0) : slot(name); }
  IsaOperand word(isa::SlotId name, unsigned at) const { return ori::component(slot(name), at); }

  void take(unsigned to, const IsaOperand& from, const IsaOperand& lane) {
    b_.emit(Op::SHFL, {IsaOperand::pt(), own(to), from, lane, IsaOperand::immediate(kWithinQuad)},
            {{Mod::ShflMode, isa::ShflMode::IDX}});
  }

  void takeTurn(unsigned lane) {
    b_.emit(Op::BMOV_FROM_ACTIVE, {saved_});
    b_.emit(Op::BMOV_TO_ACTIVE, {saved_}, {{Mod::Sub, 1}});
    const bool hasHandle = mod(Mod::Bindless) != 0;
    const IsaOperand who = hasHandle ? lastingLane(lane) : IsaOperand::immediate(static_cast<std::int32_t>(lane));
    const unsigned geometry = mod(Mod::Geometry), layers = geometry >= kFirstWithLayers ? 1 : 0;
    const unsigned coordinates = slot(isa::SlotId::Ra).width, derivatives = slot(isa::SlotId::Rx).width;
    for (unsigned w = 0; w < coordinates; ++w)
      take(kCoordinates + w, word(isa::SlotId::Ra, w), who);
    for (unsigned d = 0; d < derivatives; ++d) {
      take(kByX + d, word(isa::SlotId::Rx, d), who);
      take(kByY + d, word(isa::SlotId::Ry, d), who);
      const IsaOperand sum = own(kCoordinates + layers + d);
      b_.emit(Op::FSWZADD_RIGHT, {sum, own(kByX + d), sum});
      b_.emit(Op::FSWZADD_BELOW, {sum, own(kByY + d), sum});
    }
    if (geometry == kCube || geometry == kCubeLayers) projectOnCube(kCoordinates + layers);
    const IsaOperand rest = slot(isa::SlotId::Rb);
    const unsigned restWords = rest.isZeroReg() ? 0 : rest.width;
    for (unsigned w = 0; w < restWords; ++w)
      take(kRest + w, hasHandle && w == 0 ? own(kHandle) : ori::component(rest, w), who);
    read(hasHandle, coordinates, restWords);
    // The first lane's texel is the one at the unshifted coordinates; the other lanes' turns take it.
    unsigned texel = kTexel, missing = kMissing;
    const bool hasPredicate = !slot(isa::SlotId::Rp).isZeroReg();
    if (hasPredicate)
      b_.emit(Op::SEL, {own(kMissing), IsaOperand::rz(), IsaOperand::immediate(1), isMissing_.notted()});
    if (lane != 0) {
      for (unsigned c = 0; c < kLanes; ++c)
        take(kMoved + c, own(kTexel + c), IsaOperand::immediate(0));
      texel = kMoved;
      if (hasPredicate) take(kMovedMissing, own(kMissing), IsaOperand::immediate(0));
      missing = kMovedMissing;
    }
    b_.emit(Op::BMOV_TO_ACTIVE, {saved_});
    for (unsigned c = 0; c < kLanes; ++c)
      if (const IsaOperand to = word(c < 2 ? isa::SlotId::Rd : isa::SlotId::Rd2, c % 2); !to.isZeroReg())
        b_.emit(Op::MOV, {to, own(texel + c), IsaOperand::immediate(1 << lane)});
    if (hasPredicate) b_.emit(Op::MOV, {slot(isa::SlotId::Rp), own(missing), IsaOperand::immediate(1 << lane)});
  }

  /// The number of `lane` if that lane is active, otherwise of another active one: registers of lanes that were woken
  /// do not hold a valid texture handle. It is found in the mask of active lanes: the bits of the quad are doubled, so
  /// that the search can start from any lane.
  IsaOperand lastingLane(unsigned lane) {
    const IsaOperand who = own(kWho), scratch = own(kScratch);
    constexpr std::int32_t kLaneId = 0; // the special register
    b_.emit(Op::BMOV_R, {who, saved_});
    b_.emit(Op::S2R, {scratch, IsaOperand::immediate(kLaneId)});
    and_(scratch, 0x1c);
    b_.emit(Op::SHF, {who, IsaOperand::rz(), scratch, who},
            {{Mod::ShiftDir, isa::ShiftDir::R}, {Mod::ShiftType, isa::ShiftType::U32}, {Mod::Hi, 1}});
    and_(who, 0xf);
    b_.emit(Op::IMAD, {who, who, IsaOperand::immediate(0x11), IsaOperand::rz()}, {{Mod::Type, isa::IntType::U32}});
    and_(who, 0xff & ~((1 << lane) - 1));
    b_.emit(Op::BREV, {who, who});
    b_.emit(Op::FLO, {who, IsaOperand::pt(), who}, {{Mod::Type, isa::IntType::U32}, {Mod::Sub, 1}});
    return who;
  }
  void and_(const IsaOperand& to, std::int32_t mask) {
    constexpr std::int32_t kAnd = 0xc0;
    b_.emit(Op::LOP3, {IsaOperand::pt(), to, to, IsaOperand::immediate(mask), IsaOperand::rz(),
                       IsaOperand::immediate(kAnd), IsaOperand::pt().notted()});
  }

  void projectOnCube(unsigned at) {
    const IsaOperand x = own(at), y = own(at + 1), z = own(at + 2), most = own(kByY), larger = own(kByY + 1);
    const IsaOperand kMax = IsaOperand::pt().notted();
    b_.emit(Op::FMNMX, {larger, x.absolute(), y.absolute(), kMax});
    b_.emit(Op::FMNMX, {most, z.absolute(), larger, kMax});
    b_.emit(Op::MUFU, {most, most}, {{Mod::Func, isa::Mufu::RCP}});
    for (const IsaOperand& coordinate : {x, y, z})
      b_.emit(Op::FMUL, {coordinate, coordinate, most});
  }

  void read(bool hasHandle, unsigned coordinates, unsigned rest) {
    std::vector<IsaOperand> operands{slot(isa::SlotId::Rp).isZeroReg() ? IsaOperand::pt() : isMissing_,
                                     own(kTexel + 2, 2), own(kTexel, 2), own(kCoordinates, coordinates),
                                     rest != 0 ? own(kRest, rest) : IsaOperand()};
    if (!hasHandle) operands.insert(operands.end(), {number(isa::SlotId::bank), number(isa::SlotId::index)});
    constexpr unsigned kAuto = 0, kInQuad = 1;
    const std::vector<isa::ModValue> mods{{Mod::Geometry, mod(Mod::Geometry)},
                                          {Mod::Sub, kAuto},
                                          {Mod::Sub2, mod(Mod::Sub2)},
                                          {Mod::Sub3, kInQuad},
                                          {Mod::Sub4, mod(Mod::Sub4)}};
    b_.emit(hasHandle ? Op::TEX_B : Op::TEX_C, std::span<const IsaOperand>(operands), mods);
  }

  ori::Instr& from_;
  ori::Builder b_;
  std::uint32_t first_;
  IsaOperand saved_, isMissing_;
};

} // namespace

bool hasQuadTextures(const ori::Function& function) {
  if (!function.everHad(Op::TEX_QUAD)) return false;
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block)
      if (instr.op == Op::TEX_QUAD) return true;
  return false;
}

void expandQuadTextures(ori::Function& function, std::uint32_t first) {
  for (ori::Block* block : function.layout())
    function.forEachSafe(*block, [&](ori::Instr& instr) {
      if (instr.op != Op::TEX_QUAD) return;
      Expansion(function, instr, first).run();
      function.erase(&instr);
    });
}

} // namespace orias::regalloc
