// Package ocm is the root of our own types for the API groups of Open Cluster Management, one package a version below it. It holds
// nothing itself but the test that every object in the recordings of its clients fits the types without loss.
package ocm
