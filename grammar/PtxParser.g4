// The syntax of PTX, up to ISA 9.0.
//
// Every decision but one (`bareStatement`) needs one token of lookahead. There is no left recursion, no labelled alternative
// and no labelled rule: the parser keeps only the contexts of the rules that it is inside of (see frontend/parser_base.h), and
// what a rule has read is taken over when the rule ends (see frontend/builder.h).
parser grammar PtxParser;

options { tokenVocab = PtxLexer; superClass = PtxParserBase; }

@parser::postinclude {
#include "frontend/parser_base.h"
}

module     : versionDirective targetDirective+ addressSizeDirective? moduleBody EOF ;
moduleBody : moduleItem* ;

versionDirective     : VERSION number=FLOAT ;
targetDirective      : TARGET targetName ( COMMA targetName )* ;
targetName           : name=ID ;
addressSizeDirective : ADDRESS_SIZE size=INT ;

moduleItem
  : linkage? ( function | variableDeclaration )
  | aliasDirective
  | fileDirective
  | pragmaDirective
  | sectionDirective
  ;

linkage : EXTERN | VISIBLE | WEAK | COMMON ;

aliasDirective  : ALIAS alias=( ID | CALL ) COMMA aliasee=( ID | CALL ) SEMICOLON ;
fileDirective   : FILE number=INT name=STRING ( COMMA timestamp=INT COMMA size=INT )? ;
pragmaDirective : PRAGMA pragmaText ( COMMA pragmaText )* SEMICOLON ;
pragmaText      : text=STRING ;

// ---- Functions

// The semicolon after the prototype of a `.func` may be left out.
function
  : entryHeader entryDirective* ( body | SEMICOLON )
  | funcHeader funcDirective* ( body | SEMICOLON )?
  ;

entryHeader : ENTRY attribute* functionName parameterList? ;
funcHeader  : FUNC attribute* returnList? functionName parameterList? ;

functionName  : name=( ID | CALL ) ;
returnList    : LPAREN ( parameter ( COMMA parameter )* )? RPAREN ;
parameterList : LPAREN ( parameter ( COMMA parameter )* )? RPAREN ;

parameter        : parameterSpace alignment? vector? type pointer? alignment? name=( ID | CALL | SINK ) parameterArray? ;
parameterSpace   : PARAM | REG ;
pointer          : PTR ( CONST | GLOBAL | LOCAL | SHARED )? ;
parameterArray   : LBRACKET size=INT? RBRACKET ;

entryDirective
  : directive=( MAXNTID | REQNTID | REQNCTAPERCLUSTER ) directiveNumber ( COMMA directiveNumber ( COMMA directiveNumber )? )?
  | directive=( MINNCTAPERSM | MAXNCTAPERSM | MAXNREG | MAXCLUSTERRANK ) directiveNumber
  | directive=( EXPLICITCLUSTER | BLOCKSARECLUSTERS )
  | pragmaDirective
  ;

funcDirective
  : directive=NORETURN
  | directive=( ABI_PRESERVE | ABI_PRESERVE_CONTROL ) directiveNumber
  ;

directiveNumber : value=INT ;

body  : LBRACE statement* RBRACE ;
block : LBRACE statement* RBRACE ;

// ---- Statements

statement
  : block
  | variableDeclaration
  | locDirective
  | pragmaDirective
  | fileDirective
  | guard ( plainOperation | suffixedOperation ) SEMICOLON
  | suffixedOperation SEMICOLON
  | bareStatement
  ;

// What begins with a word without suffix: only the token after it tells a label from an instruction.
bareStatement
  : label
  | plainOperation SEMICOLON
  ;

label
  : name=( ID | CALL ) COLON
    ( callPrototype | callTargets | branchTargets )?
  ;

guard : AT negation=NOT? name=( ID | CALL ) ;

plainOperation
  : plainOpcode modifier* operandList?
  | plainCall modifier* callOperands
  ;

suffixedOperation
  : suffixedOpcode modifier* operandList?
  | suffixedCall modifier* callOperands
  ;

plainOpcode    : name=ID ;
plainCall      : name=CALL ;
suffixedOpcode : name=DOTTED ;
suffixedCall   : name=CALL_DOTTED ;
// Suffixes that white space parts from the opcode.
modifier       : name=( DOTWORD | TYPE | VECTOR | CONST | GLOBAL | LOCAL | PARAM | SHARED | TEX | WEAK ) ;

operandList : operand ( COMMA operand )* ;

operand
  : nameOperand
  | componentOperand
  | sinkOperand
  | signedOperand
  | constantOperand
  | vectorOperand
  | addressOperand
  ;

// `%r1`, `symbol+4`, `%p|%q`, `%v .x`, `array[%r1+4]`
nameOperand
  : name=( ID | CALL )
    ( PLUS constant
    | OR second=( ID | CALL | SINK )
    | component=DOTWORD
    | LBRACKET arrayIndex RBRACKET
    )?
  ;

arrayIndex
  : indexName ( PLUS constant )?
  | constant
  ;

indexName : name=( ID | CALL ) ;

