#include "tools/reduce/transforms.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <set>

namespace orias::reduce {

namespace {

constexpr std::uint64_t kZeroingCost = 1000, kInstructionCost = 3000; // more than the characters of any instruction

std::string bare(const std::string& token) {
  const std::size_t at = token.find_first_not_of(' ');
  return at == std::string::npos ? token : token.substr(at);
}

/// Replaces the text of a token; the space before it is kept.
void replaceToken(std::string& token, const std::string& by) {
  token = (token.starts_with(' ') ? " " : "") + by;
}

std::vector<std::size_t> piecesOf(const Source& source, std::initializer_list<PieceKind> kinds) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < source.pieces.size(); ++i)
    if (std::find(kinds.begin(), kinds.end(), source.pieces[i].kind) != kinds.end()) found.push_back(i);
  return found;
}

Source without(const Source& source, const std::set<std::size_t>& gone) {
  Source made;
  for (std::size_t i = 0; i < source.pieces.size(); ++i)
    if (!gone.contains(i)) made.pieces.push_back(source.pieces[i]);
  return made;
}

/// `mov.b32 %r1, 0;`, empty for a register without such an instruction.
Piece zeroing(const Definition& definition) {
  const unsigned bits = ptx::bitWidth(definition.type);
  if (definition.type != ptx::Type::Pred && bits != 16 && bits != 32 && bits != 64) return {};
  const std::string type = definition.type == ptx::Type::Pred ? "pred" : fmt::format("b{}", bits);
  return {PieceKind::Instruction, {"mov." + type, " " + definition.name, ",", " 0", ";"}};
}

bool isZeroing(const Piece& piece) {
  return piece.tokens.size() == 5 && piece.tokens[0].starts_with("mov.") && piece.tokens[3] == " 0";
}

// ---- Pieces

/// Removes whole functions, and module-scope pieces between them.
void removeFunctions(Reducer& reducer) {
  const auto heads = [&] { return piecesOf(reducer.source(), {PieceKind::FunctionHead}); };
  minimise(heads().size(), [&](std::size_t first, std::size_t last) {
    const std::vector<std::size_t> all = heads();
    std::set<std::size_t> gone;
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t at = all[i]; at <= reducer.source().partner(all[i] + 1); ++at)
        gone.insert(at);
    return reducer.offer(without(reducer.source(), gone));
  });
}

/// Removes instructions; later uses of their results read zero instead.
void removeInstructions(Reducer& reducer) {
  const auto instructions = [&] { return piecesOf(reducer.source(), {PieceKind::Instruction}); };
  // Zeroing instructions replace removed ones, so positions shift only if none was needed.
  const std::function<bool(std::size_t, std::size_t)> without = [&](std::size_t first, std::size_t last) {
    const std::vector<std::size_t> all = instructions();
    if (last > all.size()) return false;
    const std::set<std::size_t> gone(all.begin() + static_cast<std::ptrdiff_t>(first),
                                     all.begin() + static_cast<std::ptrdiff_t>(last));
    std::set<std::string> read;
    for (const Facts& facts : reducer.facts())
      if (!gone.contains(facts.piece)) read.insert(facts.reads.begin(), facts.reads.end());
    const Source& source = reducer.source();
    Source deleted, zeroed;
    for (std::size_t i = 0; i < source.pieces.size(); ++i) {
      if (!gone.contains(i)) {
        deleted.pieces.push_back(source.pieces[i]);
        zeroed.pieces.push_back(source.pieces[i]);
        continue;
      }
      const Facts* facts = reducer.factsOf(i);
      if (!facts || facts->isGuarded) continue;
      for (const Definition& definition : facts->definitions)
        if (read.contains(definition.name))
          if (Piece piece = zeroing(definition); !piece.tokens.empty()) zeroed.pieces.push_back(std::move(piece));
    }
    return reducer.offer(std::move(deleted)) || reducer.offer(std::move(zeroed));
  };
  for (std::size_t size = instructions().size(); size > 0; size /= 2) {
    for (std::size_t last = instructions().size(); last > 0;) {
      const std::size_t first = last > size ? last - size : 0;
      without(first, last);
      last = first;
    }
  }
}

/// Labels, declarations, directives, and pairs of braces inside functions.
void removeOthers(Reducer& reducer) {
  const auto others = [&] {
    return piecesOf(reducer.source(),
                    {PieceKind::Label, PieceKind::Declaration, PieceKind::Directive, PieceKind::Open});
  };
  minimise(others().size(), [&](std::size_t first, std::size_t last) {
    const std::vector<std::size_t> all = others();
    std::set<std::size_t> gone;
    for (std::size_t i = first; i < last; ++i) {
      gone.insert(all[i]);
      if (reducer.source().pieces[all[i]].kind == PieceKind::Open) gone.insert(reducer.source().partner(all[i]));
    }
    return reducer.offer(without(reducer.source(), gone));
  });
}

