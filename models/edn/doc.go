// Package edn reads values in EDN, extensible data notation (github.com/edn-format/edn), the
// form in which Clojure programs such as Jepsen write data.
//
// A [Reader] takes one value after the other off a stream and knows on which line each begins,
// which is what a history of a million entries and an error message about one of them need. It
// keeps no more than one value. Nothing is evaluated: tags are kept as [Tagged], and the reader
// knows none of them.
//
// EDN values become Go values:
//
//	nil, true, false       nil, bool
//	42, 42N                int64; *big.Int if too large
//	4.2, 4.2M              float64
//	"text", \c             string, Char
//	:keyword, symbol       Keyword (without the colon), Symbol
//	[1 2], (1 2), #{1 2}   Vector, List, Set
//	{:a 1}                 Map, in the order written
//	#tag value             Tagged
//
// Comments (;) and discarded values (#_) are skipped.
package edn
