package edn

// Keyword is a keyword without its colon.
type Keyword string

// Symbol is a name that stands for itself.
type Symbol string

// Char is a character.
type Char rune

// Vector is a sequence in square brackets.
type Vector []any

// List is a sequence in round brackets.
type List []any

// Set is a set, in the order written.
type Set []any

// Map is a map, in the order written.
type Map []Pair

// Pair is one entry of a map.
type Pair struct{ Key, Value any }

// Get finds the value of a keyword; ok is false if there is none.
func (m Map) Get(key Keyword) (value any, ok bool) {
	for _, p := range m {
		if p.Key == any(key) {
			return p.Value, true
		}
	}
	return nil, false
}

// Tagged is a value with a tag, whose meaning is the application's.
type Tagged struct {
	Tag   string
	Value any
}
