#pragma once

// What the generated parser needs of ANTLR's runtime. This header stands before the runtime's own one of this name,
// which includes all of it: that takes longer, and one of its headers (InterpreterDataReader.h of 4.9) is no C++20 for
// clang.

#include <ANTLRInputStream.h>
#include <CommonToken.h>
#include <CommonTokenFactory.h>
#include <CommonTokenStream.h>
#include <DefaultErrorStrategy.h>
#include <FailedPredicateException.h>
#include <InputMismatchException.h>
#include <Lexer.h>
#include <NoViableAltException.h>
#include <Parser.h>
#include <ParserRuleContext.h>
#include <Vocabulary.h>
#include <atn/ATN.h>
#include <atn/ATNDeserializer.h>
#include <atn/LexerATNSimulator.h>
#include <atn/ParserATNSimulator.h>
#include <dfa/DFA.h>
#include <tree/ErrorNode.h>
#include <tree/ParseTreeListener.h>
#include <tree/TerminalNode.h>
