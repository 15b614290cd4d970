package frontend

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/sql"
)

func isExists(err error) bool {
	var exists *catalog.ExistsError
	return errors.As(err, &exists)
}

func isMissing(err error) bool {
	var missing *catalog.NotFoundError
	return errors.As(err, &missing)
}

// asTable is the error of a table that is not there, or is gone while it is used, as flow nodes know it.
func asTable(err error) error {
	if isMissing(err) || errors.Is(err, relation.ErrClosed) {
		return fmt.Errorf("%w: %w", flow.ErrTableNotFound, err)
	}
	return coded(err)
}

// named finds a table that a statement names.
func (f *Frontend) named(ctx context.Context, name *sql.Name) (*table, error) {
	def, err := f.catalog.Table(ctx, catalog.Qualify(*name))
	if isMissing(err) {
		return nil, planner.At(name, err)
	}
	if err != nil {
		return nil, err
	}
	return f.open(def), nil
}

// resolve finds the tables of queries.
func (f *Frontend) resolve(ctx context.Context) planner.Tables {
	return func(name catalog.Name) (*catalog.Table, error) { return f.catalog.Table(ctx, name) }
}

func (f *Frontend) createTable(ctx context.Context, s *sql.CreateTable) (Result, error) {
	def, err := planner.Table(s)
	if err != nil {
		return Result{}, err
	}
	_, err = f.catalog.CreateTable(ctx, def)
	switch {
	case isExists(err) && s.IfNotExists:
		return Result{Text: "table exists"}, nil
	case isExists(err):
		return Result{}, planner.At(&s.Name, err)
	}
	return Result{Text: "created table " + def.Name.String()}, err
}

func (f *Frontend) dropTable(ctx context.Context, s *sql.DropTable) (Result, error) {
	name := catalog.Qualify(s.Name)
	_, err := f.catalog.DropTable(ctx, name)
	switch {
	case isMissing(err) && s.IfExists:
		return Result{Text: "no such table"}, nil
	case isMissing(err):
		return Result{}, planner.At(&s.Name, err)
	}
	return Result{Text: "dropped table " + name.String()}, err
}
