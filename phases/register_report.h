#pragma once

// Why a value is where it is: answers to `--why`, in sentences.

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
    Peak,     ///< `R`, `UR`, `P`, `UP`: what is live where most registers of the file are
    Register, ///< `R:24`: the values that a machine register holds, one after the other
    Value,    ///< `%name`: of the PTX, or else of the Ori text before phase 101
    Line      ///< `120`: what the instructions of a PTX line write, or read if they write nothing
  };
  Kind kind = Kind::Peak;
  isa::File file = isa::File::R;
  std::uint32_t number = 0; ///< of the register or line
  std::string name;         ///< with its %
};

/// What `--why` says of a value, for programs that show it at the instructions.
struct ValueAccount {
  std::string name, oriName; ///< in the PTX (may be empty); before phase 101
  isa::File file{};
  bool isUniform = false;                  ///< the same in all lanes of a warp
  std::vector<std::uint32_t> instructions; ///< ori::Instr::id of those that name it
  std::string text;                        ///< ends with a line end
};

/// The answers to all queries that there could be.
struct RegisterAccounts {
  std::vector<std::string> peaks; ///< of the files R, UR, P and UP that have values
  std::vector<ValueAccount> values;
};

/// Throws orias::Error with the forms that there are.
RegisterQuery parseRegisterQuery(std::string_view text);

/// The values of a function as they are before allocation, and what became of them. An answer says where a value is
/// written and read, which read keeps it alive at the highest pressure, what a spill or a new computation would cost,
/// and which limit decided.
class RegisterReport {
 public:
  /// Before phase 101 allocates registers.
  explicit RegisterReport(ori::Function& function);
  ~RegisterReport();

  /// Behind it. `fates` are by virtual register. The text ends with a line end.
  std::string answer(const RegisterQuery& query, std::span<const regalloc::RegisterFate> fates,
                     const ori::Function& function, const PhaseContext& context) const;
  /// The same about everything.
  RegisterAccounts accounts(std::span<const regalloc::RegisterFate> fates, const ori::Function& function,
                            const PhaseContext& context) const;

 private:
  std::unique_ptr<const RegisterFacts> facts_;
};

} // namespace orias::phases
