package sql

import "fmt"

// Pos is a place in a text. The zero Pos is no place: that of a node made by hand.
type Pos struct {
	Offset int // in bytes, from 0
	Line   int // from 1
	Column int // in characters, from 1
}

// String returns "line:column".
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Loc is the part that all nodes have in common.
type Loc struct {
	At Pos
}

// Position returns where the node is in the text it was parsed from.
func (l Loc) Position() Pos { return l.At }

func (Loc) node() {}
