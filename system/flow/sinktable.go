package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
)

// existingTable is the table of that name, nil if there is none.
func (m *Manager) existingTable(ctx context.Context, name catalog.Name) (*catalog.Table, error) {
	t, err := m.meta.Table(ctx, name)
	var missing *catalog.NotFoundError
	if errors.As(err, &missing) {
		return nil, nil
	}
	return t, err
}

// createTableFromRelation creates the sink of a query, and tells whether it did: if somebody else was
// faster, what they made must be fit for the query.
func (m *Manager) createTableFromRelation(ctx context.Context, name catalog.Name, query *planner.Query) (created bool, err error) {
	table, err := adjustAutoCreatedTableSchema(name, query)
	if err != nil {
		return false, err
	}
	if created, err = m.submitCreateSinkTableDDL(ctx, table); err != nil || created {
		return created, err
	}
	exists, err := m.fits(ctx, name, query)
	if err == nil && !exists {
		err = fmt.Errorf("%w: the sink %s was neither created nor is it there", ErrUnexpected, name)
	}
	return false, err
}

// adjustAutoCreatedTableSchema is the sink of a query: see [planner.Query.SinkTable].
func adjustAutoCreatedTableSchema(name catalog.Name, query *planner.Query) (catalog.Table, error) {
	table, err := query.SinkTable(name)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrInvalidQuery, err)
	}
	return table, err
}

// submitCreateSinkTableDDL asks a frontend to create a table; created is false if it exists.
func (m *Manager) submitCreateSinkTableDDL(ctx context.Context, t catalog.Table) (created bool, err error) {
	frontend, err := m.frontend()
	if err != nil {
		return false, err
	}
	return frontend.CreateTable(ctx, t)
}
