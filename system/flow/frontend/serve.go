package frontend

import (
	"context"
	"errors"

	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Serve makes a frontend reachable on a port of its machine, and has it look after dropped tables from now on.
func Serve(f *Frontend, port string) (*rpc.Server, error) {
	s := rpc.NewService()
	methodSQL.Handle(s, func(ctx context.Context, text string) (sqlReply, error) {
		results, err := f.Execute(ctx, text)
		reply := sqlReply{Results: results}
		var carries *rpc.Error
		if errors.As(err, &carries) {
			reply.Code, reply.Message = carries.Code, err.Error()
		}
		return reply, nil
	})
	methodTable.Handle(s, func(ctx context.Context, name catalog.Name) (*catalog.Table, error) {
		t, err := f.Table(ctx, name)
		return t, coded(err)
	})
	methodTableByID.Handle(s, func(ctx context.Context, id catalog.TableID) (*catalog.Table, error) {
		t, err := f.TableByID(ctx, id)
		return t, coded(err)
	})
	methodFlows.Handle(s, func(ctx context.Context, _ struct{}) (flowsReply, error) {
		flows, revision, err := f.Flows(ctx)
		return flowsReply{Flows: flows, Revision: revision}, coded(err)
	})
	methodEnlist.Handle(s, f.Enlist)
	methodCreateTable.Handle(s, f.CreateTable)
	methodUpper.Handle(s, f.Upper)
	methodSnapshot.Handle(s, func(ctx context.Context, id catalog.TableID) (snapshotReply, error) {
		rows, upper, err := f.Snapshot(ctx, id)
		return snapshotReply{Rows: rows, Upper: upper}, err
	})
	methodChanges.Handle(s, func(ctx context.Context, r changesRequest) ([]flow.Batch, error) {
		return f.Changes(ctx, r.Table, r.From)
	})
	methodWrite.Handle(s, func(ctx context.Context, w flow.WriteRequest) (struct{}, error) {
		return struct{}{}, f.Write(ctx, w)
	})
	f.h.Go("frontend sweep", f.sweep)
	return rpc.Serve(f.h, port, s, rpc.ServerOptions{})
}
