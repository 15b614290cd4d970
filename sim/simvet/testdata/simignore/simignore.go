package simignore

import "time"

//simvet:ignore simtime the license of the release is checked before the simulation starts
var started = time.Now()

func ignored() {
	_ = time.Now() //simvet:ignore simtime measured for a person only
	//simvet:ignore simtime measured for a person only
	_ = time.Now()
	_ = time.Now() //simvet:ignore	simtime	between tabs
	//simvet:ignore simtime,simchan waits before the simulation starts
	// (and a comment in between)
	<-time.After(1)
	//simvet:ignore simtime waits before the simulation starts
	//simvet:ignore simchan waits before the simulation starts
	<-time.After(1)
}

func wrong() {
	_ = time.Now() /* want `this comment gives no reason, and so is not heeded: write //simvet:ignore simtime and why \(simignore\)` */ //simvet:ignore simtime
	_ = 1          /* want `there is nothing here for simtime to report: remove this comment` */                                        //simvet:ignore simtime long gone
	_ = 1          /* want `there is no check "simclock": there are simgo, simtime, simcontext, ` */                                    //simvet:ignore simclock what?
	_ = 1          /* want `this comment names no check: write //simvet:ignore NAME why` */                                             //simvet:ignore
	_ = 1          //simvet:ignored is another word
}