/// The types of the registers that some instruction writes, by name; no entry if two functions disagree.
std::map<std::string, ptx::Type> typesOf(const std::vector<Facts>& facts) {
  std::map<std::string, ptx::Type> types;
  for (const Facts& instruction : facts)
    for (const Definition& definition : instruction.definitions) {
      const auto [known, isNew] = types.try_emplace(definition.name, definition.type);
      if (!isNew && known->second != definition.type) known->second = ptx::Type::None;
    }
  return types;
}

/// Deletes an instruction that computes a value from another one of the same type; its uses read that one. With another
/// type the meaning would change: storing 32 bits of a 64-bit register is allowed, but not well defined everywhere.
void bypass(Reducer& reducer) {
  for (std::size_t i = reducer.facts().size(); i-- > 0;) {
    if (i >= reducer.facts().size()) continue;
    const Facts facts = reducer.facts()[i];
    if (facts.definitions.size() != 1) continue;
    const auto& [made, type] = facts.definitions.front();
    const std::map<std::string, ptx::Type> types = typesOf(reducer.facts());
    for (const std::string& from : facts.reads) {
      const auto typeOfFrom = types.find(from);
      if (from == made || typeOfFrom == types.end() || typeOfFrom->second != type) continue;
      Source candidate = reducer.source();
      candidate.pieces.erase(candidate.pieces.begin() + static_cast<std::ptrdiff_t>(facts.piece));
      for (Piece& piece : candidate.pieces)
        for (std::string& token : piece.tokens)
          if (piece.kind == PieceKind::Instruction && bare(token) == made) replaceToken(token, from);
      if (reducer.offer(std::move(candidate))) break;
    }
  }
}

// ---- Tokens

/// Calls `change` for every token of an instruction. It changes the pieces, whose token has the given index, or
/// declines.
template <typename Change> void eachToken(Reducer& reducer, const Change& change) {
  for (std::size_t p = 0; p < reducer.source().pieces.size(); ++p) {
    if (reducer.source().pieces[p].kind != PieceKind::Instruction) continue;
    for (std::size_t t = 0; t < reducer.source().pieces[p].tokens.size(); ++t)
      change(p, t);
  }
}

/// Costs only measure length; replacing a register by a constant is progress of another kind.
bool offerSame(Reducer& reducer, Source candidate) {
  launch::Launch launch = reducer.launch();
  return reducer.offer(std::move(candidate), std::move(launch));
}

/// Removes guards, so that the instruction always executes.
void removeGuards(Reducer& reducer) {
  for (std::size_t p = 0; p < reducer.source().pieces.size(); ++p) {
    const Piece& piece = reducer.source().pieces[p];
    if (piece.kind != PieceKind::Instruction || piece.tokens.front() != "@") continue;
    Source candidate = reducer.source();
    std::vector<std::string>& tokens = candidate.pieces[p].tokens;
    const std::ptrdiff_t length = bare(tokens[1]) == "!" ? 3 : 2;
    tokens.erase(tokens.begin(), tokens.begin() + length);
    tokens.front() = bare(tokens.front());
    reducer.offer(std::move(candidate));
  }
}

/// Replaces registers that are read by zeros or special values.
void replaceReads(Reducer& reducer) {
  eachToken(reducer, [&](std::size_t p, std::size_t t) {
    const Facts* facts = reducer.factsOf(p);
    const std::string token = bare(reducer.source().pieces[p].tokens[t]);
    if (!facts || std::find(facts->reads.begin(), facts->reads.end(), token) == facts->reads.end()) return;
    for (const char* zero : {"0", "0f00000000", "0d0000000000000000"}) {
      Source candidate = reducer.source();
      replaceToken(candidate.pieces[p].tokens[t], zero);
      if (offerSame(reducer, std::move(candidate))) return;
    }
  });
}

void shrinkNumbers(Reducer& reducer) {
  eachToken(reducer, [&](std::size_t p, std::size_t t) {
    const std::string token = bare(reducer.source().pieces[p].tokens[t]);
    if (!std::isdigit(static_cast<unsigned char>(token.front())) || token == "0" || token == "1") return;
    for (const char* smaller : {"0", "1", "2", "31"}) {
      if (token == smaller) return;
      Source candidate = reducer.source();
      replaceToken(candidate.pieces[p].tokens[t], smaller);
      if (reducer.offer(std::move(candidate))) return;
    }
  });
}

void dropModifiers(Reducer& reducer) {
  eachToken(reducer, [&](std::size_t p, std::size_t t) {
    for (std::size_t from = std::string::npos;;) {
      const std::string token = bare(reducer.source().pieces[p].tokens[t]);
      const std::size_t dot = token.rfind('.', from);
      if (dot == std::string::npos || dot == 0 || token.front() == '%') return;
      Source candidate = reducer.source();
      const std::size_t end = token.find('.', dot + 1);
      replaceToken(candidate.pieces[p].tokens[t],
                   token.substr(0, dot) + (end == std::string::npos ? "" : token.substr(end)));
      reducer.offer(std::move(candidate));
      from = dot - 1;
    }
  });
}

