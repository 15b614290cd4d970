package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/host"
)

const (
	// mirrorService is how mirrors hold the source's history: the list of key spans of the times that they
	// have not mirrored yet.
	mirrorService = "mirror"
	// mirrorHold is for how long the history is held while no mirror is heard of.
	mirrorHold = 24 * time.Hour
)

// Setup creates what a pipeline has to have before its processes can do anything: the hold on the source's
// history, the changefeed, the tables that flows read, and the flows. It may be called again, after an error
// or by several processes, and then creates what is not there. Its errors are those of the parts.
func Setup(ctx context.Context, h host.Host, cfg Config, links Links, sql *frontend.Client) error {
	cfg = cfg.withDefaults()
	if err := cfg.Check(); err != nil {
		return err
	}
	// From the beginning; if a feed was created before, from where its mirror is.
	if _, err := links.Source.Safepoint(ctx, mirrorService, 0, mirrorHold); err != nil {
		return fmt.Errorf("hold the source's history: %w", err)
	}
	err := cdc.NewAdmin(h, links.Coord, links.Source).Create(ctx, cfg.Feed, model.ChangeFeedInfo{})
	if err != nil && !errors.Is(err, cdc.ErrFeedExists) {
		return fmt.Errorf("create changefeed %s: %w", cfg.Feed, err)
	}
	for i := range cfg.Tables {
		if _, err := links.Tables.CreateTable(ctx, cfg.Tables[i].definition()); err != nil {
			return fmt.Errorf("create table %s: %w", cfg.Tables[i].Name, err)
		}
	}
	for _, f := range cfg.Flows {
		if _, err := sql.Execute(ctx, f.Create()); err != nil {
			return fmt.Errorf("create flow %s: %w", f.Name, err)
		}
	}
	return nil
}

// Create is the statement that creates the flow, if it is not there.
func (f *Flow) Create() string {
	return fmt.Sprintf("CREATE FLOW IF NOT EXISTS %s SINK TO %s AS %s", f.Name, f.Sink, f.SQL)
}
