package sql

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexer cuts a text into tokens.
type lexer struct {
	text   string
	pos    Pos // of what is next
	tokens []token
}

// lex returns the tokens of a text. The last is a tokEOF or, where the text can't be cut any
// further, a tokError: the parser reports it if it gets so far.
func lex(text string) []token {
	l := &lexer{text: text, pos: Pos{Line: 1, Column: 1}, tokens: make([]token, 0, len(text)/4+1)}
	if strings.HasPrefix(text, byteOrderMark) {
		l.pos.Offset = len(byteOrderMark) // which is no character of the first line
	}
	for {
		t := l.next()
		l.tokens = append(l.tokens, t)
		if t.kind == tokEOF || t.kind == tokError {
			return l.tokens
		}
	}
}

// byteOrderMark is how some editors begin a text in UTF-8.
const byteOrderMark = "\ufeff"

// rest is the text not yet read.
func (l *lexer) rest() string { return l.text[l.pos.Offset:] }

// advance moves over n bytes, which hold whole characters.
func (l *lexer) advance(n int) string {
	read := l.text[l.pos.Offset : l.pos.Offset+n]
	l.pos.Offset += n
	if lines := strings.Count(read, "\n"); lines > 0 {
		l.pos.Line += lines
		l.pos.Column = 1 + utf8.RuneCountInString(read[strings.LastIndexByte(read, '\n')+1:])
	} else {
		l.pos.Column += utf8.RuneCountInString(read)
	}
	return read
}

func badToken(at Pos, format string, args ...any) token {
	return token{kind: tokError, at: at, err: &Error{Kind: ErrSyntax, At: at, Detail: fmt.Sprintf(format, args...)}}
}

func unsupportedToken(at Pos, construct string) token {
	return token{kind: tokError, at: at, err: UnsupportedAt(at, construct)}
}

func (l *lexer) next() token {
	if unclosed, ok := l.skipBlank(); !ok {
		return unclosed
	}
	at, rest := l.pos, l.rest()
	if rest == "" {
		return token{kind: tokEOF, at: at}
	}
	c := rest[0]
	switch {
	case c == '\'':
		return l.quoted(tokString, "string")
	case c == '"':
		return l.quoted(tokDouble, "double-quoted identifier or string")
	case c == '`':
		return l.quoted(tokQuoted, "identifier")
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number()
	case strings.HasPrefix(rest, "::"):
		return token{kind: tokOp, at: at, text: l.advance(2)}
	case strings.IndexByte("(),;.[]", c) >= 0:
		return token{kind: tokOp, at: at, text: l.advance(1)}
	case c == '$':
		return unsupportedToken(at, "$ (a parameter or a dollar-quoted string)")
	case isOperatorByte(c):
		return l.operator()
	}
	if n := wordLength(rest); n > 0 {
		return l.word(n)
	}
	r, size := utf8.DecodeRuneInString(rest)
	if r == utf8.RuneError && size <= 1 {
		return badToken(at, "byte 0x%02x is not UTF-8", c)
	}
	return badToken(at, "unexpected character %q", r)
}

// skipBlank moves over white space and comments. It returns false, and an error, at a comment
// that does not end.
func (l *lexer) skipBlank() (token, bool) {
	for {
		rest := l.rest()
		blank := len(rest) - len(strings.TrimLeft(rest, " \t\r\n\f\v"))
		switch {
		case blank > 0:
			l.advance(blank)
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.advance(n)
		case strings.HasPrefix(rest, "/*"):
			n := commentLength(rest)
			if n < 0 {
				return badToken(l.pos, "the comment /* is never closed"), false
			}
			l.advance(n)
		default:
			return token{}, true
		}
	}
}

// commentLength returns the length of the /* comment that the text begins with. They nest, as in
// PostgreSQL. It is negative if the comment does not end.
func commentLength(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// quoted reads a token in quotes. A quote within is written twice.
func (l *lexer) quoted(kind tokenKind, what string) token {
	at, rest := l.pos, l.rest()
	quote := rest[0]
	end := 1
	for {
		n := strings.IndexByte(rest[end:], quote)
		if n < 0 {
			return badToken(at, "the %s is never closed", what)
		}
		end += n + 1
		if end == len(rest) || rest[end] != quote {
			break
		}
		end++
	}
	if bad := invalidUTF8(rest[:end]); bad >= 0 {
		l.advance(bad)
		return badToken(l.pos, "byte 0x%02x in the %s is not UTF-8", rest[bad], what)
	}
	q := string(quote)
	return token{kind: kind, at: at, text: strings.ReplaceAll(l.advance(end)[1:end-1], q+q, q)}
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// number reads digits, a fraction and an exponent.
func (l *lexer) number() token {
	at, rest := l.pos, l.rest()
	n := digits(rest, 0)
	if n < len(rest) && rest[n] == '.' {
		n = digits(rest, n+1)
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		exponent := n + 1
		if exponent < len(rest) && (rest[exponent] == '+' || rest[exponent] == '-') {
			exponent++
		}
		if end := digits(rest, exponent); end > exponent {
			n = end
		}
	}
	if extra := wordLength(rest[n:]); extra > 0 {
		return badToken(at, "%q is not a number; is a space missing?", rest[:n+min(extra, shownLength)])
	}
	return token{kind: tokNumber, at: at, text: l.advance(n)}
}

// digits returns where the digits that begin at i end.
func digits(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// operators are those the parser knows.
var operators = wordSet("+ - * / % ^ = < > <= >= <> != ||")

// operator reads the longest run of operator characters, by PostgreSQL's two exceptions: a
// comment ends it, and it ends with + or - only if a character stands in it that no operator of
// standard SQL has.
func (l *lexer) operator() token {
	at, rest := l.pos, l.rest()
	n := 0
	for n < len(rest) && isOperatorByte(rest[n]) && !strings.HasPrefix(rest[n:], "--") && !strings.HasPrefix(rest[n:], "/*") {
		n++
	}
	for n > 1 && (rest[n-1] == '+' || rest[n-1] == '-') && !strings.ContainsAny(rest[:n], "~!@#%^&|?") {
		n--
	}
	if op := rest[:n]; !operators[op] {
		return unsupportedToken(at, "operator "+op[:min(n, shownLength)])
	}
	return token{kind: tokOp, at: at, text: l.advance(n)}
}

// word reads a word of n bytes.
func (l *lexer) word(n int) token {
	at, rest := l.pos, l.rest()
	if n < len(rest) && rest[n] == '\'' {
		if prefix := upperASCII(rest[:n]); prefix == "E" || prefix == "B" || prefix == "X" || prefix == "N" {
			return unsupportedToken(at, prefix+"'...' (a string with a prefix)")
		}
	}
	text := l.advance(n)
	return token{kind: tokWord, at: at, text: text, upper: upperASCII(text)}
}

// wordLength returns the length of the word that s begins with, or 0.
func wordLength(s string) int {
	for i, r := range s {
		letter := r == '_' || r < utf8.RuneSelf && (r|0x20 >= 'a' && r|0x20 <= 'z') ||
			r >= utf8.RuneSelf && r != utf8.RuneError && unicode.IsLetter(r)
		if !letter && (i == 0 || r != '$' && !(r >= '0' && r <= '9')) {
			return i
		}
	}
	return len(s)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isOperatorByte(c byte) bool { return strings.IndexByte("+-*/<>=~!@#%^&|?", c) >= 0 }
