#pragma once

// Answers to `--why`, in sentences: where a value is allocated, and why.

#include "encoder/isa/isa.h"
#include "regalloc/register_fate.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias::ori {
class Function;
}

namespace orias::phases {

struct PhaseContext;
struct RegisterFacts;

/// A query of `--why`.
struct RegisterQuery {
  enum class Kind : std::uint8_t {
    Peak,     ///< `R`, `UR`, `P`, `UP`: the values that are live at the highest pressure of the file
    Register, ///< `R:24`: the values that a machine register holds, in sequence
    Value,    ///< `%name`: of the PTX, or else of the Ori text before phase 101
    Line      ///< `120`: the values that the instructions of a PTX line write, or read if they write nothing
  };
  Kind kind = Kind::Peak;
  isa::File file = isa::File::R;
  std::uint32_t number = 0; ///< of the register or line
  std::string name;         ///< with its %
};

/// The answer of `--why` about a value, for programs that show it at the instructions.
struct ValueAccount {
  std::string name, oriName; ///< in the PTX (may be empty); before phase 101
  isa::File file{};
  bool isUniform = false;                  ///< the same in all lanes of a warp
  std::vector<std::uint32_t> instructions; ///< ori::Instr::id of the instructions that refer to it
  std::string text;                        ///< ends with a newline
};

/// The answers to all possible queries.
struct RegisterAccounts {
  std::vector<std::string> peaks; ///< of the files R, UR, P and UP that have values
  std::vector<ValueAccount> values;
};

/// Throws orias::Error with the valid forms.
RegisterQuery parseRegisterQuery(std::string_view text);

/// The values of a function before allocation, and their allocation. An answer says where a value is written and read,
/// which read keeps it live at the highest pressure, what a spill or rematerialization would cost, and which limit
/// applied.
class RegisterReport {
 public:
  /// To be created before phase 101 allocates registers.
  explicit RegisterReport(ori::Function& function);
  ~RegisterReport();

  /// To be called after phase 101. `fates` are by virtual register. The text ends with a newline.
  std::string answer(const RegisterQuery& query, std::span<const regalloc::RegisterFate> fates,
                     const ori::Function& function, const PhaseContext& context) const;
  /// Answers about all values and files.
  RegisterAccounts accounts(std::span<const regalloc::RegisterFate> fates, const ori::Function& function,
                            const PhaseContext& context) const;

 private:
  std::unique_ptr<const RegisterFacts> facts_;
};

} // namespace orias::phases
