#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orias::reduce {

/// The kind of a piece of PTX text.
enum class PieceKind : std::uint8_t {
  Directive,    ///< without a semicolon: `.version 8.5`, `.loc 1 2 3`
  Declaration,  ///< a variable, registers, a prototype, a list of targets, a pragma
  FunctionHead, ///< everything before the body
  Open,         ///< `{`
  Close,        ///< `}`
  Label,        ///< with its colon
  Instruction,  ///< with its guard and semicolon
};

/// A piece that can be deleted or changed separately.
struct Piece {
  PieceKind kind = PieceKind::Directive;
  std::vector<std::string> tokens; ///< including the necessary spaces before them
  std::string text() const;
};

/// A PTX text as pieces. Comments are dropped.
class Source {
 public:
  Source() = default;
  /// Splits a text. Tolerates errors in it.
  explicit Source(std::string_view text);

  /// One piece per line: the piece with index i is on line i + 1.
  std::string text() const;
  /// The index of the Close that matches an Open, and vice versa.
  std::size_t partner(std::size_t brace) const;
  std::size_t count(PieceKind kind) const;

  std::vector<Piece> pieces;
};

} // namespace orias::reduce
