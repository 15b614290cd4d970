package cdc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
)

// A changefeed is from a ts that there is to one after it.
func TestStartsAndTargetsThatCannotBe(t *testing.T) {
	inWorld(t, 0, func(w *sim.World) {
		c := newCluster(t, w, 1, config())
		c.addSpan(1)
		now := c.now()
		minute := model.Ts(time.Minute.Milliseconds() << 18)
		for _, info := range []model.ChangeFeedInfo{
			{StartTs: now + minute},
			{StartTs: ^model.Ts(0)},
			{StartTs: now, TargetTs: now - 1},
			{StartTs: now, TargetTs: now},
			{TargetTs: 1},
		} {
			info.SinkURI = feed
			require.ErrorIs(t, c.admin.Create(background, feed, info), cdc.ErrInvalid, "%+v", info)
			_, err := c.admin.Feed(background, feed)
			require.ErrorIs(t, err, cdc.ErrNoFeed)
		}
		require.NoError(t, c.admin.Create(background, feed, model.ChangeFeedInfo{SinkURI: feed, StartTs: now, TargetTs: now + minute}))
		c.reaches(now + 1)
	})
}

// Whoever meets an info that can't be read is told which it is.
func TestUnreadableInfoIsNamed(t *testing.T) {
	inWorld(t, 0, func(w *sim.World) {
		c := newCluster(t, w, 1, config())
		_, err := coord.Write(background, c.client, coord.Put(cdc.InfoKey(feed), "{"))
		require.NoError(t, err)
		require.ErrorContains(t, c.admin.Resume(background, feed), cdc.InfoKey(feed))
	})
}
