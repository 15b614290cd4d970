package edn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrSyntax is what every error about the form of the input wraps.
var ErrSyntax = errors.New("malformed EDN")

// SyntaxError says what is wrong on which line, counted from 1.
type SyntaxError struct {
	Line    int
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%v: line %d: %s", ErrSyntax, e.Line, e.Message)
}

// Unwrap makes errors.Is(err, ErrSyntax) true.
func (e *SyntaxError) Unwrap() error { return ErrSyntax }

// depthLimit keeps hostile input from exhausting the stack.
const depthLimit = 1000

// Reader takes values off a stream.
type Reader struct {
	in   *bufio.Reader
	line int
	// inside is the bracket that closes the sequence which is the whole input, 0 if there is none.
	inside  rune
	started bool
	depth   int
	// held is a rune that was taken back, 0 if there is none.
	held rune
}

// NewReader reads from r, through a buffer of its own.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReader(r), line: 1} }

// Next is the next value of the input, and the line on which it begins. If the input begins with
// a vector or list, that is taken as a sequence of values and its elements come one by one: a
// file of maps and a file of one vector of maps read alike. The error is io.EOF after the last
// value, a [SyntaxError], or the stream's own.
func (r *Reader) Next() (value any, line int, err error) {
	if !r.started {
		r.started = true
		if err := r.enter(); err != nil {
			return nil, r.line, err
		}
	}
	c, err := r.skip()
	switch {
	case errors.Is(err, io.EOF) && r.inside != 0:
		return nil, r.line, r.errorf("the input ends before the closing %q", r.inside)
	case err != nil:
		return nil, r.line, err
	case r.inside != 0 && c == r.inside:
		r.inside = 0
		if _, err := r.skip(); !errors.Is(err, io.EOF) {
			return nil, r.line, r.errorOr(err, "there is more after the closing bracket of the whole")
		}
		return nil, r.line, io.EOF
	}
	line = r.line
	value, err = r.value(c)
	return value, line, unexpectedEnd(r, err)
}

// enter steps into the sequence that is the whole input, if it is one.
func (r *Reader) enter() error {
	c, err := r.skip()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case c == '[':
		r.inside = ']'
	case c == '(':
		r.inside = ')'
	default:
		r.held = c
	}
	return nil
}

// unexpectedEnd makes an error of an input that ends within a value.
func unexpectedEnd(r *Reader, err error) error {
	if errors.Is(err, io.EOF) {
		return r.errorf("the input ends within a value")
	}
	return err
}

func (r *Reader) errorf(format string, args ...any) error {
	return &SyntaxError{Line: r.line, Message: fmt.Sprintf(format, args...)}
}

func (r *Reader) errorOr(err error, message string) error {
	if err != nil {
		return err
	}
	return r.errorf("%s", message)
}

func (r *Reader) next() (rune, error) {
	if c := r.held; c != 0 {
		r.held = 0
		if c == '\n' {
			r.line++
		}
		return c, nil
	}
	c, size, err := r.in.ReadRune()
	if err != nil {
		return 0, err
	}
	if c == utf8.RuneError && size == 1 {
		return 0, r.errorf("not UTF-8")
	}
	if c == '\n' {
		r.line++
	}
	return c, nil
}

// skip takes white space and comments away and returns the rune after them.
func (r *Reader) skip() (rune, error) {
	for {
		c, err := r.next()
		if err != nil {
			return 0, err
		}
		switch {
		case c == ';':
			for c != '\n' {
				if c, err = r.next(); err != nil {
					return 0, err
				}
			}
		case c == '#':
			ahead, err := r.in.Peek(1)
			if err != nil || ahead[0] != '_' {
				return c, nil
			}
			_, _ = r.next()
			if c, err = r.skip(); err == nil {
				_, err = r.value(c)
			}
			if err != nil {
				return 0, unexpectedEnd(r, err)
			}
		case !isSpace(c):
			return c, nil
		}
	}
}

func isSpace(c rune) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == '\f'
}

// value reads the value that begins with c.
func (r *Reader) value(c rune) (any, error) {
	if r.depth++; r.depth > depthLimit {
		return nil, r.errorf("nested deeper than %d", depthLimit)
	}
	defer func() { r.depth-- }()
	switch c {
	case '"':
		return r.text()
	case '\\':
		return r.char()
	case '[':
		elements, err := r.sequence(']')
		return Vector(elements), err
	case '(':
		elements, err := r.sequence(')')
		return List(elements), err
	case '{':
		return r.mapping()
	case '#':
		return r.dispatch()
	case ']', ')', '}':
		return nil, r.errorf("%q closes nothing", c)
	}
	token, err := r.token(c)
	if err != nil {
		return nil, err
	}
	return r.atom(token)
}

func (r *Reader) sequence(closing rune) ([]any, error) {
	var elements []any
	for {
		c, err := r.skip()
		if err != nil {
			return nil, err
		}
		if c == closing {
			return elements, nil
		}
		value, err := r.value(c)
		if err != nil {
			return nil, err
		}
		elements = append(elements, value)
	}
}

