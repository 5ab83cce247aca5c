// ANTLR's class for paths in parse trees, without what it is made of. Nothing here asks for it, but Parser refers to
// it, and before ANTLR 4.10 the lexer of paths builds its tables when a program starts: a sixth of the instructions of
// an empty kernel.
#include <antlr4-runtime.h>
#include <tree/xpath/XPath.h>
#include <tree/xpath/XPathElement.h>

namespace antlr4::tree::xpath {

XPath::XPath(Parser*, const std::string& path) {
  throw UnsupportedOperationException("no paths in parse trees: " + path);
}
std::vector<std::unique_ptr<XPathElement>> XPath::split(const std::string&) {
  return {};
}
std::vector<ParseTree*> XPath::evaluate(ParseTree*) {
  return {};
}
std::unique_ptr<XPathElement> XPath::getXPathElement(Token*, bool) {
  return nullptr;
}

} // namespace antlr4::tree::xpath
