#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orias::reduce {

/// What a piece of a PTX text is.
enum class PieceKind : std::uint8_t {
  Directive,    ///< without a semicolon: `.version 8.5`, `.loc 1 2 3`
  Declaration,  ///< a variable, registers, a prototype, a list of targets, a pragma
  FunctionHead, ///< all in front of the body
  Open,         ///< `{`
  Close,        ///< `}`
  Label,        ///< with its colon
  Instruction,  ///< with its guard and semicolon
};

/// A piece that can go, or change, alone.
struct Piece {
  PieceKind kind = PieceKind::Directive;
  std::vector<std::string> tokens; ///< the spaces that have to stand in front of them included
  std::string text() const;
};

/// A PTX text as pieces. Comments go when it is cut up.
class Source {
 public:
  Source() = default;
  /// Cuts a text up. Does not mind errors in it.
  explicit Source(std::string_view text);

  /// A piece on each line: the piece with index i is on line i + 1.
  std::string text() const;
  /// The index of the Close that belongs to an Open, and the other way round.
  std::size_t partner(std::size_t brace) const;
  std::size_t count(PieceKind kind) const;

  std::vector<Piece> pieces;
};

} // namespace orias::reduce