func (r *Reader) mapping() (any, error) {
	elements, err := r.sequence('}')
	if err != nil {
		return nil, err
	}
	if len(elements)%2 != 0 {
		return nil, r.errorf("a map has a key without a value")
	}
	m := make(Map, 0, len(elements)/2)
	for i := 0; i < len(elements); i += 2 {
		if key, ok := elements[i].(Keyword); ok {
			if _, twice := m.Get(key); twice {
				return nil, r.errorf("a map has the key :%s twice", key)
			}
		}
		m = append(m, Pair{elements[i], elements[i+1]})
	}
	return m, nil
}

// dispatch reads what follows a number sign: a set, a symbolic value or a tagged one.
func (r *Reader) dispatch() (any, error) {
	c, err := r.next()
	if err != nil {
		return nil, err
	}
	switch {
	case c == '{':
		elements, err := r.sequence('}')
		return Set(elements), err
	case c == '"':
		return r.text() // a regular expression, as Clojure prints them
	case isSpace(c) || isDelimiter(c):
		return nil, r.errorf("# is followed by nothing it could mark")
	}
	tag, err := r.token(c)
	if err != nil {
		return nil, err
	}
	if c, err = r.skip(); err != nil {
		return nil, err
	}
	value, err := r.value(c)
	return Tagged{tag, value}, err
}

func isDelimiter(c rune) bool { return strings.ContainsRune(`"()[]{};`, c) }

// token reads on to the next delimiter.
func (r *Reader) token(first rune) (string, error) {
	var b strings.Builder
	b.WriteRune(first)
	for {
		c, err := r.next()
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		if isSpace(c) || isDelimiter(c) {
			if r.held = c; c == '\n' {
				r.line-- // what is wrong with the token is on its own line
			}
			return b.String(), nil
		}
		b.WriteRune(c)
	}
}

func (r *Reader) atom(token string) (any, error) {
	switch token {
	case "nil":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if name, ok := strings.CutPrefix(token, ":"); ok {
		if name == "" {
			return nil, r.errorf("a keyword without a name")
		}
		return Keyword(name), nil
	}
	digits := strings.TrimLeft(token, "+-")
	if len(token)-len(digits) > 1 || digits == "" || digits[0] < '0' || digits[0] > '9' {
		return Symbol(token), nil
	}
	return r.number(token)
}

func (r *Reader) number(token string) (any, error) {
	digits := strings.TrimSuffix(token, "N")
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return n, nil
	}
	if n, ok := new(big.Int).SetString(strings.TrimPrefix(digits, "+"), 10); ok {
		return n, nil
	}
	if f, err := strconv.ParseFloat(strings.TrimSuffix(token, "M"), 64); err == nil {
		return f, nil
	}
	if n, ok := new(big.Rat).SetString(token); ok && strings.Contains(token, "/") {
		f, _ := n.Float64()
		return f, nil
	}
	return nil, r.errorf("%q is no number", token)
}

// escapes are the letters that may follow a backslash in a string, but for u.
var escapes = map[rune]rune{'"': '"', '\\': '\\', '/': '/', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '\'': '\''}

func (r *Reader) text() (any, error) {
	var b strings.Builder
	for {
		c, err := r.next()
		if err != nil {
			return nil, err
		}
		switch c {
		case '"':
			return b.String(), nil
		case '\\':
			if c, err = r.next(); err != nil {
				return nil, err
			}
			if c == 'u' {
				code, err := r.hex()
				if err != nil {
					return nil, err
				}
				b.WriteRune(code)
				continue
			}
			meant, ok := escapes[c]
			if !ok {
				return nil, r.errorf(`\%c means nothing in a string`, c)
			}
			b.WriteRune(meant)
		default:
			b.WriteRune(c)
		}
	}
}

// hex reads the four digits of a character's code.
func (r *Reader) hex() (rune, error) {
	var digits [4]rune
	for i := range digits {
		var err error
		if digits[i], err = r.next(); err != nil {
			return 0, err
		}
	}
	code, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return 0, r.errorf(`\u%s is no character`, string(digits[:]))
	}
	return rune(code), nil
}

// names of characters that have no glyph.
var charNames = map[string]Char{"newline": '\n', "return": '\r', "space": ' ', "tab": '\t', "backspace": '\b', "formfeed": '\f'}

func (r *Reader) char() (any, error) {
	c, err := r.next()
	if err != nil {
		return nil, err
	}
	token, err := r.token(c)
	if err != nil {
		return nil, err
	}
	if c, ok := charNames[token]; ok {
		return c, nil
	}
	if digits, ok := strings.CutPrefix(token, "u"); ok && len(digits) == 4 {
		if code, err := strconv.ParseUint(digits, 16, 16); err == nil {
			return Char(code), nil
		}
	}
	if utf8.RuneCountInString(token) != 1 {
		return nil, r.errorf(`\%s is no character`, token)
	}
	return Char(c), nil
}
