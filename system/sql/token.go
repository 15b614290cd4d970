package sql

import (
	"strconv"
	"strings"
)

type tokenKind int

const (
	tokEOF    tokenKind = iota
	tokError            // the text is wrong here: see token.err
	tokWord             // a keyword or a bare identifier
	tokQuoted           // an identifier in backquotes
	tokDouble           // in double quotes: an identifier or, among VALUES, a string
	tokString           // in single quotes
	tokNumber           //
	tokOp               // an operator, or one of ( ) , ; . [ ] ::
)

type token struct {
	kind tokenKind
	at   Pos
	// text is the token without its quotes.
	text string
	// upper is a word in upper case, for comparison with keywords; else "".
	upper string
	err   *Error
}

// shownLength is how much of a token an error message shows.
const shownLength = 32

// describe names the token in an error message, on one line.
func (t token) describe() string {
	text := t.text
	if r := []rune(text); len(r) > shownLength {
		text = string(r[:shownLength]) + "..."
	}
	switch t.kind {
	case tokEOF:
		return "the end of the text"
	case tokWord:
		if isReserved(t.upper) {
			return t.upper
		}
		return strconv.Quote(text)
	case tokQuoted:
		return "the identifier " + strconv.Quote(text)
	case tokDouble:
		return "the identifier or string " + strconv.Quote(text)
	case tokString:
		return "the string " + strconv.Quote(text)
	default:
		return text
	}
}

// reserved are the words that name nothing unless they are quoted. They are PostgreSQL's, as far
// as this dialect has to know them.
var reserved = wordSet(`
	ALL ANALYSE ANALYZE AND ANY ARRAY AS ASC ASYMMETRIC BOTH CASE CAST CHECK COLLATE COLUMN
	CONSTRAINT CREATE CROSS CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DEFAULT DEFERRABLE DESC
	DISTINCT DO ELSE END EXCEPT FALSE FETCH FOR FOREIGN FROM FULL GRANT GROUP HAVING ILIKE IN
	INITIALLY INNER INTERSECT INTO IS ISNULL JOIN LATERAL LEADING LEFT LIKE LIMIT LOCALTIME
	LOCALTIMESTAMP NATURAL NOT NOTNULL NULL OFFSET ON ONLY OR ORDER OUTER OVERLAPS PLACING PRIMARY
	REFERENCES RETURNING RIGHT SELECT SIMILAR SOME SYMMETRIC TABLE TABLESAMPLE THEN TO TRAILING TRUE
	UNION UNIQUE USING VALUES VARIADIC VERBOSE WHEN WHERE WINDOW WITH`)

// upperASCII and lowerASCII fold the case of a word. Letters beyond ASCII stay as they are: none
// of them turns a word into a keyword.
func upperASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}, s)
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

func isReserved(upper string) bool { return reserved[upper] }

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}
