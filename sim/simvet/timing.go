package simvet

const clockPath = "github.com/benbjohnson/clock"

// realTime is the machine's clock, its timers, and its time zone.
var realTime = func() banned {
	b := banned{}
	const reads = "reads the machine's clock, which the seed does not decide"
	const waits = "waits in real time, outside of virtual time"
	const timer = "makes a timer of the real clock, which fires at a moment that the seed does not decide"
	for _, name := range []string{"Now", "Since", "Until"} {
		b.ban("time", advice{reads, "Host.Clock()." + name, replaceWith("%s.Clock()." + name)}, name)
	}
	b.ban("time", advice{"blocks the only thread that the simulation has, in real time", "Host.Clock().Sleep", replaceWith("%s.Clock().Sleep")}, "Sleep")
	b.ban("time", advice{waits, "Host.Clock().After with host.OnTime", replaceWith("%s.Clock().After")}, "After")
	b.ban("time", advice{waits, "Host.Clock().Tick with host.OnTime", replaceWith("%s.Clock().Tick")}, "Tick")
	b.ban("time", advice{"calls its function in a goroutine of its own, in real time", "Host.Clock().AfterFunc", replaceStatement("%s.Clock().AfterFunc")}, "AfterFunc")
	b.ban("time", advice{timer, "Host.Clock().Timer", nil}, "NewTimer")
	b.ban("time", advice{timer, "Host.Clock().Ticker", nil}, "NewTicker")
	const zone = "depends on the time zone that the machine is set to"
	b.ban("time", advice{zone, "time.UTC, or a zone that the configuration names", nil}, "Local", "Time.Local")
	b.ban(clockPath, advice{"makes a clock that shows the machine's time", "Host.Clock", nil}, "New")
	b.ban(clockPath, advice{"makes a clock that only its own caller moves, and that waits a real millisecond each time", "Host.Clock", nil}, "NewMock")
	return b
}()
