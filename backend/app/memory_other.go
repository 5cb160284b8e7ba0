//go:build !linux

package app

// dropCode is for Linux only.
func dropCode() {}
