//go:build !linux

package app

// dropCode is for Linux only.
func dropCode() {}

// machineMemory is not known elsewhere.
func machineMemory() int64 { return 0 }
