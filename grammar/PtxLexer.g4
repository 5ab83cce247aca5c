// The tokens of PTX, up to ISA 9.0.
//
// Opcodes are words, not keywords: which opcodes and modifiers exist is said by the instruction table. An opcode with its
// suffixes, `ld.global.L2::128B.v4.u32`, is one token, and so is a register with a component, `%tid.x`.
// frontend/lexer.cpp makes the same tokens faster; a test holds the two together.
lexer grammar PtxLexer;

// Module directives.
VERSION      : '.version' ;
TARGET       : '.target' ;
ADDRESS_SIZE : '.address_size' ;
FILE         : '.file' ;
LOC          : '.loc' ;
SECTION      : '.section' ;
PRAGMA       : '.pragma' ;
ALIAS        : '.alias' ;

// Functions.
ENTRY          : '.entry' ;
FUNC           : '.func' ;
CALLPROTOTYPE  : '.callprototype' ;
CALLTARGETS    : '.calltargets' ;
BRANCHTARGETS  : '.branchtargets' ;

// Performance and calling directives.
MAXNTID              : '.maxntid' ;
REQNTID              : '.reqntid' ;
MINNCTAPERSM         : '.minnctapersm' ;
MAXNCTAPERSM         : '.maxnctapersm' ;
MAXNREG              : '.maxnreg' ;
REQNCTAPERCLUSTER    : '.reqnctapercluster' ;
EXPLICITCLUSTER      : '.explicitcluster' ;
MAXCLUSTERRANK       : '.maxclusterrank' ;
BLOCKSARECLUSTERS    : '.blocksareclusters' ;
NORETURN             : '.noreturn' ;
ABI_PRESERVE         : '.abi_preserve' ;
ABI_PRESERVE_CONTROL : '.abi_preserve_control' ;

// Linkage, state spaces, attributes of variables.
EXTERN    : '.extern' ;
VISIBLE   : '.visible' ;
WEAK      : '.weak' ;
COMMON    : '.common' ;
REG       : '.reg' ;
SREG      : '.sreg' ;
CONST     : '.const' ;
GLOBAL    : '.global' ;
LOCAL     : '.local' ;
PARAM     : '.param' ;
SHARED    : '.shared' ;
TEX       : '.tex' ;
ALIGN     : '.align' ;
PTR       : '.ptr' ;
ATTRIBUTE : '.attribute' ;

VECTOR : '.v2' | '.v4' | '.v8' ;

TYPE
  : '.pred'
  | '.b8' | '.b16' | '.b32' | '.b64' | '.b128'
  | '.u8' | '.u16' | '.u32' | '.u64'
  | '.s8' | '.s16' | '.s32' | '.s64'
  | '.f16' | '.f16x2' | '.f32' | '.f64'
  | '.texref' | '.samplerref' | '.surfref'
  ;

// Numbers. A sign is an operator. `.5` is a number, `.1d` is a modifier: the longest match decides.
F32   : '0' [fF] HEX HEX HEX HEX HEX HEX HEX HEX ;
F64   : '0' [dD] HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX HEX ;
FLOAT : [0-9]+ '.' [0-9]* EXPONENT? | '.' [0-9]+ EXPONENT? | [0-9]+ EXPONENT ;
INT   : ( '0' [xX] HEX+ | '0' [bB] [01]+ | '0' [0-7]* | [1-9] [0-9]* ) 'U'? ;

STRING : '"' ~["]* '"' ;

// Words. `call` has its own operand syntax; it is also an ordinary name. `_` stands for a destination that nobody reads.
CALL        : 'call' ;
CALL_DOTTED : 'call' ( '.' SUFFIX )+ ;
WARP_SZ     : 'WARP_SZ' ;
SINK        : '_' ;
ID          : [A-Za-z] [A-Za-z0-9_$]* | [_$%] [A-Za-z0-9_$]+ ;
DOTTED      : ( [A-Za-z] [A-Za-z0-9_$]* | [_$%] [A-Za-z0-9_$]+ ) ( '.' SUFFIX )+ ;
DOTWORD     : '.' SUFFIX ;

// `(.s64)` before a constant; one token, so that `(` alone always opens a list or an expression.
CAST : '(' [ \t]* '.' ( 's64' | 'u64' | 'f64' | 's32' | 'u32' | 'f32' ) [ \t]* ')' ;

AT        : '@' ;
COLON     : ':' ;
SEMICOLON : ';' ;
COMMA     : ',' ;
LPAREN    : '(' ;
RPAREN    : ')' ;
LBRACKET  : '[' ;
RBRACKET  : ']' ;
LBRACE    : '{' ;
RBRACE    : '}' ;
ASSIGN    : '=' ;
QUESTION  : '?' ;
NOT       : '!' ;
TILDE     : '~' ;
PLUS      : '+' ;
MINUS     : '-' ;
STAR      : '*' ;
SLASH     : '/' ;
PERCENT   : '%' ;
SHL       : '<<' ;
SHR       : '>>' ;
LT        : '<' ;
GT        : '>' ;
LE        : '<=' ;
GE        : '>=' ;
EQ        : '==' ;
NE        : '!=' ;
AND       : '&' ;
OR        : '|' ;
XOR       : '^' ;
LAND      : '&&' ;
LOR       : '||' ;

WHITESPACE    : [ \t\r\n\u000B\f]+ -> skip ;
LINE_COMMENT  : '//' ~[\n]* -> skip ;
BLOCK_COMMENT : '/*' .*? '*/' -> skip ;
// `# 12 "file.cu"`, left by a preprocessor.
LINE_MARKER   : '#' [ \t]* [0-9]+ ~[\n]* -> skip ;

// What is wrong becomes a token of its own, so that the parser can say so and go on.
UNTERMINATED_COMMENT : '/*' ( ~'*' | '*'+ ~[*/] )* '*'* ;
UNTERMINATED_STRING  : '"' ~["]* ;
UNKNOWN              : . ;

fragment HEX      : [0-9a-fA-F] ;
fragment EXPONENT : [eE] [+-]? [0-9]+ ;
fragment SUFFIX   : [A-Za-z0-9_$]+ ( '::' [A-Za-z0-9_$]+ )* ;
