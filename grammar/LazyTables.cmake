# Run as a script over the generated parser in FOLDER: the tables of its automaton and the names of rules and tokens are built when
# somebody asks for them, not at the start of each program. The decisions take one token and need no table, but for `bareStatement`, whose usual cases
# PtxParserBase::usualBareStatement() knows; errors ask for what would have been expected. The tables are not verified
# where they are built: they are constants.

# exchange(FILE OLD NEW): OLD stands in FILE once.
function(exchange file old new)
  file(READ "${FOLDER}/${file}" code)
  string(FIND "${code}" "${old}" first)
  string(FIND "${code}" "${old}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "${file} as ANTLR generates it has no, or more than one, `${old}`: change grammar/LazyTables.cmake")
  endif()
  string(REPLACE "${old}" "${new}" code "${code}")
  file(WRITE "${FOLDER}/${file}" "${code}")
endfunction()

exchange(PtxParser.h "getATN() const override { return _atn; };" "getATN() const override { makeTables(); return _atn; };")
exchange(PtxParser.h "getTokenNames() const override { return _tokenNames; };"
                     "getTokenNames() const override { makeTables(); return _tokenNames; };")
exchange(PtxParser.h "static Initializer _init;" "static void makeTables() { static const Initializer tables; }")
exchange(PtxParser.cpp "PtxParser::Initializer PtxParser::_init;" "")
exchange(PtxParser.cpp "atn::ATNDeserializer deserializer;"
         "atn::ATNDeserializationOptions trusting;\n  trusting.setVerifyATN(false);\n  atn::ATNDeserializer deserializer(trusting);")
exchange(PtxParser.cpp "switch (getInterpreter<atn::ParserATNSimulator>()->adaptivePredict("
          "const size_t usual = usualBareStatement();
    if (usual == 0) makeTables();
    switch (usual != 0 ? usual : getInterpreter<atn::ParserATNSimulator>()->adaptivePredict(")

foreach(names ruleNames literalNames symbolicNames)
  exchange(PtxParser.cpp "std::vector<std::string> PtxParser::_${names} = {"
           "std::vector<std::string> PtxParser::_${names};\nstatic const std::initializer_list<const char*> ${names} = {")
endforeach()
exchange(PtxParser.cpp "PtxParser::_vocabulary(_literalNames, _symbolicNames)" "PtxParser::_vocabulary")
exchange(PtxParser.cpp "PtxParser::Initializer::Initializer() {"
         "PtxParser::Initializer::Initializer() {
  _ruleNames.assign(ruleNames.begin(), ruleNames.end());
  _literalNames.assign(literalNames.begin(), literalNames.end());
  _symbolicNames.assign(symbolicNames.begin(), symbolicNames.end());
  const dfa::Vocabulary _vocabulary(_literalNames, _symbolicNames);")
exchange(PtxParser.cpp "return _ruleNames" "makeTables();\n  return _ruleNames")
exchange(PtxParser.cpp "return _vocabulary"
         "makeTables();
  static dfa::Vocabulary vocabulary(_literalNames, _symbolicNames);
  return vocabulary")
