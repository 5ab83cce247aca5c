#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orias {

/// A location in a source text; line and column count from 1, 0 means "no location".
struct SourceLoc {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  explicit operator bool() const { return line != 0; }
  friend bool operator==(SourceLoc, SourceLoc) = default;
};

enum class Severity : std::uint8_t { Note, Remark, Warning, Error };

struct Diagnostic {
  Severity severity = Severity::Error;
  SourceLoc loc;
  std::string message;
  std::string hint; ///< a suggestion; printed as a note, may be empty
};

/// Collects the diagnostics of one source text, and prints them as `file:line:column: severity: message` with the line
/// and a caret. After `kMaxErrors` errors, further ones are only counted.
class Diagnostics {
 public:
  static constexpr unsigned kMaxErrors = 100;

  /// `text` must outlive this object; it is used to show the lines.
  Diagnostics(std::string fileName, std::string_view text) : fileName_(std::move(fileName)), text_(text) {}

  void error(SourceLoc loc, std::string message, std::string hint = {});
  void warning(SourceLoc loc, std::string message, std::string hint = {});
  void note(SourceLoc loc, std::string message);

  unsigned errorCount() const { return errors_; }
  bool hasErrors() const { return errors_ != 0; }
  const std::vector<Diagnostic>& all() const { return all_; }
  const std::string& fileName() const { return fileName_; }

  /// All diagnostics in the order of their locations, as text for a terminal (no colors).
  std::string render() const;

 private:
  void add(Severity severity, SourceLoc loc, std::string message, std::string hint);

  std::string fileName_;
  std::string_view text_;
  std::vector<Diagnostic> all_;
  unsigned errors_ = 0;
};

} // namespace orias
