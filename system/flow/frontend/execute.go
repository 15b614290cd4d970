package frontend

import (
	"context"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/sql"
)

// Execute executes the statements of a text, one after the other, and returns their results: those before
// the one that failed, if one did. The whole text is parsed first.
func (f *Frontend) Execute(ctx context.Context, text string) ([]Result, error) {
	statements, err := sql.Parse(text)
	if err != nil {
		return nil, coded(err)
	}
	var results []Result
	for _, s := range statements {
		r, err := f.ExecuteStatement(ctx, s)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

// ExecuteStatement executes one statement.
func (f *Frontend) ExecuteStatement(ctx context.Context, s sql.Statement) (Result, error) {
	ctx, cancel := f.h.Clock().WithTimeout(ctx, f.cfg.StatementTimeout)
	defer cancel()
	r, err := f.execute(ctx, s)
	return r, coded(err)
}

func (f *Frontend) execute(ctx context.Context, s sql.Statement) (Result, error) {
	switch s := s.(type) {
	case *sql.CreateTable:
		return f.createTable(ctx, s)
	case *sql.DropTable:
		return f.dropTable(ctx, s)
	case *sql.Insert:
		return f.insert(ctx, s)
	case *sql.Delete:
		return f.delete(ctx, s)
	case *sql.CreateFlow:
		return f.createFlow(ctx, s)
	case *sql.DropFlow:
		return f.dropFlow(ctx, s)
	case *sql.FlushFlow:
		return f.flushFlow(ctx, s)
	case *sql.Show:
		return f.show(ctx, s)
	case *sql.Explain:
		return f.explain(ctx, s)
	case sql.Query:
		return f.query(ctx, s)
	}
	return Result{}, sql.Unsupported(s)
}

func (f *Frontend) now() int64 { return f.h.Clock().Now().UnixMilli() }

func (f *Frontend) show(ctx context.Context, s *sql.Show) (Result, error) {
	r := Result{Columns: []string{"name", "definition"}}
	if s.What == sql.ShowTables {
		tables, err := f.catalog.Tables(ctx)
		for _, t := range tables {
			r.Rows = append(r.Rows, dataflow.Pack(dataflow.String(t.Name.String()), dataflow.String(t.String())))
		}
		return r, err
	}
	flows, _, err := f.catalog.Flows(ctx)
	for _, fl := range flows {
		r.Rows = append(r.Rows, dataflow.Pack(dataflow.String(fl.Name.String()), dataflow.String(fl.String())))
	}
	return r, err
}
