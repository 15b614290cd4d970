package cdc

import (
	"encoding/json"
	"strings"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
)

// What is where in the coordination service.
const (
	// Root is the prefix of all keys.
	Root = "/cdc/"
	// OwnerElection is the prefix of the owners' election. Candidates' values are capture ids.
	OwnerElection = Root + "owner/"

	capturePrefix = Root + "capture/"
	infoPrefix    = Root + "changefeed/info/"
	statusPrefix  = Root + "changefeed/status/"
	// positionPrefix is that of what captures store of changefeeds that they can't go on with.
	positionPrefix = Root + "task/position/"
)

// CaptureKey is the key of a capture's model.CaptureInfo, under its session.
func CaptureKey(id model.CaptureID) string { return capturePrefix + id }

// InfoKey is the key of a changefeed's model.ChangeFeedInfo.
func InfoKey(id model.ChangeFeedID) string { return infoPrefix + id }

// StatusKey is the key of a changefeed's model.ChangeFeedStatus.
func StatusKey(id model.ChangeFeedID) string { return statusPrefix + id }

// positionKey is the key of a capture's failedPosition of a changefeed, under its session.
func positionKey(capture model.CaptureID, feed model.ChangeFeedID) string {
	return positionPrefix + capture + "/" + feed
}

// picture is what the service holds, at a revision.
type picture struct {
	revision coord.Revision
	captures map[model.CaptureID]captureEntry
	leader   coord.Leader
	led      bool
	feeds    map[model.ChangeFeedID]*feedEntry
}

type captureEntry struct {
	info    model.CaptureInfo
	created coord.Revision
}

type feedEntry struct {
	// incarnation is when the info key was created, by which a changefeed is told from another that had its id
	// before.
	incarnation coord.Revision
	info        model.ChangeFeedInfo
	infoRev     coord.Revision
	status      model.ChangeFeedStatus
	statusRev   coord.Revision // 0 when there is no status
	failures    []failure      // of captures, since the info was put
}

// failure is what a capture can't go on with.
type failure struct {
	key   string
	cause model.RunningError
}

// runs tells whether the changefeed is to be replicated.
func (f *feedEntry) runs() bool { return f.info.State == model.StateNormal && f.statusRev != 0 }

// checkpoint is the ts from which the changefeed has to be able to go on.
func (f *feedEntry) checkpoint() model.Ts {
	if f.statusRev == 0 {
		return f.info.StartTs
	}
	return f.status.CheckpointTs
}

// pictureOf reads the keys. What can't be read is passed over, and named by bad.
func pictureOf(kvs []coord.KeyValue, revision coord.Revision) (p *picture, bad []string) {
	p = &picture{revision: revision, captures: map[model.CaptureID]captureEntry{}, feeds: map[model.ChangeFeedID]*feedEntry{}}
	p.leader, p.led = coord.LeaderIn(kvs, OwnerElection)
	read := func(kv coord.KeyValue, into any) bool {
		err := json.Unmarshal([]byte(kv.Value), into)
		if err != nil {
			bad = append(bad, kv.Key)
		}
		return err == nil
	}
	for _, kv := range kvs {
		if id, ok := strings.CutPrefix(kv.Key, capturePrefix); ok {
			entry := captureEntry{created: kv.CreateRevision}
			if read(kv, &entry.info) {
				p.captures[id] = entry
			}
		}
		if id, ok := strings.CutPrefix(kv.Key, infoPrefix); ok {
			f := &feedEntry{incarnation: kv.CreateRevision, infoRev: kv.ModRevision}
			if read(kv, &f.info) {
				p.feeds[id] = f
			}
		}
	}
	for _, kv := range kvs {
		if id, ok := strings.CutPrefix(kv.Key, statusPrefix); ok {
			if f := p.feeds[id]; f != nil && read(kv, &f.status) {
				f.statusRev = kv.ModRevision
			}
		}
		if strings.HasPrefix(kv.Key, positionPrefix) {
			var told failedPosition
			if !read(kv, &told) || told.Position.Error == nil {
				continue
			}
			if f := p.feeds[told.Feed]; f != nil && f.infoRev == told.InfoRevision {
				f.failures = append(f.failures, failure{key: kv.Key, cause: *told.Position.Error})
			}
		}
	}
	return p, bad
}

// encode is a value as it is stored.
func encode(v any) string {
	p, err := json.Marshal(v)
	if err != nil {
		panic("cdc: " + err.Error()) // only this system's own types are encoded
	}
	return string(p)
}
