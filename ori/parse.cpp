#include "ori/parse.h"

#include "encoder/isa/print.h"
#include "encoder/isa/target.h"
#include "ori/parse_function.h"

#include <fmt/format.h>

namespace orias::ori {

namespace {

using text::ParseError;
using text::Scanner;

class ModuleParser {
 public:
  ModuleParser(std::string_view text, Diagnostics& diagnostics) : in_(text), diagnostics_(diagnostics) {}

  std::unique_ptr<Module> run() {
    guarded([&] { header(); });
    if (!module_) return nullptr;
    while (!in_.atEnd()) {
      const std::size_t before = in_.position();
      guarded([&] { item(); });
      // A stray '}' stops recovery without being consumed.
      if (in_.position() == before && !in_.take("}")) in_.moveTo(before + 1);
    }
    if (diagnostics_.hasErrors()) return nullptr;
    return std::move(module_);
  }

 private:
  template <typename F> void guarded(F&& f) {
    try {
      f();
    } catch (const ParseError& fault) {
      diagnostics_.error(in_.locate(fault.at), fault.message, fault.hint);
      in_.recover();
    }
  }

  void sampler() {
    SamplerStart start;
    start.symbol = in_.unsigned32();
    in_.expect("modes");
    for (std::uint8_t& mode : start.addressModes)
      mode = static_cast<std::uint8_t>(in_.integer(0, SamplerStart::kNotSaid));
    in_.expect("filter");
    start.filter = static_cast<std::uint8_t>(in_.integer(0, SamplerStart::kNotSaid));
    if (in_.take("unnormalized")) start.forcesUnnormalized = in_.integer(0, 1) != 0;
    module_->samplers.push_back(start);
  }

  void header() {
    in_.expect("module");
    const std::string_view name = in_.word();
    const isa::Target* target = isa::Target::find(name);
    if (!target) in_.fail(fmt::format("unknown target '{}'", name), "such as sm_90");
    auto module = std::make_unique<Module>(*target);
    if (in_.take("ptx")) {
      module->ptxVersionMajor = in_.unsigned32();
      module->ptxVersionMinor = in_.unsigned32();
    }
    in_.expect(";");
    module_ = std::move(module);
  }

  void item() {
    const std::size_t at = in_.position();
    const std::string_view keyword = in_.word();
    if (keyword == "kernel" || keyword == "function") {
      std::string name = in_.quoted();
      Function& function = module_->newFunction(std::move(name), keyword == "kernel");
      in_.expect("{");
      text::parseFunction(in_, function, diagnostics_);
      return;
    }
    if (keyword == "file")
      module_->files.push_back(in_.quoted());
    else if (keyword == "loc")
      loc();
    else if (keyword == "variable")
      variable();
    else if (keyword == "symbol")
      symbol();
    else if (keyword == "addressslot")
      module_->addressSlots.push_back(in_.unsigned32());
    else if (keyword == "independentsamplers")
      module_->hasIndependentSamplers = true;
    else if (keyword == "sampler")
      sampler();
    else
      in_.failAt(at, "expected a part of a module",
                 "kernel, function, variable, symbol, addressslot, independentsamplers, sampler, file or loc");
    in_.expect(";");
  }

  void loc() {
    LocEntry loc;
    loc.file = in_.unsigned32();
    loc.line = in_.unsigned32();
    loc.column = in_.unsigned32();
    module_->locs.push_back(loc);
  }

  void variable() {
    Variable v;
    v.name = in_.quoted();
    const std::string_view linkage = in_.word();
    if (linkage == "local")
      v.linkage = Linkage::Local;
    else if (linkage == "global")
      v.linkage = Linkage::Global;
    else if (linkage == "weak")
      v.linkage = Linkage::Weak;
    else if (linkage == "common")
      v.linkage = Linkage::Common;
    else if (linkage == "external")
      v.linkage = Linkage::External;
    else
      in_.fail("expected a linkage", "local, global, weak, common or external");
    if (in_.take("const"))
      v.space = Space::Const;
    else
      in_.expect("global");
    in_.expect("size");
    v.size = static_cast<std::uint64_t>(in_.integer(0, INT64_MAX));
    in_.expect("align");
    v.align = in_.unsigned32();
    v.managed = in_.take("managed");
    if (in_.take("offset")) v.constOffset = in_.integer(0, INT64_MAX);
    if (in_.take("init")) v.init = bytes(in_.quoted());
    while (in_.take("relocation")) {
      DataRelocation r;
      r.offset = in_.unsigned32();
      r.size = in_.unsigned32();
      r.symbol = in_.unsigned32();
      r.addend = in_.integer(INT64_MIN, INT64_MAX);
      r.generic = in_.take("generic");
      if (!r.generic) in_.expect("plain");
      v.relocations.push_back(r);
    }
    module_->variables.push_back(std::move(v));
  }

  std::vector<std::uint8_t> bytes(const std::string& hex) {
    std::vector<std::uint8_t> result;
    auto digit = [&](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      in_.fail("initial bytes are written as hexadecimal digits");
    };
    if (hex.size() % 2) in_.fail("initial bytes have two digits each");
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      result.push_back(static_cast<std::uint8_t>(digit(hex[i]) * 16 + digit(hex[i + 1])));
    return result;
  }

  void symbol() {
    Symbol s;
    if (in_.take("variable"))
      s.kind = Symbol::Kind::Variable;
    else if (in_.take("function"))
      s.kind = Symbol::Kind::Function;
    else if (in_.take("extern"))
      s.kind = Symbol::Kind::ExternFunction;
    else if (in_.take("driverword"))
      s.kind = Symbol::Kind::DriverWord;
    else if (in_.take("texture"))
      s.kind = Symbol::Kind::Texture;
    else if (in_.take("sampler"))
      s.kind = Symbol::Kind::Sampler;
    else if (in_.take("surface"))
      s.kind = Symbol::Kind::Surface;
    else
      in_.fail("expected the kind of a symbol", "variable, function, extern, driverword, texture, sampler or surface");
    s.name = in_.quoted();
    s.index = in_.unsigned32();
    module_->symbols.push_back(std::move(s));
  }

  Scanner in_;
  Diagnostics& diagnostics_;
  std::unique_ptr<Module> module_;
};

} // namespace

std::unique_ptr<Module> parse(std::string_view text, Diagnostics& diagnostics) {
  return ModuleParser(text, diagnostics).run();
}

} // namespace orias::ori
