// Package load is what the programs share that put load on a hub:
//
//   - simagent plays 1 to 10,000 muster-agents over the true link
//   - fakemember plays the API servers of as many push members
//   - simklusterlet plays members of Open Cluster Management, registered by the
//     product's own registration agent
//
// Benchmarks start and ask them with package loadtest; they can be run by hand as
// well. They print one JSON line on standard output once everything stands, one on
// every SIGUSR1 and one at their end. Counts in those lines go on from the start;
// latencies are those since the line before.
//
// Times are taken with one clock, that of the machine: an object that carries
// SentAnnotation says when it was meant to be created on the hub, and who gets it
// notes how long that is ago.
package load
