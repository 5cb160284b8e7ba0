// Package sandbox runs Lua scripts that somebody else wrote in processes of their
// own, so that the worst a script can do is to lose one.
//
//	Pool ── JSON lines over pipes ──► child: reads a call, runs one function in a
//	  │                                      fresh Lua state, answers
//	  ├─ no answer in time, or its CPU time used up ──► killed
//	  ├─ more memory than allowed ──► the child's own end (see limit)
//	  └─ nothing to do for a while ──► ended
//
// A child is the running binary, started again with one argument (see Main); it
// has no environment, no files and a Lua state without os, io, package and
// load*. Scripts find string, table, math, the basic functions, and the module
// "kube" (see kube.go).
package sandbox