// ---- The launch

void shrinkLaunch(Reducer& reducer) {
  const auto attempt = [&](const auto& change) {
    launch::Launch smaller = reducer.launch();
    return change(smaller) && reducer.offer(reducer.source(), std::move(smaller));
  };
  // One thread has no races; one warp has few.
  for (unsigned threads : {1u, 32u})
    attempt([&](launch::Launch& l) {
      const bool isSmaller = l.block.count() > threads;
      l.block = {threads, 1, 1};
      return isSmaller;
    });
  attempt([](launch::Launch& l) {
    const bool isSmaller = l.grid.count() > 1;
    l.grid = {1, 1, 1};
    return isSmaller;
  });
  const auto zero = [](std::vector<std::byte>& bytes) {
    const bool hasAny = std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    return hasAny;
  };
  for (std::size_t i = 0; i < reducer.launch().buffers.size(); ++i)
    attempt([&](launch::Launch& l) { return zero(l.buffers[i].initial); });
  for (std::size_t i = 0; i < reducer.launch().arguments.size(); ++i)
    attempt([&](launch::Launch& l) { return zero(l.arguments[i].bytes); });
}

/// The tokens of each parameter of the kernel, [first, last); a comma belongs to the parameter before it.
std::vector<std::pair<std::size_t, std::size_t>> parametersOf(const Piece& head) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t t = 0; t < head.tokens.size(); ++t) {
    const std::string token = bare(head.tokens[t]);
    if (token == "(" && depth++ == 0) first = t + 1;
    if (token == "," && depth == 1) {
      ranges.emplace_back(first, t + 1);
      first = t + 1;
    }
    if (token == ")" && --depth == 0) {
      if (t > first) ranges.emplace_back(first, t);
      break;
    }
  }
  return ranges;
}

/// Removes unused parameters of the kernel, with their arguments and the buffers that only they point to.
void removeParameters(Reducer& reducer) {
  for (std::size_t i = reducer.launch().arguments.size(); i-- > 0;) {
    Source candidate = reducer.source();
    launch::Launch launch = reducer.launch();
    const auto head = std::find_if(candidate.pieces.begin(), candidate.pieces.end(), [&](const Piece& piece) {
      return piece.kind == PieceKind::FunctionHead &&
             std::any_of(piece.tokens.begin(), piece.tokens.end(),
                         [&](const std::string& token) { return bare(token) == launch.kernel; });
    });
    if (head == candidate.pieces.end()) return;
    const auto ranges = parametersOf(*head);
    if (ranges.size() != launch.arguments.size()) return;
    const bool isLast = i + 1 == ranges.size() && i > 0; // the comma before it is also removed
    head->tokens.erase(head->tokens.begin() + static_cast<std::ptrdiff_t>(ranges[i].first - (isLast ? 1 : 0)),
                       head->tokens.begin() + static_cast<std::ptrdiff_t>(ranges[i].second));
    const int buffer = launch.arguments[i].buffer;
    launch.arguments.erase(launch.arguments.begin() + static_cast<std::ptrdiff_t>(i));
    const auto pointsTo = [&](const launch::Argument& argument) { return argument.buffer == buffer; };
    if (buffer >= 0 && std::none_of(launch.arguments.begin(), launch.arguments.end(), pointsTo)) {
      launch.buffers.erase(launch.buffers.begin() + buffer);
      for (launch::Argument& argument : launch.arguments)
        if (argument.buffer > buffer) --argument.buffer;
    }
    reducer.offer(std::move(candidate), std::move(launch));
  }
}

} // namespace

std::span<const Pass> passes() {
  static constexpr Pass kPasses[] = {
      {"fewer threads and zeros in memory", shrinkLaunch},
      {"fewer functions", removeFunctions},
      {"fewer instructions", removeInstructions},
      {"values passed on", bypass},
      {"no guards", removeGuards},
      {"zeros for registers", replaceReads},
      {"fewer labels and declarations", removeOthers},
      {"fewer parameters", removeParameters},
      {"smaller numbers", shrinkNumbers},
      {"fewer modifiers", dropModifiers},
  };
  return kPasses;
}

std::uint64_t costOf(const Source& source) {
  std::uint64_t cost = 0;
  for (const Piece& piece : source.pieces) {
    if (piece.kind == PieceKind::Instruction) cost += isZeroing(piece) ? kZeroingCost : kInstructionCost;
    for (const std::string& token : piece.tokens)
      cost += token.size();
  }
  return cost;
}

} // namespace orias::reduce
