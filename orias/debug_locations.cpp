#include "orias/debug_locations.h"

#include "ori/analysis/cfg.h"
#include "ori/analysis/liveness.h"
#include "ori/call_abi.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>

namespace orias {

namespace {

using ori::CompId;

constexpr std::uint32_t kNothing = ~0u;

/// The contents of each machine register: an index into the names and words of the program, or kNothing. Machine
/// registers have the highest numbers of ori::Components; the index here is relative to the first of them.
using Contents = std::vector<std::uint32_t>;

class Places {
 public:
  Places(const ori::Function& function, const encoder::FunctionCode& code,
         const std::unordered_map<std::string_view, ptx::Type>& types)
      : function_(function), cfg_(function), liveness_(cfg_), writesOf_(function.instrIdCount()),
        offsetOf_(function.instrIdCount(), kNothing) {
    for (const ori::DebugDef& write : code.debugDefs) {
      std::vector<std::uint32_t>& numbers = numbers_[write.name];
      if (numbers.size() <= write.part) numbers.resize(write.part + std::size_t{1}, kNothing);
      std::uint32_t& number = numbers[write.part];
      if (number == kNothing) {
        number = static_cast<std::uint32_t>(words_.size());
        const auto type = types.find(write.name);
        words_.push_back({write.name, write.part, type == types.end() ? std::nullopt : std::optional(type->second)});
      }
      writesOf_[write.instr].push_back({slotOf(comps().ofPhysical(write.file, write.reg)), number});
    }
    for (std::size_t i = 0; i < code.origin.size(); ++i)
      if (code.origin[i] != nullptr)
        offsetOf_[code.origin[i]->id] = static_cast<std::uint32_t>(i) * encoder::kWordBytes;
  }

  std::vector<RegisterLocation> run() {
    if (words_.empty()) return {};
    solve();
    latest_.resize(comps().count());
    for (const ori::Block* block : function_.layout())
      if (isKnown_[block->id]) describe(*block);
    return std::move(places_);
  }

 private:
  struct Word {
    std::string_view name;
    std::uint8_t part;
    std::optional<ptx::Type> type; ///< unset if it does not follow from the name
  };
  /// The latest location of a machine register.
  struct Latest {
    std::uint32_t word = kNothing;
    std::size_t place = 0;
  };
  struct Write {
    std::uint32_t slot;
    std::uint32_t word;
  };

  const ori::Components& comps() const { return liveness_.components(); }
  std::uint32_t slotOf(CompId comp) const { return comp - comps().virtualCount(); }
  CompId compOf(std::uint32_t slot) const { return slot + comps().virtualCount(); }

  /// The registers that every call preserves.
  bool survivesCall(CompId comp) const {
    return ori::survivesCall(ori::Convention::Pointer, comps().file(comp), comps().physicalNumber(comp));
  }

  /// Begins a walk through a block, from the register contents at its start.
  void enter(const Contents& contents) {
    slotOfWord_.resize(words_.size(), kNothing);
    for (const std::uint32_t word : placed_)
      slotOfWord_[word] = kNothing;
    placed_.clear();
    for (std::uint32_t slot = 0; slot < contents.size(); ++slot)
      if (contents[slot] != kNothing) place(contents[slot], slot);
  }

  void place(std::uint32_t word, std::uint32_t slot) {
    slotOfWord_[word] = slot;
    placed_.push_back(word);
  }

  void step(Contents& contents, const ori::Instr& instr) {
    if (instr.op == isa::Op::CALL_ABS || instr.op == isa::Op::CALL_ABS_R)
      for (std::uint32_t slot = 0; slot < contents.size(); ++slot)
        if (contents[slot] != kNothing && !survivesCall(compOf(slot))) contents[slot] = kNothing;
    for (const ori::Operand& o : instr.ops())
      if (o.isDef) comps().forEach(o.value(), [&](CompId comp) { contents[slotOf(comp)] = kNothing; });
    for (const Write& write : writesOf_[instr.id]) {
      // The previous location of the same word is stale.
      const std::uint32_t older = slotOfWord_[write.word];
      if (older != kNothing && contents[older] == write.word) contents[older] = kNothing;
      contents[write.slot] = write.word;
      place(write.word, write.slot);
    }
  }

