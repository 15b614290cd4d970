package dataflow

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// What can go wrong with a row. They are the causes of a [RowError]; errors.Is sees them.
var (
	ErrDivisionByZero  = errors.New("division by zero")
	ErrOverflow        = errors.New("out of range")
	ErrInvalidCast     = errors.New("invalid cast")
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrNegativeMultiplicity: a group holds a row less than zero times, or no rows that add up
	// to something. Its inputs are wrong: what they retract they never held.
	ErrNegativeMultiplicity = errors.New("negative multiplicity")
)

// rowErrorCauses tells the codes of causes. Their numbers are part of the encoding of errors.
var rowErrorCauses = [...]error{
	1: ErrDivisionByZero,
	2: ErrOverflow,
	3: ErrInvalidCast,
	4: ErrInvalidArgument,
	5: ErrNegativeMultiplicity,
}

// RowError says why a row could not be computed. It is a value, an element of a collection:
// equal errors compare equal with ==.
type RowError struct {
	_    struct{} `cbor:",toarray"`
	Code uint8
	// Where prints the expression or the aggregate, with the names of columns (see [Expr.Over]), or the group.
	Where string
}

func rowError(cause error, where string) *RowError {
	for code, c := range rowErrorCauses {
		if c == cause {
			return &RowError{Code: uint8(code), Where: where}
		}
	}
	panic("dataflow: not a cause of row errors: " + cause.Error())
}

// NewRowError is the error of that cause, which is one of those above, at the expression,
// aggregate or group that where prints.
func NewRowError(cause error, where string) RowError { return *rowError(cause, where) }

// Unwrap returns the cause.
func (e RowError) Unwrap() error {
	if int(e.Code) < len(rowErrorCauses) {
		return rowErrorCauses[e.Code]
	}
	return nil
}

func (e RowError) Error() string {
	cause := e.Unwrap()
	if cause == nil {
		return fmt.Sprintf("error %d in %s", e.Code, e.Where)
	}
	return cause.Error() + " in " + e.Where
}

// Compare orders errors totally.
func (e RowError) Compare(f RowError) int {
	return cmp.Or(cmp.Compare(e.Code, f.Code), strings.Compare(e.Where, f.Where))
}
