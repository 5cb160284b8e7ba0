// Package work makes, compares and writes Works (contract sections 3.2, 11.1 to
// 11.3), whoever they belong to: a binding, a namespace, a cluster or a quota.
//
// A Form is an object encoded once for all clusters that get it alike. A Task is
// what one cluster is to get: a Form with what its Work says besides. A Writer
// makes the stored Work say what the Task does, and writes nothing where it does.
package work
