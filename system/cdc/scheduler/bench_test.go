package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/scheduler"
)

// BenchmarkTick is a tick at which nothing is to be done.
func BenchmarkTick(b *testing.B) {
	for _, spans := range []int{10, 1000} {
		b.Run(fmt.Sprintf("spans=%d", spans), func(b *testing.B) {
			captures := map[model.CaptureID]*model.CaptureInfo{}
			wanted := make([]model.KeySpanID, spans)
			for i := range wanted {
				wanted[i] = model.KeySpanID(i)
			}
			for i := range 5 {
				captures[fmt.Sprint(i)] = &model.CaptureInfo{}
			}
			d := scheduler.NewBaseScheduleDispatcher("feed", silent{}, 10)
			tick := func() model.Ts {
				checkpoint, _, err := d.Tick(background, 10, wanted, captures)
				if err != nil {
					b.Fatal(err)
				}
				return checkpoint
			}
			tick()
			for i := range 5 {
				d.OnAgentSyncTaskStatuses(fmt.Sprint(i), wanted[i*spans/5:(i+1)*spans/5], nil, nil)
			}
			b.ReportAllocs()
			for b.Loop() {
				if tick() != 10 {
					b.Fatal("the checkpoint can't proceed")
				}
			}
		})
	}
}
