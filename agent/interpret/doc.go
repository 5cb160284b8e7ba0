// Package interpret answers the questions the control plane has about objects of
// a kind: how many replicas, what one of them needs, how to set them, what of the
// member's object to keep on an update, which part of its status to collect, how
// to add such parts up, whether it is healthy, and what else it needs (contract
// 8.2, 8.3 and 11.4 to 11.7). Hub and agent ask the same code.
//
// For each kind and question the first of these answers that has a rule:
//
//	customization (Lua)  ──►  webhook  ──►  bundled (Lua, third-party kinds)  ──►  native
//
// Lua runs in child processes (package sandbox): a script that loops or eats
// memory costs its child and an error, nothing else. A customization or webhook
// that has just failed that way is left alone for a while and answers with an
// error at once, so that its objects do not hold up those of others.
//
// The native rules are in package native, the bundled scripts in package
// thirdparty.
package interpret
