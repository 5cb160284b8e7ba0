// Package loadtest helps benchmarks of the hub: it starts the programs of package
// load, counts deliveries that members acknowledge, and says what was written.
package loadtest
