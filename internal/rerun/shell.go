package rerun

import (
	"errors"
	"regexp"
	"strings"
)

var shellSafe = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// Quote makes a word that a POSIX shell reads as the argument.
func Quote(argument string) string {
	if shellSafe.MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

// Join makes a command line.
func Join(arguments []string) string {
	words := make([]string, len(arguments))
	for i, a := range arguments {
		words[i] = Quote(a)
	}
	return strings.Join(words, " ")
}

// Split takes apart a command line as a POSIX shell would that expands nothing.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	started := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if started {
				words = append(words, word.String())
				word.Reset()
				started = false
			}
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("a quote is not closed")
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
			started = true
		case '\\':
			if i++; i == len(line) {
				return nil, errors.New("it ends in a backslash")
			}
			word.WriteByte(line[i])
			started = true
		default:
			word.WriteByte(c)
			started = true
		}
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}
