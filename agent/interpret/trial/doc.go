// Package trial checks customizations, and runs them on objects from files,
// without a hub: what "muster interpret" does (contract 12.4, recorded output).
package trial