  /// Forward data flow: at the start of a block, the contents that all predecessors agree on.
  void solve() {
    into_.assign(cfg_.idCount(), Contents(comps().count() - comps().virtualCount(), kNothing));
    isKnown_.assign(cfg_.idCount(), false);
    isKnown_[cfg_.entry()] = true;
    std::vector<bool> isDone(cfg_.idCount()); // for the contents at its start
    Contents contents;
    for (bool changed = true; changed;) {
      changed = false;
      for (const ori::BlockId id : cfg_.reversePostOrder()) {
        if (isDone[id]) continue;
        isDone[id] = true;
        contents = into_[id];
        enter(contents);
        for (const ori::Instr& instr : *function_.block(id))
          step(contents, instr);
        for (const ori::BlockId next : cfg_.successors(id)) {
          Contents& there = into_[next];
          if (!isKnown_[next]) {
            there = contents;
            isKnown_[next] = changed = true;
            isDone[next] = false;
            continue;
          }
          for (std::uint32_t slot = 0; slot < there.size(); ++slot)
            if (there[slot] != kNothing && there[slot] != contents[slot]) {
              there[slot] = kNothing;
              changed = true;
              isDone[next] = false;
            }
        }
      }
    }
  }

  void describe(const ori::Block& block) {
    // Liveness is a backward analysis, the contents are a forward analysis.
    live_.clear();
    firstLive_.clear();
    ori::LiveCursor cursor(liveness_);
    cursor.enter(block);
    while (cursor.next() != nullptr) {
      cursor.step();
      firstLive_.push_back(live_.size());
      live_.insert(live_.end(), cursor.live().begin(), cursor.live().end());
    }
    Contents contents = into_[block.id];
    enter(contents);
    for (const ori::Instr& instr : block) {
      for (const CompId comp : std::span(live_).subspan(firstLive_.back()))
        if (const std::uint32_t word = contents[slotOf(comp)]; word != kNothing)
          extend(comp, word, offsetOf_[instr.id]);
      live_.resize(firstLive_.back());
      firstLive_.pop_back();
      step(contents, instr);
      // A new value has a new location, even if it has the same name.
      for (const ori::Operand& o : instr.ops())
        if (o.isDef) comps().forEach(o.value(), [&](CompId comp) { latest_[comp].word = kNothing; });
    }
  }

  void extend(CompId comp, std::uint32_t number, std::uint32_t offset) {
    const Word& word = words_[number];
    if (offset == kNothing || !word.type) return;
    Latest& latest = latest_[comp];
    if (latest.word == number && places_[latest.place].end == offset) {
      places_[latest.place].end += encoder::kWordBytes;
      return;
    }
    latest = {number, places_.size()};
    places_.push_back({std::string(word.name), *word.type, word.part, comps().file(comp), comps().physicalNumber(comp),
                       offset, offset + encoder::kWordBytes});
  }

  const ori::Function& function_;
  const ori::Cfg cfg_;
  const ori::Liveness liveness_;
  std::vector<std::vector<Write>> writesOf_;                                 // by instruction
  std::vector<std::uint32_t> offsetOf_;                                      // by instruction
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> numbers_; // in words_, of the words of a name
  std::vector<Word> words_;
  std::vector<std::uint32_t> slotOfWord_; // the machine register of a word, if it still holds it
  std::vector<std::uint32_t> placed_;     // words that have one
  std::vector<Contents> into_;            // by block
  std::vector<bool> isKnown_;             // by block
  std::vector<CompId> live_;              // at the instructions of a block, from the last to the first
  std::vector<std::size_t> firstLive_;    // of each instruction, in live_
  std::vector<RegisterLocation> places_;
  std::vector<Latest> latest_; // by component
};

} // namespace

std::vector<RegisterLocation> registerPlaces(const ptx::Module& module, const ptx::Function& source,
                                             const ori::Function& function, const encoder::FunctionCode& code) {
  std::unordered_map<std::string_view, ptx::Type> types;
  types.reserve(source.registers.size());
  std::vector<std::string_view> doubtful;
  // Scopes may have registers of the same name: a debugger queries by name and sees the last written one.
  for (const ptx::Register& reg : source.registers)
    if (types.emplace(module.text(reg.name), reg.type).first->second != reg.type || reg.vectorSize != 1)
      doubtful.push_back(module.text(reg.name));
  for (std::string_view name : doubtful)
    types.erase(name);
  std::vector<RegisterLocation> places = Places(function, code, types).run();
  std::sort(places.begin(), places.end(), [](const RegisterLocation& a, const RegisterLocation& b) {
    return std::tie(a.file, a.reg, a.begin) < std::tie(b.file, b.reg, b.begin);
  });
  return places;
}

} // namespace orias
