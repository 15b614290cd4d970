package sql

// CreateTable is CREATE TABLE. TIME INDEX and PRIMARY KEY stand here whether they were written
// as clauses of their own or behind a column.
type CreateTable struct {
	Loc
	IfNotExists bool
	Name        Name
	Columns     []ColumnDef
	TimeIndex   *Ident  // nil: none
	PrimaryKey  []Ident // nil: none
	Engine      string  // of ENGINE = name; "" if not given
	Options     []Option
}

// ColumnDef defines a column of a CREATE TABLE.
type ColumnDef struct {
	Loc
	Name    string
	Type    DataType
	Null    Nullability
	Default Expr   // nil: none
	Comment string // "" if not given
}

// Nullability is what a column's definition says about nulls.
type Nullability int

const (
	NullUnspecified Nullability = iota
	Nullable
	NotNull
)

// Option is one of WITH (key = value, ...).
type Option struct {
	Loc
	Key string
	// Value is a literal; a bare word is a StringLit.
	Value Expr
}

// CreateFlow is CREATE FLOW: keep Sink equal to the result of Query.
type CreateFlow struct {
	Loc
	OrReplace   bool
	IfNotExists bool
	Name        Name
	Sink        Name
	ExpireAfter *ExpireAfter // nil: never
	Comment     string       // "" if not given
	Query       Query
}

// ExpireAfter is how long after its time a row may come late: EXPIRE AFTER INTERVAL '1 hour', or
// EXPIRE AFTER 3600.
type ExpireAfter struct {
	Loc
	// Seconds is the duration in whole seconds, by Interval.Seconds if an interval was given.
	// It is negative if the text says so.
	Seconds int64
}

// DropTable is DROP TABLE.
type DropTable struct {
	Loc
	IfExists bool
	Name     Name
}

// DropFlow is DROP FLOW.
type DropFlow struct {
	Loc
	IfExists bool
	Name     Name
}

// FlushFlow is FLUSH FLOW name, or ADMIN FLUSH_FLOW('name').
type FlushFlow struct {
	Loc
	Name Name
}

// Insert is INSERT INTO ... VALUES.
type Insert struct {
	Loc
	Table   Name
	Columns []Ident  // nil: all of the table's, in its order
	Rows    [][]Expr // as long as they were written; a DefaultLit stands for a column's default
}

// Delete is DELETE FROM.
type Delete struct {
	Loc
	Table Name
	Where Expr // nil: all rows
}

// Show is SHOW FLOWS or SHOW TABLES.
type Show struct {
	Loc
	What Shown
}

// Shown is what a Show lists.
type Shown int

const (
	ShowFlows Shown = iota
	ShowTables
)

// Explain is EXPLAIN of any other statement.
type Explain struct {
	Loc
	Statement Statement
}

func (*CreateTable) statement() {}
func (*CreateFlow) statement()  {}
func (*DropTable) statement()   {}
func (*DropFlow) statement()    {}
func (*FlushFlow) statement()   {}
func (*Insert) statement()      {}
func (*Delete) statement()      {}
func (*Show) statement()        {}
func (*Explain) statement()     {}