componentOperand : name=DOTTED ;
sinkOperand      : SINK ( OR second=( ID | CALL ) )? ;
// `!%p`, `-%r1.h0`, and constants that begin with one of these signs.
signedOperand    : operandSign ( signedName | constant ) ;
operandSign      : sign=( NOT | MINUS ) ;
signedName       : name=( ID | CALL ) component=DOTWORD? | name=DOTTED ;
constantOperand  : unsignedConstant ;
vectorOperand    : LBRACE operand ( COMMA operand )* RBRACE ( OR second=( ID | CALL | SINK ) )? ;
addressOperand   : LBRACKET addressBase ( COMMA operand )* RBRACKET ;
addressBase
  : addressName ( PLUS constant )?
  | constant
  ;
addressName : name=( ID | CALL ) ;

callOperands  : callReturns? callee ( COMMA ( callArguments ( COMMA callTarget )? | callTarget ) )? ;
callReturns   : LPAREN ( callArgument ( COMMA callArgument )* )? RPAREN COMMA ;
callArguments : LPAREN ( callArgument ( COMMA callArgument )* )? RPAREN ;
callee        : name=( ID | CALL ) ;
callTarget    : name=( ID | CALL ) ;
callArgument
  : callArgumentName
  | sinkOperand
  | constantOperand
  | callArgumentSigned
  ;
callArgumentName   : name=( ID | CALL ) ;
callArgumentSigned : operandSign constant ;

// ---- Prototypes and target lists, after a label

callPrototype       : CALLPROTOTYPE returnList? SINK parameterList? funcDirective* SEMICOLON ;
callTargets   : CALLTARGETS targetListName ( COMMA targetListName )* SEMICOLON ;
branchTargets : BRANCHTARGETS targetListName ( COMMA targetListName )* SEMICOLON ;
targetListName : name=( ID | CALL ) ;

// ---- Variables

variableDeclaration
  : ( alignment | attribute )* space ( alignment | attribute )* vector? type ( declarator ( COMMA declarator )* )? SEMICOLON
  ;

space
  : name=( REG | SREG | GLOBAL | LOCAL | PARAM | SHARED | TEX )
  | name=CONST ( LBRACKET bank=INT RBRACKET )?
  ;

alignment : ALIGN value=INT ;
vector    : name=VECTOR ;
type      : name=( TYPE | DOTWORD ) ;

attribute     : ATTRIBUTE LPAREN attributeItem ( COMMA attributeItem )* RPAREN ;
attributeItem : name=DOTWORD ( LPAREN first=INT COMMA second=INT RPAREN )? ;

declarator     : declaratorName ( family | arrayDimension+ )? ( ASSIGN initializer )? ;
declaratorName : name=( ID | CALL ) ;
// `%r<100>` declares `%r0` to `%r99`.
family         : LT count=INT GT ;
arrayDimension : LBRACKET constant? RBRACKET ;

initializer     : initializerList | initializerValue ;
initializerList : LBRACE ( initializerItem ( COMMA initializerItem )* )? RBRACE ;
initializerItem : initializerList | initializerValue ;

// `5`, `-1.5`, `symbol+4`, `generic(symbol)+4`, `0xFF00(symbol)`, and the fields of a sampler: `filter_mode = linear`
initializerValue
  : initializerName ( fieldValue | addressTail )
  | constant maskedAddress?
  ;
initializerName  : name=( ID | CALL ) ;
initializerInner : name=( ID | CALL ) ;
fieldValue       : ASSIGN ( value=( ID | CALL ) | constant ) ;
addressTail      : ( LPAREN initializerInner RPAREN )? ( PLUS constant )? ;
maskedAddress    : LPAREN initializerName addressTail RPAREN ;

// ---- Constant expressions: a flat list, the builder applies the precedence of C

constant       : constantTerms ( QUESTION constant COLON constantTerms )* ;
constantTerms  : constantTerm ( binaryOperator constantTerm )* ;
constantTerm   : prefixOperator* ( literal | LPAREN constant RPAREN ) ;
// An operand that begins with `-` or `!` may be a register; signedOperand reads these.
unsignedConstant : unsignedTerms ( QUESTION constant COLON constantTerms )* ;
unsignedTerms    : unsignedTerm ( binaryOperator constantTerm )* ;
unsignedTerm     : literal | LPAREN constant RPAREN | unsignedPrefix constantTerm ;
unsignedPrefix   : operation=( PLUS | TILDE | CAST ) ;
prefixOperator : operation=( MINUS | PLUS | TILDE | NOT | CAST ) ;
literal        : value=( INT | FLOAT | F32 | F64 | WARP_SZ ) ;
binaryOperator
  : operation=( PLUS | MINUS | STAR | SLASH | PERCENT | SHL | SHR | LT | GT | LE | GE | EQ | NE | AND | OR | XOR | LAND | LOR )
  ;

// ---- Debug data

locDirective
  : LOC file=INT line=INT column=INT
    ( COMMA keyword=ID ( locFunction | locPlace ) )*
  ;
locFunction : name=( ID | CALL | DOTWORD ) ( PLUS offset=INT )? ;
locPlace    : file=INT line=INT column=INT ;

sectionDirective : SECTION sectionName LBRACE sectionItem* RBRACE ;
sectionName      : name=DOTWORD ;
sectionItem
  : sectionLabel COLON
  | sectionType sectionValue ( COMMA sectionValue )*
  ;
sectionLabel  : name=( ID | CALL ) ;
sectionType   : name=TYPE ;
sectionValue  : sectionTerm sectionTail* ;
sectionTail   : sign=( PLUS | MINUS ) sectionTerm ;
sectionTerm   : sign=MINUS? value=INT | name=( ID | CALL | DOTWORD ) ;
