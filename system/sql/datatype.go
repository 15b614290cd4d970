package sql

// DataType is the type of a column, or the target of a cast.
type DataType struct {
	Loc
	Kind TypeKind
	// Precision is, of a timestamp, how many decimal places of a second its unit has: 0, 3, 6 or
	// 9. Of a decimal it is the number of digits.
	Precision int
	// Scale is, of a decimal, how many of its digits stand behind the point.
	Scale int
}

// TypeKind is a type without its parameters.
type TypeKind int

const (
	TypeBool TypeKind = iota
	TypeInt8
	TypeInt16
	TypeInt32
	TypeInt64
	TypeUint8
	TypeUint16
	TypeUint32
	TypeUint64
	TypeFloat32
	TypeFloat64
	TypeDecimal
	TypeString
	TypeBinary
	TypeDate
	TypeTimestamp
	TypeInterval
)

// typeNames has the name with which each type is printed.
var typeNames = [...]string{
	TypeBool: "BOOLEAN", TypeInt8: "TINYINT", TypeInt16: "SMALLINT", TypeInt32: "INT", TypeInt64: "BIGINT",
	TypeUint8: "TINYINT UNSIGNED", TypeUint16: "SMALLINT UNSIGNED", TypeUint32: "INT UNSIGNED", TypeUint64: "BIGINT UNSIGNED",
	TypeFloat32: "FLOAT", TypeFloat64: "DOUBLE", TypeDecimal: "DECIMAL", TypeString: "STRING", TypeBinary: "BINARY",
	TypeDate: "DATE", TypeTimestamp: "TIMESTAMP", TypeInterval: "INTERVAL",
}

// typeWords maps what a type may be called, in capitals, to the type.
var typeWords = map[string]DataType{
	"BOOL": {Kind: TypeBool}, "BOOLEAN": {Kind: TypeBool},
	"TINYINT": {Kind: TypeInt8}, "INT8": {Kind: TypeInt8},
	"SMALLINT": {Kind: TypeInt16}, "INT16": {Kind: TypeInt16}, "INT2": {Kind: TypeInt16},
	"INT": {Kind: TypeInt32}, "INTEGER": {Kind: TypeInt32}, "INT32": {Kind: TypeInt32}, "INT4": {Kind: TypeInt32},
	"BIGINT": {Kind: TypeInt64}, "INT64": {Kind: TypeInt64},
	"UINT8": {Kind: TypeUint8}, "UINT16": {Kind: TypeUint16}, "UINT32": {Kind: TypeUint32}, "UINT64": {Kind: TypeUint64},
	"FLOAT": {Kind: TypeFloat32}, "REAL": {Kind: TypeFloat32}, "FLOAT4": {Kind: TypeFloat32}, "FLOAT32": {Kind: TypeFloat32},
	"DOUBLE": {Kind: TypeFloat64}, "FLOAT8": {Kind: TypeFloat64}, "FLOAT64": {Kind: TypeFloat64},
	"DECIMAL": {Kind: TypeDecimal, Precision: 38, Scale: 10}, "NUMERIC": {Kind: TypeDecimal, Precision: 38, Scale: 10},
	"STRING": {Kind: TypeString}, "TEXT": {Kind: TypeString}, "VARCHAR": {Kind: TypeString}, "CHAR": {Kind: TypeString},
	"BINARY": {Kind: TypeBinary}, "VARBINARY": {Kind: TypeBinary}, "BYTEA": {Kind: TypeBinary},
	"DATE":      {Kind: TypeDate},
	"TIMESTAMP": {Kind: TypeTimestamp, Precision: 3}, "DATETIME": {Kind: TypeTimestamp, Precision: 6},
	"TIMESTAMP_S": {Kind: TypeTimestamp, Precision: 0}, "TIMESTAMP_MS": {Kind: TypeTimestamp, Precision: 3},
	"TIMESTAMP_US": {Kind: TypeTimestamp, Precision: 6}, "TIMESTAMP_NS": {Kind: TypeTimestamp, Precision: 9},
	"INTERVAL": {Kind: TypeInterval},
}

// unsignedOf maps the signed integers to the unsigned of the same size.
var unsignedOf = map[TypeKind]TypeKind{TypeInt8: TypeUint8, TypeInt16: TypeUint16, TypeInt32: TypeUint32, TypeInt64: TypeUint64}

// dataType = word [(number [, number])] [PRECISION | UNSIGNED | WITHOUT TIME ZONE].
func (p *parser) dataType() DataType {
	word := p.peek()
	t, known := typeWords[word.upper]
	switch {
	case word.kind == tokWord && known:
	case word.kind == tokWord && !isReserved(word.upper), word.kind == tokQuoted, word.kind == tokDouble:
		p.unsupported(word.at, "type "+quoteShort(word.text))
	default:
		p.expected("a type")
	}
	p.next()
	t.At = word.at
	if word.upper == "DOUBLE" {
		p.acceptWords("PRECISION")
	}
	if p.acceptOp("(") {
		p.typeParameters(&t, word)
	}
	if u, ok := unsignedOf[t.Kind]; ok && p.acceptWords("UNSIGNED") {
		t.Kind = u
	}
	if t.Kind == TypeTimestamp {
		if p.atWords("WITH", "TIME", "ZONE") {
			p.unsupported(p.peek().at, "TIMESTAMP WITH TIME ZONE")
		}
		p.acceptWords("WITHOUT", "TIME", "ZONE")
	}
	if p.atOp("[") {
		p.unsupported(word.at, "array type")
	}
	return t
}

// typeParameters reads what stands in parentheses behind the name of a type, and the closing one.
func (p *parser) typeParameters(t *DataType, word token) {
	first := p.peek()
	n := p.number("a number")
	switch t.Kind {
	case TypeTimestamp:
		if n != 0 && n != 3 && n != 6 && n != 9 {
			p.failAt(first.at, "a timestamp's precision is 0, 3, 6 or 9 decimal places of a second, not %d", n)
		}
		t.Precision = int(n)
	case TypeDecimal:
		t.Precision, t.Scale = int(n), 0
		if p.acceptOp(",") {
			t.Scale = int(p.number("the scale"))
		}
		if t.Precision < 1 || t.Precision > 38 || t.Scale > t.Precision {
			p.failAt(first.at, "a decimal has 1 to 38 digits, and not more of them behind the point than in all")
		}
	case TypeString, TypeBinary:
		// A length is a limit that this dialect does not keep, as the engine whose dialect it is.
	default:
		p.failAt(first.at, "type %s has no parameters", word.upper)
	}
	p.expectOp(")")
}
