#include "tools/lab/store.h"

#include "support/check.h"
#include "tools/lab/export_query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sqlite3.h>

namespace orias::lab {

namespace {

constexpr int kSchemaVersion = 2;
constexpr int kWithoutOrders = 1; ///< the previous schema version
constexpr int kBusyMilliseconds = 60'000;

constexpr const char* kSchema = R"(
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  assembler TEXT NOT NULL,
  ptx TEXT NOT NULL,
  launch TEXT NOT NULL,
  chip TEXT NOT NULL,
  options TEXT NOT NULL,
  knobs TEXT NOT NULL,
  disabled TEXT NOT NULL,
  version TEXT NOT NULL,
  state TEXT NOT NULL,
  message TEXT NOT NULL,
  seconds REAL NOT NULL,
  kilobytes INTEGER NOT NULL,
  executed REAL,
  cycles REAL,
  full_cycles REAL,
  warps REAL,
  swapped TEXT NOT NULL DEFAULT '',
  code TEXT NOT NULL DEFAULT '');
CREATE TABLE functions (
  job TEXT NOT NULL REFERENCES jobs(id),
  name TEXT NOT NULL,
  kernel INTEGER NOT NULL,
  registers INTEGER NOT NULL,
  uniform_registers INTEGER NOT NULL,
  barriers INTEGER NOT NULL,
  instructions INTEGER NOT NULL,
  code_bytes INTEGER NOT NULL,
  shared_bytes INTEGER NOT NULL,
  frame_bytes INTEGER NOT NULL,
  spill_bytes INTEGER,
  PRIMARY KEY (job, name));
CREATE TABLE plans (
  plan TEXT NOT NULL,
  position INTEGER NOT NULL,
  job TEXT NOT NULL,
  PRIMARY KEY (plan, position));
)";

constexpr const char* kToSchema2 = R"(
ALTER TABLE jobs ADD COLUMN swapped TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN code TEXT NOT NULL DEFAULT '';
)";

// This table was added later: an older store gets it when it is opened for writing.
constexpr const char* kSoakTable = R"(
CREATE TABLE IF NOT EXISTS soak (
  command TEXT NOT NULL,
  seed INTEGER NOT NULL,
  state TEXT NOT NULL,
  seconds REAL NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (command, seed));
)";

std::string listText(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

} // namespace

/// A prepared statement; parameters are bound in order.
class Store::Statement {
 public:
  Statement(sqlite3* database, const std::string& sql) : database_(database) {
    const char* rest = nullptr;
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, &rest) != SQLITE_OK) fail();
    if (!statement_) throw Error("the query is empty");
    if (rest && std::string_view(rest).find_first_not_of(" \t\r\n;") != std::string_view::npos) {
      sqlite3_finalize(statement_);
      throw Error("the query has more than one statement");
    }
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::string_view text) {
    check(sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
    return *this;
  }
  Statement& bind(std::int64_t number) {
    check(sqlite3_bind_int64(statement_, ++bound_, number));
    return *this;
  }
  Statement& bind(double number) {
    check(sqlite3_bind_double(statement_, ++bound_, number));
    return *this;
  }
  Statement& bindNull() {
    check(sqlite3_bind_null(statement_, ++bound_));
    return *this;
  }

  /// False after the last row.
  bool step() {
    const int status = sqlite3_step(statement_);
    if (status != SQLITE_ROW && status != SQLITE_DONE) fail();
    return status == SQLITE_ROW;
  }

  bool isReadOnly() const { return sqlite3_stmt_readonly(statement_) != 0; }
  int columns() const { return sqlite3_column_count(statement_); }
  std::string columnName(int c) const { return sqlite3_column_name(statement_, c); }
  int type(int c) const { return sqlite3_column_type(statement_, c); }
  double real(int c) const { return sqlite3_column_double(statement_, c); }
  std::int64_t integer(int c) const { return sqlite3_column_int64(statement_, c); }
  std::string text(int c) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, c));
    return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, c))) : std::string();
  }

 private:
  [[noreturn]] void fail() const { throw Error(fmt::format("store: {}", sqlite3_errmsg(database_))); }
  void check(int status) const {
    if (status != SQLITE_OK) fail();
  }

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

Store::Store(const std::string& path, Mode mode) {
  const int flags = mode == Mode::ReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(path.c_str(), &database_, flags, nullptr) != SQLITE_OK) {
    const std::string message = fmt::format("store '{}': {}", path, sqlite3_errmsg(database_));
    sqlite3_close(database_);
    throw Error(message);
  }
  try {
    sqlite3_busy_timeout(database_, kBusyMilliseconds);
    Statement version(database_, "PRAGMA user_version");
    version.step();
    const std::int64_t found = version.integer(0);
    const bool isOlder = found == kWithoutOrders && mode == Mode::ReadWrite;
    if (found != 0 && found != kSchemaVersion && !isOlder)
      throw Error(fmt::format("store '{}' has schema {}, expected {}", path, found, kSchemaVersion));
    if (found == 0 && mode == Mode::ReadOnly) throw Error(fmt::format("'{}' is not a result store", path));
    if (found == 0 || isOlder)
      execute(
          fmt::format("BEGIN;{}PRAGMA user_version={};COMMIT", isOlder ? kToSchema2 : kSchema, kSchemaVersion).c_str());
    if (mode == Mode::ReadWrite) {
      execute(kSoakTable);
      execute(fmt::format("CREATE VIEW IF NOT EXISTS results AS {}", kExportQuery).c_str());
    }
  } catch (...) {
    sqlite3_close_v2(database_);
    throw;
  }
}

