#include "test/differential/generator/function_writer.h"

namespace orias::generator {

// A condition that is uniform in the block keeps all threads together. Another condition splits the lanes of a warp;
// votes before the branch give the exact masks of both sides.
void FunctionWriter::branch() {
  Context then = inner(), otherwise = inner();
  std::string predicate = random_.percent(35) ? uniformPredicate() : std::string();
  const bool isUniform = !predicate.empty();
  if (!isUniform) {
    predicate = readRegister(Kind::Pred);
    then.blockUniform = otherwise.blockUniform = false;
    const std::string mask = context().mask;
    then.mask.clear();
    otherwise.mask.clear();
    if (!mask.empty() && random_.percent(70)) {
      then.mask = fresh(Kind::B32);
      otherwise.mask = fresh(Kind::B32);
      emit("vote.sync.ballot.b32 {}, {}, {}", then.mask, predicate, mask);
      emit("vote.sync.ballot.b32 {}, !{}, {}", otherwise.mask, predicate, mask);
    }
  }
  const std::string elseLabel = newLabel(), endLabel = newLabel();
  const bool hasElse = random_.percent(60);
  emit("@!{} bra{} {}", predicate, isUniform && random_.percent(30) ? ".uni" : "", hasElse ? elseLabel : endLabel);
  block(then, innerStatements());
  if (hasElse) {
    emit("bra {}", endLabel);
    label(elseLabel);
    block(otherwise, innerStatements());
  }
  label(endLabel);
}

void FunctionWriter::switchStatement() {
  const unsigned cases = random_.between(2, 5);
  std::string selector = readRegister(Kind::B32), number = fresh(Kind::B32);
  emit("{} {}, {}, {}", random_.percent(50) ? "rem.u32" : "and.b32", number, selector, cases - 1 + random_.below(2));
  std::vector<std::string> labels;
  for (unsigned i = 0; i < cases; ++i)
    labels.push_back(newLabel());
  const std::string endLabel = newLabel();
  std::string inRange = fresh(Kind::Pred);
  if (random_.percent(profile_.weight(Statement::Unusual) ? 40 : 0)) {
    std::string list, table = newLabel();
    for (const std::string& name : labels)
      list += (list.empty() ? "" : ", ") + name;
    code_ += fmt::format("{}: .branchtargets {};\n", table, list);
    emit("setp.ge.u32 {}, {}, {}", inRange, number, cases);
    emit("@{} bra {}", inRange, endLabel);
    emit("brx.idx {}, {}", number, table);
  } else {
    for (unsigned i = 0; i < cases; ++i) {
      emit("setp.eq.s32 {}, {}, {}", inRange, number, i);
      emit("@{} bra {}", inRange, labels[i]);
    }
    emit("bra {}", endLabel);
  }
  Context arm = inner();
  arm.blockUniform = false;
  arm.mask.clear();
  for (const std::string& name : labels) {
    label(name);
    block(arm, random_.between(1, 3));
    if (random_.percent(80)) emit("bra {}", endLabel);
  }
  label(endLabel);
}

void FunctionWriter::uniformLoop() {
  Context body = inner();
  const unsigned trips = random_.between(1, context().repetitions > 4 ? 3 : 6);
  body.repetitions *= trips;
  // Threads may only leave a loop separately if no thread depends on the others. A thread must not exit if others wait
  // for it in the next iteration.
  body.breakLabel.clear();
  body.continueLabel.clear();
  const std::string head = newLabel(), next = newLabel(), end = newLabel();
  if (random_.percent(30)) {
    body.blockUniform = false;
    body.mask.clear();
    body.breakLabel = end;
    body.continueLabel = next;
  }
  body.mayExit = context().mayExit && !body.blockUniform && body.mask.empty();
  const bool isUniform = context().blockUniform;
  std::string counter = fresh(Kind::B32), predicate = fresh(Kind::Pred);
  const bool goesDown = random_.percent(30), testsFirst = random_.percent(30);
  const unsigned step = random_.percent(70) ? 1 : random_.between(2, 5);
  emit("mov.u32 {}, {}", counter, goesDown ? trips * step : 0);
  label(head);
  const auto test = [&](bool leave) {
    emit("setp.{}.s32 {}, {}, {}", goesDown ? (leave ? "eq" : "ne") : (leave ? "ge" : "lt"), predicate, counter,
         goesDown ? 0 : trips * step);
    emit("@{} bra {}", predicate, leave ? end : head);
  };
  if (testsFirst) test(true);
  const Values::Mark mark = values_.mark();
  addValue(Kind::B32, counter, isUniform, true);
  block(body, innerStatements());
  values_.release(mark);
  label(next);
  emit("{} {}, {}, {}", goesDown ? "sub.s32" : "add.s32", counter, counter, step);
  if (testsFirst)
    emit("bra {}", head);
  else
    test(false);
  label(end);
}

void FunctionWriter::divergentLoop() {
  Context body = inner();
  const unsigned most = context().repetitions > 2 ? 3 : 7;
  body.repetitions *= most;
  body.blockUniform = false;
  body.breakLabel.clear();
  body.continueLabel.clear();
  const std::string head = newLabel(), next = newLabel(), end = newLabel();
  std::string bound = readRegister(Kind::B32), counter = fresh(Kind::B32), predicate = fresh(Kind::Pred);
  emit("and.b32 {}, {}, {}", counter, bound, most);
  const Values::Mark mark = values_.mark();
  addValue(Kind::B32, counter, false, true);
  if (!context().mask.empty() && random_.percent(60)) {
    // A vote at the end of each iteration gives the mask of the next one.
    body.mask = fresh(Kind::B32);
    body.mayExit = false;
    emit("mov.b32 {}, {}", body.mask, context().mask);
    label(head);
    block(body, innerStatements());
    emit("sub.s32 {}, {}, 1", counter, counter);
    emit("setp.gt.s32 {}, {}, 0", predicate, counter);
    emit("vote.sync.ballot.b32 {}, {}, {}", body.mask, predicate, body.mask);
    emit("@{} bra {}", predicate, head);
  } else {
    body.mask.clear();
    body.breakLabel = end;
    body.continueLabel = next;
    label(head);
    emit("setp.eq.s32 {}, {}, 0", predicate, counter);
    emit("@{} bra {}", predicate, end);
    block(body, innerStatements());
    label(next);
    emit("sub.s32 {}, {}, 1", counter, counter);
    emit("bra {}", head);
  }
  values_.release(mark);
  label(end);
}

void FunctionWriter::leaveLoop() {
  emit("@{} bra {}", readPredicate(true), random_.percent(50) ? context().breakLabel : context().continueLabel);
}

// Forward jumps that nested ifs cannot express: from the first region into the middle of the second.
void FunctionWriter::gotoStatement() {
  Context region = inner();
  region.blockUniform = false;
  region.mask.clear();
  const std::string second = newLabel(), middle = newLabel(), end = newLabel();
  emit("@{} bra {}", readPredicate(true), second);
  block(region, random_.between(1, 3));
  emit("@{} bra {}", readPredicate(true), middle);
  block(region, random_.between(1, 3));
  if (random_.percent(70)) emit("bra {}", end);
  label(second);
  block(region, random_.between(1, 3));
  if (random_.percent(30)) emit("@{} bra {}", readPredicate(true), end);
  label(middle);
  block(region, random_.between(1, 3));
  label(end);
}

// A loop that is entered at its head or in its middle.
void FunctionWriter::twoEntryLoop() {
  Context body = inner();
  body.blockUniform = false;
  body.mask.clear();
  body.breakLabel.clear();
  body.continueLabel.clear();
  body.repetitions *= 4;
  const std::string head = newLabel(), middle = newLabel();
  std::string bound = readRegister(Kind::B32), counter = fresh(Kind::B32), predicate = fresh(Kind::Pred);
  emit("and.b32 {}, {}, 3", counter, bound);
  emit("@{} bra {}", readPredicate(true), middle);
  label(head);
  block(body, random_.between(1, 3));
  label(middle);
  block(body, random_.between(1, 3));
  emit("sub.s32 {}, {}, 1", counter, counter);
  emit("setp.ge.s32 {}, {}, 0", predicate, counter);
  emit("@{} bra {}", predicate, head);
}

void FunctionWriter::exitStatement() {
  std::string predicate = readRegister(Kind::Pred);
  std::string remaining;
  if (context().depth == 0 && !context().mask.empty() && random_.percent(60)) {
    remaining = fresh(Kind::B32);
    emit("vote.sync.ballot.b32 {}, !{}, {}", remaining, predicate, context().mask);
  }
  emit("@{} {}", predicate, random_.percent(50) ? "exit" : "ret");
  forgetThreads();
  context().mask = remaining;
}

void FunctionWriter::call() {
  if (module_.callees.empty() || (module_.callees.size() < 3 && random_.percent(30))) {
    FunctionWriter callee(random_.next(), profile_, module_, false);
    callee.deviceFunction(fmt::format("f{}{}", module_.callees.size(), module_.suffix));
  }
  const Callee& callee = random_.pick(module_.callees);
  std::string arguments;
  readUniform_ = true;
  std::vector<std::string> values;
  for (Kind kind : callee.parameters)
    values.push_back(read(kind));
  code_ += "  {\n";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const char* type = info(callee.parameters[i]).type;
    emit(".param .{} a{}", type, i);
    emit("st.param.{} [a{}], {}", type, i, values[i]);
    arguments += fmt::format("{}a{}", i ? ", " : "", i);
  }
  const char* type = info(callee.result).type;
  emit(".param .{} returned", type);
  emit("call{} (returned), {}, ({})", random_.percent(70) ? ".uni" : "", callee.name, arguments);
  readUniform_ = false;
  emit("ld.param.{} {}, [returned]", type, result(callee.result));
  code_ += "  }\n";
}

} // namespace orias::generator
