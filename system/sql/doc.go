// Package sql parses the SQL that a flow node understands into a typed syntax tree.
//
//	statements, err := sql.Parse("CREATE FLOW f SINK TO out AS SELECT sum(n) FROM t;")
//
// The dialect is the flow engine's: one-table SELECT, CREATE TABLE with TIME INDEX, CREATE FLOW,
// DROP, FLUSH FLOW, INSERT, DELETE, SHOW and EXPLAIN. Where a text is PostgreSQL too, it means
// what it means there: the same precedences, the same trees. What the dialect adds:
//
//   - identifiers may be quoted with backquotes or double quotes, keep their case, and need no
//     quotes for case to count; names of functions and keywords have no case;
//   - among the VALUES of an INSERT a double-quoted token is a string;
//   - a comma may end a SELECT list, a column list, a row of VALUES and the list of rows.
//
// # From text to tree
//
// A lexer cuts the text into tokens, and a recursive descent parser (for expressions, precedence
// climbing) builds [Statement] nodes out of them. Every [Node] knows its [Pos]: its first token,
// or for what stands between operands (a [Binary], a [Join], a [SetOp]) its operator, since that
// is where an error about it should point. String turns any node back into SQL that parses to
// the same tree; [Inspect] visits all nodes below one.
//
// The parser judges form only. Whether a table, a column or a function exists, and what types go
// together, is the planner's to say. Joins, set operations, subqueries and other constructs of
// which a flow can't be made are in the tree for it to refuse by name and place: see
// [Unsupported]. Constructs farther out, such as window functions, the parser itself refuses so.
//
// # Errors
//
// All errors are of type [*Error] and say on one line what is wrong and where. errors.Is tells
// [ErrSyntax] (the text is no SQL) from [ErrUnsupported] (it is, but not of this dialect).
// [Error.Caret] draws the place. No input makes the parser panic or exhaust the stack: what nests
// deeper than [MaxDepth] is refused.
package sql
