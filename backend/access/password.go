package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Cost of a hash: 19 MiB and three passes take about 50 ms of one core. At most
// hashesAtOnce are computed together, so that logins cannot take the memory.
const (
	hashMemory   = 19 << 10 // KiB
	hashPasses   = 3
	hashThreads  = 1
	hashSize     = 32
	saltSize     = 16
	hashesAtOnce = 2
)

// hasher computes argon2id hashes in PHC form: $argon2id$v=19$m=…,t=…,p=…$salt$hash.
type hasher struct {
	slots chan struct{}
	// nobody is a hash that no password has: a login with an unknown name takes
	// as long as one with a wrong password.
	nobody string
}

func newHasher() *hasher {
	h := &hasher{slots: make(chan struct{}, hashesAtOnce)}
	salt, key := make([]byte, saltSize), make([]byte, hashSize)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	_, _ = rand.Read(key)
	h.nobody = encodeHash(hashMemory, hashPasses, hashThreads, salt, key)
	return h
}

// hash returns a new hash of password.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	key, err := h.derive(ctx, password, salt, hashPasses, hashMemory, hashThreads)
	if err != nil {
		return "", err
	}
	return encodeHash(hashMemory, hashPasses, hashThreads, salt, key), nil
}

// matches tells whether encoded is a hash of password.
func (h *hasher) matches(ctx context.Context, encoded, password string) (bool, error) {
	var memory, passes uint32
	var threads uint8
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return false, errors.New("the stored password hash is not argon2id")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &threads); err != nil {
		return false, fmt.Errorf("read cost of password hash: %w", err)
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	want, keyErr := base64.RawStdEncoding.DecodeString(parts[5])
	if err := errors.Join(saltErr, keyErr); err != nil {
		return false, fmt.Errorf("read password hash: %w", err)
	}
	if len(want) != hashSize {
		return false, errors.New("the stored password hash has another length")
	}
	got, err := h.derive(ctx, password, salt, passes, memory, threads)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

func (h *hasher) derive(ctx context.Context, password string, salt []byte, passes, memory uint32, threads uint8) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return argon2.IDKey([]byte(password), salt, passes, memory, threads, hashSize), nil
}

func encodeHash(memory, passes uint32, threads uint8, salt, key []byte) string {
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, threads, encode(salt), encode(key))
}

// newPassword makes a one-time password: 100 random bits, easy to copy by hand.
func newPassword() string {
	text := strings.ToLower(rand.Text()) // 26 characters of base32, 130 bits
	return strings.Join([]string{text[0:5], text[5:10], text[10:15], text[15:20]}, "-")
}