Store::~Store() {
  sqlite3_close_v2(database_);
}

void Store::execute(const char* sql) {
  char* message = nullptr;
  if (sqlite3_exec(database_, sql, nullptr, nullptr, &message) == SQLITE_OK) return;
  const std::string text = fmt::format("store: {}", message ? message : "unknown error");
  sqlite3_free(message);
  throw Error(text);
}

std::optional<Measurement> Store::find(const std::string& id) {
  Statement job(database_, "SELECT state, message, seconds, kilobytes, executed, cycles, full_cycles, warps, code "
                           "FROM jobs WHERE id = ?");
  if (!job.bind(id).step()) return std::nullopt;
  Measurement found;
  found.state = parseState(job.text(0));
  found.message = job.text(1);
  found.cpuSeconds = job.real(2);
  found.peakKilobytes = static_cast<std::uint64_t>(job.integer(3));
  found.executed = job.real(4);
  found.cycles = job.real(5);
  found.fullMachineCycles = job.real(6);
  found.residentWarps = job.real(7);
  found.code = job.text(8);
  Statement functions(database_, "SELECT name, kernel, registers, uniform_registers, barriers, instructions, "
                                 "code_bytes, shared_bytes, frame_bytes, spill_bytes FROM functions WHERE job = ? "
                                 "ORDER BY rowid");
  functions.bind(id);
  while (functions.step()) {
    const auto number = [&](int c) { return static_cast<unsigned>(functions.integer(c)); };
    found.functions.push_back({functions.text(0), functions.integer(1) != 0, number(2), number(3), number(4), number(5),
                               number(6), number(7), number(8), number(9)});
  }
  return found;
}

void Store::together(const std::function<void()>& changes) {
  const bool isNested = sqlite3_get_autocommit(database_) == 0;
  if (isNested) return changes();
  execute("BEGIN IMMEDIATE");
  try {
    changes();
    execute("COMMIT");
  } catch (...) {
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

void Store::add(const std::string& id, const Job& job, std::string_view version, const Measurement& found) {
  together([&] {
    Statement(database_, "DELETE FROM functions WHERE job = ?").bind(id).step();
    Statement row(database_, "INSERT OR REPLACE INTO jobs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    row.bind(id).bind(assemblerName(job.assembler)).bind(job.ptxFile).bind(job.launchFile).bind(job.chip);
    row.bind(listText(job.options)).bind(listText(job.knobs)).bind(listText(job.disabled)).bind(version);
    row.bind(stateName(found.state)).bind(found.message).bind(found.cpuSeconds);
    row.bind(static_cast<std::int64_t>(found.peakKilobytes));
    const bool hasRun = found.executed > 0;
    for (const double figure : {found.executed, found.cycles, found.fullMachineCycles, found.residentWarps})
      hasRun ? row.bind(figure) : row.bindNull();
    row.bind(listText(job.swapped)).bind(found.code).step();
    for (const FunctionFigures& f : found.functions) {
      Statement each(database_, "INSERT OR REPLACE INTO functions VALUES (?,?,?,?,?,?,?,?,?,?,?)");
      each.bind(id).bind(f.name).bind(std::int64_t{f.isKernel});
      for (const std::uint64_t figure :
           {std::uint64_t{f.registers}, std::uint64_t{f.uniformRegisters}, std::uint64_t{f.barriers},
            std::uint64_t{f.instructions}, f.codeBytes, f.sharedBytes, f.frameBytes})
        each.bind(static_cast<std::int64_t>(figure));
      job.assembler == Assembler::Orias ? each.bind(std::int64_t{f.spillBytes}) : each.bindNull();
      each.step();
    }
  });
}

void Store::setPlan(const std::string& plan, std::span<const std::string> ids) {
  together([&] {
    Statement(database_, "DELETE FROM plans WHERE plan = ?").bind(plan).step();
    for (std::size_t i = 0; i < ids.size(); ++i)
      Statement(database_, "INSERT INTO plans VALUES (?,?,?)")
          .bind(plan)
          .bind(static_cast<std::int64_t>(i))
          .bind(ids[i])
          .step();
  });
}

void Store::addSoakRun(const std::string& command, const SoakRun& run) {
  Statement row(database_, "INSERT OR REPLACE INTO soak VALUES (?,?,?,?,?)");
  row.bind(command)
      .bind(static_cast<std::int64_t>(run.seed))
      .bind(run.state)
      .bind(run.seconds)
      .bind(run.message)
      .step();
}

std::set<std::uint64_t> Store::soakedSeeds(const std::string& command) {
  Statement rows(database_, "SELECT seed FROM soak WHERE command = ?");
  rows.bind(command);
  std::set<std::uint64_t> seeds;
  while (rows.step())
    seeds.insert(static_cast<std::uint64_t>(rows.integer(0)));
  return seeds;
}

Store::Table Store::query(const std::string& sql) {
  Statement rows(database_, sql);
  if (!rows.isReadOnly()) throw Error("a query must not modify the store");
  Table table;
  for (int c = 0; c < rows.columns(); ++c)
    table.columns.push_back(rows.columnName(c));
  while (rows.step()) {
    auto& row = table.rows.emplace_back();
    auto& isNumber = table.isNumber.emplace_back();
    for (int c = 0; c < rows.columns(); ++c) {
      const int type = rows.type(c);
      isNumber.push_back(type == SQLITE_INTEGER || type == SQLITE_FLOAT);
      if (type == SQLITE_NULL)
        row.emplace_back(std::nullopt);
      else
        row.emplace_back(rows.text(c));
    }
  }
  return table;
}

} // namespace orias::lab
