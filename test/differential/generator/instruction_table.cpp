#include "test/differential/generator/instruction_table.h"

#include <algorithm>
#include <array>
#include <vector>

namespace orias::generator {

namespace {

using enum Statement;

// Results and operands, one letter each:
//   h r l   16, 32 and 64 bits     f d  f32 and f64     p  predicate
//   q       predicate, possibly negated                 P  (result) one predicate or two, "p|q"
//   K N M   16, 32 and 64 bits for a divisor: never zero
//   c       32 bits, a number of them 0 … 255
//   b       32 bits, 0 ... 255: the manual does not allow greater positions and lengths, and ptxas does not truncate
//           them for 64 bits
//   s       32 bits, 0 ... 31
//   t       32 bits, as f32 neither NaN nor -0
//   A B C   16, 32 and 64 bits in a register, not the most negative number
//   T       32 bits in a register that ptxas cannot assume to be uniform
//   F D     f32 and f64 in a register; the sign of a NaN is known
//   R H     32 and 16 bits in a register, not a literal
//   x       a table of lop3: an 8-bit number
// Braces expand to one row for each of their words.
struct Line {
  Statement group;
  std::string_view opcode;
  std::string_view operands;
};

constexpr Line kLines[] = {
    {Integer16, "{add,sub,mul.lo,mul.hi,min,max}.{u16,s16}", "h=hh"},
    {Integer16, "mul.wide.{u16,s16}", "r=hh"},
    {Integer16, "mad.{lo,hi}.{u16,s16}", "h=hhh"},
    {Integer16, "mad.wide.{u16,s16}", "r=hhr"},
    {Integer16, "{abs,neg}.s16", "h=A"},
    {Integer16, "{not,cnot}.b16", "h=h"},
    {Integer16, "{and,or,xor}.b16", "h=hh"},
    {Integer16, "{shl.b16,shr.u16,shr.s16,shr.b16}", "h=hb"},
    {Integer16, "sad.{u16,s16}", "h=hhh"},
    {Integer16, "{div,rem}.{u16,s16}", "h=hK"},
    {Integer16, "selp.{b16,u16,s16}", "h=hhp"},
    {Integer16, "slct.{b16,u16,s16}.s32", "h=hht"},

    {Integer32, "{add,sub,mul.lo,mul.hi,min,max}.{u32,s32}", "r=rr"},
    {Integer32, "{add,sub}.{u32,s32}", "r=rr"},
    {Integer32, "mul24.{lo,hi}.{u32,s32}", "r=rr"},
    {Integer32, "mad.lo.{u32,s32}", "r=rrr"},
    {Integer32, "mad.{lo,hi}.{u32,s32}", "r=rrr"},
    {Integer32, "mad24.{lo,hi}.{u32,s32}", "r=rrr"},
    {Unusual, "{mad,mad24}.hi.sat.s32", "r=rrr"},
    {Integer32, "sad.{u32,s32}", "r=rrr"},
    {Integer32, "{abs,neg}.s32", "r=B"},
    {Integer32, "{not,popc,clz,brev}.b32", "r=r"},
    {Integer32, "bfind{,.shiftamt}.{u32,s32}", "r=r"},
    {Integer32, "{and,or,xor}.b32", "r=rr"},
    {Integer32, "{and,or,xor}.b32", "r=rr"},
    {Integer32, "{shl.b32,shr.u32,shr.s32,shr.b32}", "r=rr"},
    {Integer32, "bfe.u32", "r=Tcc"},
    {Integer32, "bfe.s32", "r=Tsc"},
    {Integer32, "bfi.b32", "r=rrcs"},
    {Integer32, "prmt.b32", "r=rrr"},
    {Integer32, "prmt.b32.{f4e,b4e,rc8,ecl,ecr,rc16}", "r=rrr"},
    {Integer32, "shf.{l,r}.{wrap,clamp}.b32", "r=rrr"},
    {Integer32, "{div,rem}.{u32,s32}", "r=rN"},
    {Integer32, "szext.{wrap,clamp}.{u32,s32}", "r=rr"},
    {Integer32, "bmsk.{wrap,clamp}.b32", "r=rr"},
    {Integer32, "selp.{b32,u32,s32}", "r=rrp"},
    {Integer32, "slct.{b32,u32,s32}.s32", "r=rrt"},
    {Unusual, "{min,max}.relu.s32", "r=rr"},

    {Integer64, "{add,sub,mul.lo,mul.hi,min,max}.{u64,s64}", "l=ll"},
    {Integer64, "mul.wide.{u32,s32}", "l=rr"},
    {Integer64, "mad.wide.{u32,s32}", "l=rrl"},
    {Integer64, "mad.{lo,hi}.{u64,s64}", "l=lll"},
    {Integer64, "sad.{u64,s64}", "l=lll"},
    {Integer64, "{abs,neg}.s64", "l=C"},
    {Integer64, "{not,cnot,brev}.b64", "l=l"},
    {Integer64, "{popc,clz}.b64", "r=l"},
    {Integer64, "bfind{,.shiftamt}.{u64,s64}", "r=l"},
    {Integer64, "{and,or,xor}.b64", "l=ll"},
    {Integer64, "{shl.b64,shr.u64,shr.s64,shr.b64}", "l=lr"},
    {Integer64, "bfe.{u64,s64}", "l=lbb"},
    {Integer64, "bfi.b64", "l=llbb"},
    {Integer64, "{div,rem}.{u64,s64}", "l=lM"},
    {Integer64, "selp.{b64,u64,s64}", "l=llp"},
    {Integer64, "slct.{b64,u64,s64}.s32", "l=llt"},

    // Errors of ptxas 13.0: it folds `bfe.s32 d, 0, 218, 1` to -1; reads a uniform register for a bfe of a uniform
    // value at divergent positions; inserts no bit for 32 bits of bfi at 1; folds `slct.s32.s32 d, 7, 5, 0x7fffffff` to
    // 5; combines saturating sums with other sums; uses the wrong bits of a lop3's table if two operands are the same;
    // shifts 16 bits by a number modulo 65536 or, for a cnot, by any register; drops the .ftz of a `setp.and` that
    // guards an exit; and assumes that the operand of an absolute value or a negation is not the most negative number.
    {Miscompiled, "bfe.{u32,s32}", "r=rcc"},
    {Miscompiled, "bfi.b32", "r=rrcc"},
    {Miscompiled, "slct.{b16,u16,s16}.s32", "h=hhr"},
    {Miscompiled, "slct.{b32,u32,s32}.s32", "r=rrr"},
    {Miscompiled, "slct.{b64,u64,s64}.s32", "l=llr"},
    {Miscompiled, "slct.f32.s32", "f=ffr"},
    {Miscompiled, "slct.f64.s32", "d=ddr"},
    {Miscompiled, "{add,sub}.sat.s32", "r=rr"},
    {Miscompiled, "lop3.b32", "r=rrrx"},
    {Miscompiled, "{shl.b16,shr.u16,shr.s16,shr.b16}", "h=hr"},
    {Miscompiled, "cnot.b32", "r=r"},
    {Miscompiled, "setp.{lt,geu,num}.{and,or,xor}.ftz.f32", "P=ffq"},
    {Miscompiled, "{abs,neg}.s16", "h=h"},
    {Miscompiled, "{abs,neg}.s32", "r=r"},
    {Miscompiled, "{abs,neg}.s64", "l=l"},

    {Unusual, "{add,min,max}.{u16x2,s16x2}", "r=RR"},
    {Unusual, "{min,max}.relu.s16x2", "r=RR"},
    {Unusual, "dp4a.{u32,s32}.{u32,s32}", "r=rrr"},
    {Unusual, "dp2a.{lo,hi}.{u32,s32}.{u32,s32}", "r=rrr"},

    {IntegerCast, "cvt.{u16,s16,u8,s8}.{u32,s32}", "h=r"},
    {IntegerCast, "cvt.{u16,s16,u8,s8}.{u64,s64}", "h=l"},
    {IntegerCast, "cvt.{u16,s16}.{u8,s8}", "h=h"},
    {IntegerCast, "cvt.{u8,s8}.{u16,s16}", "h=h"},
    {IntegerCast, "cvt.{u32,s32}.{u16,s16,u8,s8}", "r=h"},
    {IntegerCast, "cvt.{u32,s32}.{u8,s8,u16,s16}", "r=r"},
    {IntegerCast, "cvt.{u32,s32}.{u64,s64}", "r=l"},
    {IntegerCast, "cvt.{u64,s64}.{u16,s16,u8,s8}", "l=h"},
    {IntegerCast, "cvt.{u64,s64}.{u32,s32}", "l=r"},
    {IntegerCast, "cvt.sat.{u8,s8}.{u16,s16}", "h=h"},
    {IntegerCast, "cvt.sat.{u8,s8,u16,s16}.{u32,s32}", "h=r"},
    {IntegerCast, "cvt.sat.{u8,s8,u16,s16}.{u64,s64}", "h=l"},
    {IntegerCast, "cvt.sat.{u32,s32}.{u64,s64}", "r=l"},
    {IntegerCast, "cvt.sat.{u32.s32,s32.u32}", "r=r"},

    {Float32, "{add,sub,mul}.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32", "f=ff"},
    {Float32, "{add,sub,mul}.rn.f32", "f=ff"},
    {Float32, "fma.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32", "f=fff"},
    {Float32, "fma.rn.f32", "f=fff"},
    {Float32, "{min,max}{,.ftz}{,.NaN}.f32", "f=ff"},
    {Float32, "{abs,neg}{,.ftz}.f32", "f=f"},
    {Float32, "div.{rz,rm,rp}.f32", "f=ff"},
    {Unusual, "div.{rz,rm,rp}.ftz.f32", "f=ff"},
    {Float32, "div.rn.ftz.f32", "f=ff"},
    {Float32, "div.rn.f32", "f=ff"},
    {Float32, "{sqrt,rcp}.{rz,rm,rp}.f32", "f=f"},
    {Unusual, "{sqrt,rcp}.{rz,rm,rp}.ftz.f32", "f=f"},
    {Float32, "{sqrt,rcp}.rn.ftz.f32", "f=f"},
    {Float32, "{sqrt,rcp}.rn.f32", "f=f"},
    {Float32, "copysign.f32", "f=Ff"},
    {Float32, "selp.f32", "f=ffp"},
    {Float32, "slct{,.ftz}.f32.f32", "f=fff"},
    {Float32, "slct.f32.s32", "f=fft"},

    {Float64, "{add,sub,mul}.{rn,rz,rm,rp}.f64", "d=dd"},
    {Float64, "fma.{rn,rz,rm,rp}.f64", "d=ddd"},
    {Float64, "{min,max}.f64", "d=dd"},
    {Float64, "{abs,neg}.f64", "d=d"},
    {Float64, "div.{rn,rz,rm,rp}.f64", "d=dd"},
    {Float64, "{sqrt,rcp}.{rn,rz,rm,rp}.f64", "d=d"},
    {Float64, "copysign.f64", "d=Dd"},
    {Float64, "selp.f64", "d=ddp"},
    {Float64, "slct.f64.s32", "d=ddt"},

    {Half, "{add,sub,mul}.rn{,.ftz}{,.sat}.f16", "h=HH"},
    {Half, "{add,sub,mul}.rn{,.ftz}{,.sat}.f16x2", "r=RR"},
    {Half, "fma.rn{,.ftz}{,.sat,.relu}.f16", "h=HHH"},
    {Half, "fma.rn{,.ftz}{,.sat,.relu}.f16x2", "r=RRR"},
    {Half, "{min,max}{,.ftz}{,.NaN}.f16", "h=HH"},
    {Half, "{min,max}{,.NaN}.bf16", "h=HH"},
    {Half, "{min,max}{,.ftz}{,.NaN}.f16x2", "r=RR"},
    {Half, "{min,max}{,.NaN}.bf16x2", "r=RR"},
    {Half, "{abs,neg}.{f16,bf16}", "h=H"},
    {Half, "{abs,neg}.{f16x2,bf16x2}", "r=R"},
    {Half, "{add,sub,mul}.rn.bf16", "h=HH"},
    {Half, "{add,sub,mul}.rn.bf16x2", "r=RR"},
    {Half, "fma.rn{,.relu}.bf16", "h=HHH"},
    {Half, "fma.rn{,.relu}.bf16x2", "r=RRR"},
    {Half, "cvt.{rn,rz}{,.relu}.{f16,bf16}.f32", "h=f"},
    {Half, "cvt.{rn,rz}{,.relu}.{f16x2,bf16x2}.f32", "r=ff"},
    {Half, "cvt.{rn,rz,rm,rp}.f16.{u32,s32}", "h=r"},
    {HalfCast, "cvt.f32.{f16,bf16}", "f=H"},
    {HalfCast, "cvt.f64.f16", "d=H"},
    {HalfCast, "cvt.{rni,rzi,rmi,rpi}.{u32,s32}.f16", "r=H"},
    {HalfCast, "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,num,nan}{,.ftz}.f16", "p=HH"},
    {HalfCast, "setp.{eq,lt,geu,nan}.bf16", "p=HH"},

    {FloatCast, "cvt.{rn,rz,rm,rp}.f32.{u16,s16,u8,s8}", "f=h"},
    {FloatCast, "cvt.{rn,rz,rm,rp}.f32.{u32,s32}", "f=r"},
    {FloatCast, "cvt.{rn,rz,rm,rp}.f32.{u64,s64}", "f=l"},
    {FloatCast, "cvt.{rn,rz,rm,rp}.f64.{u16,s16}", "d=h"},
    {FloatCast, "cvt.{rn,rz,rm,rp}.f64.{u32,s32}", "d=r"},
    {FloatCast, "cvt.{rn,rz,rm,rp}.f64.{u64,s64}", "d=l"},
    {FloatCast, "cvt.{rni,rzi,rmi,rpi}{,.ftz}.{u16,s16,u8,s8}.f32", "h=f"},
    {FloatCast, "cvt.{rni,rzi,rmi,rpi}{,.ftz}.{u32,s32}.f32", "r=f"},
    {FloatCast, "cvt.{rni,rzi,rmi,rpi}{,.ftz}.{u64,s64}.f32", "l=f"},
    {FloatCast, "cvt.{rni,rzi,rmi,rpi}.{u16,s16}.f64", "h=d"},
    {FloatCast, "cvt.{rni,rzi,rmi,rpi}.{u32,s32}.f64", "r=d"},
    {FloatCast, "cvt.{rni,rzi,rmi,rpi}.{u64,s64}.f64", "l=d"},
    {FloatCast, "cvt.{rni,rzi,rmi,rpi}{,.ftz}{,.sat}.f32.f32", "f=f"},
    {FloatCast, "cvt.{rni,rzi,rmi,rpi}.f64.f64", "d=d"},
    {FloatCast, "cvt.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32.f64", "f=d"},
    {FloatCast, "cvt{,.ftz}{,.sat}.f64.f32", "d=f"},
    {FloatCast, "cvt{,.ftz}{,.sat}.f32.f32", "f=f"},

    {Predicate, "setp.{eq,ne,lt,le,gt,ge,lo,ls,hi,hs}.u32", "P=rr"},
    {Predicate, "setp.{eq,ne,lt,le,gt,ge}.s32", "P=rr"},
    {Predicate, "setp.{eq,ne,lt,gt}.s32", "p=rr"},
    {Predicate, "setp.{eq,ne}.b32", "p=rr"},
    {Predicate, "setp.{eq,ne,lt,le,gt,ge}.{u16,s16}", "P=hh"},
    {Predicate, "setp.{eq,ne,lt,le,gt,ge}.{u64,s64}", "P=ll"},
    {Predicate, "setp.{eq,lt,ge}.{and,or,xor}.{u32,s32}", "P=rrq"},
    {Predicate, "setp.{ne,le,gt}.{and,or,xor}.{u64,s64}", "P=llq"},
    {Predicate, "setp.{ne,lt,ge}.{and,or,xor}.{u16,s16}", "P=hhq"},
    {Predicate, "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.f32", "P=ff"},
    {Predicate, "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.f64", "P=dd"},
    {Predicate, "setp.{lt,geu,num}.{and,or,xor}.f32", "P=ffq"},
    {Predicate, "setp.{gt,neu,nan}.{and,or,xor}.f64", "P=ddq"},
    {Predicate, "{and,or,xor}.pred", "p=pp"},
    {Predicate, "not.pred", "p=p"},
    {Predicate, "testp.{finite,infinite,number,notanumber,normal,subnormal}.f32", "p=f"},
    {Predicate, "testp.{finite,infinite,number,notanumber,normal,subnormal}.f64", "p=d"},
    {Predicate, "set.{eq,lt,ge}.{u32,s32}.{u32,s32}", "r=rr"},
    {Predicate, "set.{ne,gt}.{u32,s32}.{u64,s64}", "r=ll"},
    {Predicate, "set.{le,hi}.u32.u16", "r=hh"},
    {Predicate, "set.{lt,equ,nan}.{u32,s32}.f32", "r=ff"},
    {Predicate, "set.{gt,neu,num}.{u32,s32}.f64", "r=dd"},
    {Predicate, "set.{lt,ge}.f32.{u32,s32}", "f=rr"},
    {Predicate, "set.{lt,ge}.{and,or,xor}.u32.{u32,s32}", "r=rrq"},
};

/// Adds a row for each choice in the braces.
void expand(const std::string& opcode, std::string_view operands, std::vector<Row>& out) {
  std::size_t open = opcode.find('{');
  if (open == std::string::npos) {
    out.push_back({opcode, operands});
    return;
  }
  std::size_t close = opcode.find('}', open);
  for (std::size_t at = open + 1; at <= close;) {
    std::size_t end = std::min(opcode.find(',', at), close);
    expand(opcode.substr(0, open) + opcode.substr(at, end - at) + opcode.substr(close + 1), operands, out);
    at = end + 1;
  }
}

using Groups = std::array<std::vector<std::vector<Row>>, kStatements>;

} // namespace

bool mayBeGuarded(const Row& row) {
  return !row.opcode.starts_with("testp.") && !row.opcode.starts_with("set.");
}

std::span<const std::vector<Row>> lines(Statement group) {
  static const Groups groups = [] {
    Groups made;
    for (const Line& line : kLines) {
      std::vector<Row>& rows = made[static_cast<std::size_t>(line.group)].emplace_back();
      expand(std::string(line.opcode), line.operands, rows);
    }
    return made;
  }();
  return groups[static_cast<std::size_t>(group)];
}

} // namespace orias::generator
