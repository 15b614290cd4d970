package sql

// How tightly operators bind, as in PostgreSQL. Those of precIs, precCompare and precLike don't
// chain: a < b < c is an error.
const (
	precNone = iota
	precOr
	precAnd
	precNot
	precIs
	precCompare
	precLike // LIKE, ILIKE, BETWEEN, IN
	precOther
	precAdd
	precMul
	precPow
	precSign // + and - before an operand
	precCast
	precPrimary
)

// binaryOps has of each operator its text and precedence.
var binaryOps = [...]struct {
	text string
	prec int
}{
	Or:            {"OR", precOr},
	And:           {"AND", precAnd},
	IsDistinct:    {"IS DISTINCT FROM", precIs},
	IsNotDistinct: {"IS NOT DISTINCT FROM", precIs},
	Eq:            {"=", precCompare},
	NotEq:         {"<>", precCompare},
	Less:          {"<", precCompare},
	LessEq:        {"<=", precCompare},
	Greater:       {">", precCompare},
	GreaterEq:     {">=", precCompare},
	Concat:        {"||", precOther},
	Add:           {"+", precAdd},
	Sub:           {"-", precAdd},
	Mul:           {"*", precMul},
	Div:           {"/", precMul},
	Mod:           {"%", precMul},
	Pow:           {"^", precPow},
}

// symbols maps an operator's text to the operator.
var symbols = func() map[string]BinaryOp {
	m := map[string]BinaryOp{"!=": NotEq}
	for op, b := range binaryOps {
		m[b.text] = BinaryOp(op)
	}
	return m
}()

// String returns the operator as it is written.
func (op BinaryOp) String() string { return binaryOps[op].text }

func (op BinaryOp) precedence() int { return binaryOps[op].prec }

// chains says whether a op b op c needs no parentheses.
func (op BinaryOp) chains() bool {
	return op.precedence() != precIs && op.precedence() != precCompare
}
