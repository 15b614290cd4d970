// Package coordtest is what every coord.Client must do, as a test: the store in memory and on a disk,
// a served one on a simulated or a real host, and clients of other services, such as etcd.
//
//	func TestConformance(t *testing.T) {
//		coordtest.Run(t, func(t *testing.T, body func(coordtest.Env)) {
//			// ... start an empty service, and run body as a task of a host
//		})
//	}
//
// Nothing here depends on how fast anything is: what has to happen is waited for.
package coordtest
