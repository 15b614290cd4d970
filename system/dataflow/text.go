package dataflow

import (
	"strings"
	"unicode/utf8"
)

func compileLike(c *call) (typed, error) {
	if err := c.want(KindString); err != nil {
		return typed{}, err
	}
	return c.strict2(KindBool, func(s, pattern Datum) (Datum, *RowError) { return Bool(like(s.str, pattern.str)), nil })
}

// like matches from left to right. When it gets stuck it goes back to the last % and lets it take one
// more character: an earlier one needs no second try, as the last can take all it could.
func like(s, pattern string) bool {
	resumeS, resumePattern := "", ""
	resumable := false
	for s != "" || pattern != "" {
		if pattern != "" {
			p, n := utf8.DecodeRuneInString(pattern)
			if p == '%' {
				pattern = pattern[n:]
				resumeS, resumePattern, resumable = s, pattern, true
				continue
			}
			any := p == '_'
			if p == '\\' && len(pattern) > n {
				pattern = pattern[n:]
				_, n = utf8.DecodeRuneInString(pattern)
			}
			if s != "" {
				_, m := utf8.DecodeRuneInString(s)
				if any || s[:m] == pattern[:n] {
					s, pattern = s[m:], pattern[n:]
					continue
				}
			}
		}
		if !resumable || resumeS == "" {
			return false
		}
		_, n := utf8.DecodeRuneInString(resumeS)
		resumeS = resumeS[n:]
		s, pattern = resumeS, resumePattern
	}
	return true
}

func compileConcat(c *call) (typed, error) {
	if err := c.want(KindString); err != nil {
		return typed{}, err
	}
	return c.strictN(KindString, func(args []Datum) (Datum, *RowError) {
		var b strings.Builder
		for _, a := range args {
			b.WriteString(a.str)
		}
		return String(b.String()), nil
	})
}

func compileLength(c *call) (typed, error) {
	if err := c.want(KindString); err != nil {
		return typed{}, err
	}
	return c.strict1(KindInt64, func(s Datum) (Datum, *RowError) { return Int(int64(utf8.RuneCountInString(s.str))), nil })
}

// mapped compiles a function of a string to a string.
func (c *call) mapped(f func(string) string) (typed, error) {
	if err := c.want(KindString); err != nil {
		return typed{}, err
	}
	return c.strict1(KindString, func(s Datum) (Datum, *RowError) { return String(f(s.str)), nil })
}

func compileLower(c *call) (typed, error) { return c.mapped(strings.ToLower) }
func compileUpper(c *call) (typed, error) { return c.mapped(strings.ToUpper) }

func compileTrim(c *call) (typed, error) {
	return c.mapped(func(s string) string { return strings.Trim(s, " ") })
}

func compileSubstr(c *call) (typed, error) {
	if err := c.want(KindString, KindInt64); err != nil {
		return typed{}, err
	}
	invalid := c.error(ErrInvalidArgument)
	return c.strictN(KindString, func(args []Datum) (Datum, *RowError) {
		runes := []rune(args[0].str)
		from, n := args[1].num, int64(len(runes))
		end := n + 1
		if len(args) == 3 {
			if args[2].num < 0 {
				return Datum{}, invalid
			}
			// What lies before the first character counts too: substr('abc', 0, 2) is 'a'.
			if to, ok := addInt(from, args[2].num); ok {
				end = min(end, to)
			}
		}
		from = max(from, 1)
		if from >= end {
			return String(""), nil
		}
		return String(string(runes[from-1 : end-1])), nil
	})
}

func compileStartsWith(c *call) (typed, error) {
	if err := c.want(KindString); err != nil {
		return typed{}, err
	}
	return c.strict2(KindBool, func(s, prefix Datum) (Datum, *RowError) {
		return Bool(strings.HasPrefix(s.str, prefix.str)), nil
	})
}
